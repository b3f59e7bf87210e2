package checkfiles

import (
	"path"
	"slices"
	"strings"

	"wavex/internal/lazyregexp"
)

// This file derives the kind of a file from its path.

// Kind says why a check rests on a file.
type Kind string

// These are the kinds.
const (
	Test  Kind = "test"  // code of tests; new files of it add tests
	Data  Kind = "data"  // what tests compare with or read
	Setup Kind = "setup" // settings, build files and helpers of tests; a new one may disable tests
	// Script is a program of the project that the command runs, and Operand a file that such a program or diff gets.
	// They may be the work itself.
	Script  Kind = "script"
	Operand Kind = "operand"
)

var testName = lazyregexp.New(`^(test_.*\.(py|sh|bash)|.*[._-](test|tests|spec|specs)\.\w+|.*\.bats|` +
	`[A-Z]\w*(Test|Tests|Spec)\.(java|kt|cs|php|scala|groovy|swift)|Test[A-Z]\w*\.java)$`)

var dataName = lazyregexp.New(`(^|[._-])(expected|golden|snapshots?|snap)([._-]|$)`)

// setupName matches files that change which tests run, or how.
var setupName = lazyregexp.New(`^(conftest\.py|pytest\.ini|tox\.ini|noxfile\.py|setup\.cfg|pyproject\.toml|` +
	`sitecustomize\.py|package\.json|\.npmrc|\.yarnrc(\.yml)?|bunfig\.toml|` +
	`(jest|vitest|vite|karma|playwright|cypress|babel|ava)\.config\.\w+|` +
	`\.mocharc(\.\w+)?|\.babelrc|GNUmakefile|[mM]akefile|go\.(mod|sum|work|work\.sum)|` +
	`Cargo\.toml|pom\.xml|build\.gradle(\.kts)?|phpunit\.xml(\.dist)?|\.rspec|Rakefile|CTestTestfile\.cmake|` +
	`CMakeLists\.txt|[jJ]ustfile|Taskfile\.ya?ml)$`)

// rootSetup are the settings that a runner also finds above the directory in which it starts.
var rootSetup = []string{"conftest.py", "pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", "sitecustomize.py",
	"package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", "bunfig.toml", "jest.config.js", "vitest.config.ts",
	".mocharc.json", ".mocharc.js", "babel.config.js", "Cargo.toml", "pom.xml", "phpunit.xml", ".rspec", "Rakefile",
	"justfile", "Taskfile.yml"}

var testDirs = []string{"test", "tests", "__tests__", "spec", "specs", "testdata", "fixtures", "__fixtures__",
	"__snapshots__", "__mocks__", "golden", "e2e"}

// skippedDirs hold no source: they are installed, built, or wavex's and git's own.
var skippedDirs = []string{"node_modules", "__pycache__", "venv", "target", "dist", "build", "out"}

func skipDir(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Trim(name, ".") != "" || slices.Contains(skippedDirs, name)
}

// kindOf returns the kind of a file by its path alone; "" if it is no file of tests.
func kindOf(file string) Kind {
	name := path.Base(file)
	switch {
	case setupName().MatchString(name):
		return Setup
	case testName().MatchString(name):
		return Test
	case testDir(file) != "":
		if languageOf(file) != nil {
			return Test
		}
		return Data
	case dataName().MatchString(name):
		return Data
	}
	return ""
}

// testDir returns the topmost directory of tests that holds a file, or "".
func testDir(file string) string {
	parts := strings.Split(file, "/")
	for i, p := range parts[:len(parts)-1] {
		if slices.Contains(testDirs, p) {
			return strings.Join(parts[:i+1], "/")
		}
	}
	return ""
}
