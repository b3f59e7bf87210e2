package checkfiles

import (
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"

	"wavex/internal/lazyregexp"
	"wavex/internal/safefile"
)

// This file knows the packages of Go.

// goSettings are the settings of a module or workspace.
var goSettings = []string{"go.mod", "go.sum", "go.work", "go.work.sum"}

// goSearch is the search for the files of a go command.
type goSearch struct {
	*Finder
	add func(file string, kind Kind)
}

// command adds the test files of packages, their data, and the helpers that they assert with.
func (s *goSearch) command(v invocation) {
	module := s.module(v.dir)
	s.add(path.Join(module.dir, "vendor/modules.txt"), Setup)
	patterns := slices.DeleteFunc(v.operands()[min(1, len(v.operands())):], func(w string) bool {
		w, _ = strings.CutSuffix(w, "...")
		return module.local(v.dir, w) == "" || !s.isDir(module.local(v.dir, w), ".")
	})
	if len(patterns) == 0 {
		patterns = []string{"."}
	}
	helpers := goHelpers{s, module, map[string]bool{}}
	for _, w := range patterns {
		w, all := strings.CutSuffix(w, "...")
		dir := module.local(v.dir, w)
		for _, file := range s.walk(dir) {
			own := path.Dir(file) == dir || strings.HasPrefix(file, path.Join(dir, "testdata")+"/")
			switch {
			case !all && !own:
			case strings.HasSuffix(file, "_test.go"):
				s.add(file, Test)
				if !s.NoHelpers {
					helpers.addImports(file)
				}
			case strings.Contains("/"+file, "/testdata/"):
				s.add(file, Data)
			}
		}
	}
}

// goModule is a module of a project.
type goModule struct {
	dir, path string
	replaced  map[string]string // directories of modules by path
}

var (
	goModulePath = lazyregexp.New(`(?m)^module[ \t]+"?([^\s"]+)`)
	goReplace    = lazyregexp.New(`(?m)^\s*(?:replace\s+)?(\S+)(?:\s+v\S+)?\s+=>\s+(\.{1,2}/\S*)`)
)

func (s *goSearch) module(dir string) goModule {
	for dir != "." && !s.isFile(dir, "go.mod") {
		dir = path.Dir(dir)
	}
	m := goModule{dir: dir, replaced: map[string]string{}}
	text := string(s.text(path.Join(dir, "go.mod")))
	if match := goModulePath().FindStringSubmatch(text); match != nil {
		m.path = match[1]
	}
	for _, match := range goReplace().FindAllStringSubmatch(text, -1) {
		m.replaced[match[1]] = path.Join(dir, match[2])
	}
	return m
}

// local returns the directory of a package that a command in dir or an import names; "" if it is not of the project.
func (m goModule) local(dir, name string) string {
	if name == "" || strings.HasPrefix(name, ".") {
		return path.Join(dir, name)
	}
	if rest, ok := strings.CutPrefix(name, m.path); ok && m.path != "" && (rest == "" || rest[0] == '/') {
		return path.Join(m.dir, rest)
	}
	for module, at := range m.replaced {
		if rest, ok := strings.CutPrefix(name, module); ok && (rest == "" || rest[0] == '/') {
			return path.Join(at, rest)
		}
	}
	if strings.Contains(name, ".") {
		return path.Join(m.dir, "vendor", name)
	}
	return ""
}

// goHelpers adds packages that tests import and that import package testing themselves.
type goHelpers struct {
	*goSearch
	module goModule
	seen   map[string]bool // directories
}

func (h goHelpers) addImports(file string) {
	for _, name := range h.imports(file) {
		dir := h.module.local(path.Dir(file), name)
		if dir == "" || h.seen[dir] {
			continue
		}
		h.seen[dir] = true
		var sources []string
		helps := false
		for _, source := range h.list(dir) {
			if strings.HasSuffix(source, ".go") && !strings.HasSuffix(source, "_test.go") {
				sources = append(sources, source)
				helps = helps || slices.Contains(h.imports(source), "testing")
			}
		}
		if helps {
			for _, source := range sources {
				h.add(source, Data)
				h.addImports(source)
			}
		}
	}
}

// maxImports is the number of bytes at the beginning of a file that are searched for its imports.
const maxImports = 32 << 10

func (f *Finder) imports(file string) (names []string) {
	if names, known := f.imported[file]; known {
		return names
	}
	if f.imported == nil {
		f.imported = map[string][]string{}
	}
	defer func() { f.imported[file] = names }()
	head, _ := safefile.ReadHead(f.abs(file), maxImports) // a missing file imports nothing
	parsed, err := parser.ParseFile(token.NewFileSet(), file, head, parser.ImportsOnly)
	if parsed == nil || err != nil {
		return nil
	}
	for _, i := range parsed.Imports {
		if name, err := strconv.Unquote(i.Path.Value); err == nil {
			names = append(names, name)
		}
	}
	return names
}
