package scan

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// This file looks at Go. It parses and does not type-check: it knows the packages of the
// project's own modules by their top-level names, and no other packages.

type module struct {
	dir, path string // the directory of go.mod, and its module path
}

// goNames holds the top-level names of a package.
type goNames struct {
	name     string // of the package
	names    map[string]bool
	files    int
	unparsed bool // one of its files cannot be parsed and may declare any name
}

func (n *goNames) add(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			n.names[d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				n.names[s.Name.Name] = true
			case *ast.ValueSpec:
				for _, id := range s.Names {
					n.names[id.Name] = true
				}
			}
		}
	}
}

func (p *project) scanGo(name, text string, isNew bool) []Gap {
	if strings.Contains("/"+name, "/testdata/") {
		return nil // not built with the others
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments)
	if err != nil || ast.IsGenerated(f) {
		return nil // the compiler's message is better
	}
	var out []Gap
	test := strings.HasSuffix(name, "_test.go")
	if !test {
		out = append(out, findGoStubs(fset, f, name)...)
	}
	mod := p.findModule(path.Dir(name))
	if mod == nil {
		return out
	}
	out = append(out, p.checkGoImports(fset, f, mod, name)...)
	if isNew && !test && f.Name.Name != "main" {
		out = append(out, p.checkGoOrphan(mod, name)...)
	}
	return out
}

// findGoStubs returns the functions whose body only reports that they are not implemented.
func findGoStubs(fset *token.FileSet, f *ast.File, name string) []Gap {
	var out []Gap
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || len(fn.Body.List) != 1 {
			continue
		}
		says := ""
		switch st := fn.Body.List[0].(type) {
		case *ast.ExprStmt:
			says = notImplementedText(st.X)
		case *ast.ReturnStmt:
			for _, r := range st.Results {
				if s := notImplementedText(r); s != "" {
					says = s
				}
			}
		}
		if says != "" {
			out = append(out, Gap{Type: Stub, File: name, Line: fset.Position(fn.Pos()).Line,
				Description: fmt.Sprintf("%s is not implemented", fn.Name.Name), Evidence: says})
		}
	}
	return out
}

// notImplementedText returns the text with which panic, errors.New or fmt.Errorf reports that something is
// not implemented; "" for any other expression.
func notImplementedText(e ast.Expr) string {
	call, ok := e.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return ""
	}
	switch fn := call.Fun.(type) {
	case *ast.Ident:
		if fn.Name != "panic" {
			return ""
		}
	case *ast.SelectorExpr:
		if x, ok := fn.X.(*ast.Ident); !ok || x.Name+"."+fn.Sel.Name != "errors.New" && x.Name+"."+
			fn.Sel.Name != "fmt.Errorf" {
			return ""
		}
	default:
		return ""
	}
	if inner := notImplementedText(call.Args[0]); inner != "" {
		return inner // panic(errors.New("…"))
	}
	lit, ok := call.Args[0].(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil || !saysUnfinished(text) {
		return ""
	}
	return text
}

// saysUnfinished reports whether a message says that work remains to be done.
func saysUnfinished(text string) bool {
	t := strings.ToLower(text)
	for _, words := range []string{"not implemented", "not yet implemented", "unimplemented", "implement me"} {
		if strings.Contains(t, words) {
			return true
		}
	}
	return strings.HasPrefix(t, "todo")
}

// checkGoImports checks the targets of imports of the project's own packages, and that the names used
// of them exist.
func (p *project) checkGoImports(fset *token.FileSet, f *ast.File, mod *module, name string) []Gap {
	var out []Gap
	of := map[string]*goNames{} // by the name in the file
	for _, spec := range f.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		rel, own := strings.CutPrefix(imp, mod.path)
		if !own || rel != "" && rel[0] != '/' {
			continue
		}
		dir := path.Join(mod.dir, rel)
		if other := p.findModule(dir); other != nil && *other != *mod {
			continue // a module within the module
		}
		// A package's own tests see more names: export_test.go may add some.
		names := p.packageNames(dir, dir == path.Dir(name))
		if names.files == 0 {
			out = append(out, Gap{Type: WrongImport, File: name, Line: fset.Position(spec.Pos()).Line,
				Description: fmt.Sprintf("the import %q leads to no package", imp), Evidence: "there is no Go file in " + dir})
			continue
		}
		as := names.name
		if spec.Name != nil {
			as = spec.Name.Name
		}
		if as != "_" && as != "." {
			of[as] = names
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok || x.Obj != nil { // a variable of the file
			return true
		}
		if names := of[x.Name]; names != nil && !names.unparsed && !names.names[sel.Sel.Name] {
			out = append(out, Gap{Type: MissingExport, File: name, Line: fset.Position(sel.Pos()).Line,
				Description: fmt.Sprintf("package %s has no %s", x.Name, sel.Sel.Name)})
		}
		return true
	})
	return out
}

// checkGoOrphan reports a new package below internal without importers. Other modules cannot import
// it, so it is unused.
func (p *project) checkGoOrphan(mod *module, name string) []Gap {
	dir := path.Dir(name)
	if dir != "internal" && !strings.Contains("/"+dir+"/", "/internal/") {
		return nil
	}
	own := path.Join(mod.path, strings.TrimPrefix(strings.TrimPrefix(dir, mod.dir), "/"))
	if mod.dir == "." {
		own = path.Join(mod.path, dir)
	}
	all, whole := p.files()
	if !whole {
		return nil
	}
	for _, other := range all {
		if path.Ext(other) != ".go" || path.Dir(other) == dir {
			continue
		}
		if text, ok := p.read(other); ok && strings.Contains(text, strconv.Quote(own)) {
			return nil
		}
	}
	if p.orphanPackages == nil {
		p.orphanPackages = map[string]bool{}
	}
	if p.orphanPackages[own] {
		return nil // reported once, with its first file
	}
	p.orphanPackages[own] = true
	return []Gap{{Type: Orphan, File: name, Description: fmt.Sprintf("no package imports %s", own)}}
}

// findModule returns the module of the go.mod above a folder; nil if there is none.
func (p *project) findModule(dir string) *module {
	if p.modules == nil {
		p.modules = map[string]*module{}
	}
	for at := dir; ; at = path.Dir(at) {
		m, known := p.modules[at]
		if !known {
			if text, ok := p.read(path.Join(at, "go.mod")); ok {
				m = &module{at, modulePath(text)}
			}
			p.modules[at] = m
		}
		if m != nil && m.path != "" {
			return m
		}
		if at == "." || at == "/" {
			return nil
		}
	}
}

func modulePath(text string) string {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == "module" {
			if s, err := strconv.Unquote(f[1]); err == nil {
				return s
			}
			return f[1]
		}
	}
	return ""
}

// packageNames returns the top-level names of a package, from files for any platform; with tests,
// those of its test files too.
func (p *project) packageNames(dir string, tests bool) *goNames {
	if p.packages == nil {
		p.packages = map[string]*goNames{}
	}
	key := dir
	if tests {
		key += "/_test"
	}
	if n := p.packages[key]; n != nil {
		return n
	}
	n := &goNames{names: map[string]bool{}}
	p.packages[key] = n
	all, _ := p.files()
	for _, name := range all {
		if path.Dir(name) != dir || path.Ext(name) != ".go" || !tests && strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, ok := p.read(name)
		if !ok {
			continue
		}
		n.files++
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if f == nil || err != nil {
			n.unparsed = true
			continue
		}
		if !strings.HasSuffix(name, "_test.go") {
			n.name = f.Name.Name
		}
		for _, d := range f.Decls {
			n.add(d)
		}
	}
	return n
}
