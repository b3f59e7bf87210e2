package filetree

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"wavex/internal/loop"
)

// Kind is the purpose of a file, by its name alone. It decides only in which order changed files are looked at, and
// which are looked at if a task declares none.
type Kind int

// These are the kinds, those first that most likely decide about a check.
const (
	Setup  Kind = iota // settings, a build file, or a helper that test runners load by its name: it chooses the tests
	Test               // a test or its data
	Other              // data, documents
	Source             // a program
)

var (
	testName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(test_.*|(check|verify|validate|assert)[\w.-]*\.\w+|` +
			`.*[._-](test|tests|spec|specs)\.\w+|.*\.(bats|snap)|` +
			`[A-Z]\w*(Test|Tests|Spec)\.\w+|Test[A-Z]\w*\.java)$|(^|[._-])(expected|golden|snapshots?|want)([._-]|$)`)
	})
	setupName = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(conftest|pytest|unittest|sitecustomize|usercustomize|noxfile|setup)\.\w+$|` +
			`^\..*rc(\.\w+)?$|^\.(pytest|coveragerc|npmrc|rspec).*|.*\.config\.\w+$|.*\.(toml|ini|cfg|mk|gradle|kts|lock)$|` +
			`^(GNUm|[mM])akefile$|^go\.(mod|sum|work|work\.sum)$|^(package(-lock)?|tsconfig.*|pom|phpunit)\.(json|xml)$|` +
			`^(Rakefile|Gemfile|CMakeLists\.txt|[jJ]ustfile|Taskfile\.ya?ml)$`)
	})
)

var testDirs = []string{"test", "tests", "__tests__", "spec", "specs", "testdata", "fixtures", "__fixtures__",
	"__snapshots__", "__mocks__", "golden", "e2e"}

var sources = strings.Fields(".go .py .js .cjs .mjs .jsx .ts .cts .mts .tsx .rb .rs .java .kt .cs .scala .groovy " +
	".php .ex .exs .swift .c .h .cc .cpp .hpp .m .sh .bash .zsh .pl .lua .sql .html .css .vue .svelte")

// KindOf returns the kind of a file.
func KindOf(file string) Kind {
	name := path.Base(file)
	switch {
	case setupName().MatchString(name) && slices.Contains(sources, path.Ext(name)): // in folders of tests too
		return Setup
	case testName().MatchString(name) || slices.ContainsFunc(strings.Split(path.Dir(file), "/"), func(dir string) bool {
		return slices.Contains(testDirs, dir)
	}):
		return Test
	case setupName().MatchString(name):
		return Setup
	case slices.Contains(sources, path.Ext(name)):
		return Source
	}
	return Other
}

// isCache reports whether a directory is a cache, by its name. One that was there at first may also say so by the file
// of bford.info/cachedir; an agent could make one that has sources.
func isCache(dir string, first bool) bool {
	if slices.Contains(caches, filepath.Base(dir)) {
		return true
	}
	_, err := os.Lstat(filepath.Join(dir, "CACHEDIR.TAG"))
	return first && (err == nil || filepath.Base(dir) == "venv")
}

var caches = []string{"node_modules", "__pycache__", ".venv", ".tox", ".pytest_cache", ".mypy_cache",
	".ruff_cache", ".gradle", ".cache"}

// isOwn reports whether a path is in wavex's own folder, or in a temporary one, whose path begins with temp.
func isOwn(name, temp string) bool {
	first, _, _ := strings.Cut(name, "/")
	return loop.IsName(first) || temp != "" && strings.HasPrefix(name, temp)
}
