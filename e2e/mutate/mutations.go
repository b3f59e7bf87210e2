package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"wavex/internal/textfmt"
)

// mutation is one small change of the body of a function.
type mutation struct {
	file       string // absolute
	src        []byte // of the file
	start, end int    // offsets of the replaced text
	text       string
	body       [2]int // offsets of the body of the function, with its braces
	stmt       int    // offset of the innermost statement of a block that has the replaced text
	results    string // result list of the function, as in the source
	place      string // file:line, relative to the root
	change     string // the changed lines before and after, as one line
}

// mutated returns the part of the file from one offset to another, with the mutation.
func (m mutation) mutated(from, to int) string {
	return string(m.src[from:m.start]) + m.text + string(m.src[m.end:to])
}

// key is the mutation in equivalent.txt.
func (m mutation) key() string {
	file, _, _ := strings.Cut(m.place, ":")
	return file + ": " + m.change
}

// same reports whether another mutation makes the same file.
func (m mutation) same(o mutation) bool {
	return m.file == o.file && m.start == o.start && m.end == o.end && m.text == o.text
}

// source is a file of a package, from which mutations are made.
type source struct {
	pkg   *packages.Package
	path  string // absolute
	name  string // relative to the root
	src   []byte
	fn    *ast.FuncDecl
	stmts []ast.Stmt // of all blocks of fn, outer ones first
	found []mutation
}

// swapped is the operator that a mutation puts in the place of another one.
var swapped = map[token.Token]string{
	token.EQL: "!=", token.NEQ: "==", token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">",
	token.LAND: "||", token.LOR: "&&", token.ADD: "-", token.SUB: "+", token.MUL: "/", token.QUO: "*",
	token.REM: "*", token.AND: "|", token.OR: "&", token.SHL: ">>", token.SHR: "<<",
}

// calleeName returns the name of a called function, without its package.
func calleeName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// load returns a package with its syntax and types. Its tests are left out.
func load(ctx context.Context, root, pkg string) (*packages.Package, error) {
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
		packages.NeedModule | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedTypesSizes
	found, err := packages.Load(&packages.Config{Mode: mode, Context: ctx, Dir: root}, "./"+pkg)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 || len(found[0].Errors) > 0 {
		return nil, fmt.Errorf("loading %s: %v", pkg, found[0].Errors)
	}
	return found[0], nil
}

// mutations returns the possible mutations of all functions of a package, in the order of its files. Some of them do
// not compile.
func mutations(p *packages.Package, root string) ([]mutation, error) {
	var found []mutation
	for i, file := range p.Syntax {
		path := p.CompiledGoFiles[i]
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s := &source{pkg: p, path: path, name: strings.TrimPrefix(path, root+"/"), src: src}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				s.fn, s.stmts = fn, nil
				ast.Inspect(fn.Body, s.visit)
			}
		}
		found = append(found, s.found...)
	}
	return found, nil
}

// visit adds the mutations of a node.
func (s *source) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BlockStmt:
		s.block(n.List)
	case *ast.IfStmt:
		s.negate(n.Cond)
	case *ast.ForStmt:
		s.negate(n.Cond)
	case ast.Expr:
		return s.visitExpr(n)
	case *ast.IncDecStmt:
		s.edit(n.TokPos, n.End(), map[token.Token]string{token.INC: "--", token.DEC: "++"}[n.Tok])
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			s.edit(n.Pos(), n.End(), "")
		}
	case *ast.ReturnStmt:
		s.edit(n.Pos(), n.End(), "")
		for _, r := range n.Results {
			if !s.besideError(n, r) {
				s.zero(r)
				ast.Inspect(r, s.visit)
			}
		}
		return false
	case *ast.CaseClause:
		if n.List != nil {
			s.edit(n.Pos(), n.End(), "")
		}
		s.block(n.Body)
	case *ast.CommClause:
		s.edit(n.Pos(), n.End(), "")
		s.block(n.Body)
	case *ast.ExprStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt, *ast.BranchStmt:
		s.edit(n.Pos(), n.End(), "")
	}
	return true
}

// visitExpr adds the mutations of an expression.
func (s *source) visitExpr(n ast.Expr) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		if op := swapped[n.Op]; op != "" {
			s.edit(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), op)
		}
	case *ast.UnaryExpr:
		if n.Op == token.NOT {
			s.edit(n.OpPos, n.OpPos+1, "")
		}
		if lit, ok := n.X.(*ast.BasicLit); ok && n.Op == token.SUB { // -2 is rarely another case than -1
			s.edit(lit.Pos(), lit.End(), "("+lit.Value+" - 1)")
			return false
		}
	case *ast.CallExpr:
		args := n.Args
		switch calleeName(n) {
		case "make":
			args = args[:min(2, len(args))] // no capacity
		case "OneLine", "oneLine", "Clip", "HeadTail", "ExcerptOf":
			args = args[:len(args)-1] // not how much of a text people see
		default:
			return true
		}
		for _, arg := range args {
			ast.Inspect(arg, s.visit)
		}
		return false
	case *ast.BasicLit:
		if n.Kind == token.INT && !strings.HasPrefix(n.Value, "0o") { // no modes of files
			s.edit(n.Pos(), n.End(), "("+n.Value+" + 1)")
			if n.Value != "0" { // a negative number is rarely another case than 0
				s.edit(n.Pos(), n.End(), "("+n.Value+" - 1)")
			}
		}
	case *ast.Ident:
		if other := map[string]string{"true": "false", "false": "true"}[n.Name]; other != "" {
			s.edit(n.Pos(), n.End(), other)
		}
	}
	return true
}

// block notes the statements of a block. It skips the clauses of a switch, which are not statements.
func (s *source) block(list []ast.Stmt) {
	for _, stmt := range list {
		switch stmt.(type) {
		case *ast.CaseClause, *ast.CommClause:
			return
		}
		s.stmts = append(s.stmts, stmt)
	}
}

// negate turns a condition around. An equality is turned around by its operator.
func (s *source) negate(cond ast.Expr) {
	if b, ok := cond.(*ast.BinaryExpr); cond != nil && !(ok && (b.Op == token.EQL || b.Op == token.NEQ)) {
		s.edit(cond.Pos(), cond.End(), "!("+s.between(cond.Pos(), cond.End())+")")
	}
}

// zero replaces a result by the zero value of its type, and a bool by its opposite.
func (s *source) zero(e ast.Expr) {
	t := s.pkg.TypesInfo.TypeOf(e)
	if id, ok := e.(*ast.Ident); t == nil || ok && (id.Name == "true" || id.Name == "false") {
		return
	}
	text, with := s.between(e.Pos(), e.End()), ""
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Info()&types.IsBoolean != 0:
			with = "!(" + text + ")"
		case u.Info()&types.IsString != 0:
			with = `""`
		case u.Info()&types.IsNumeric != 0:
			with = "0"
		}
	case *types.Struct:
		name := types.TypeString(t, func(p *types.Package) string {
			if p == s.pkg.Types {
				return ""
			}
			return p.Name()
		})
		with = "*new(" + name + ")"
	case *types.Pointer, *types.Slice, *types.Map, *types.Chan, *types.Signature, *types.Interface:
		with = "nil"
	}
	if with != "" && with != text && !strings.HasSuffix(text, "{}") {
		s.edit(e.Pos(), e.End(), with)
	}
}

// besideError reports whether a result is a constant beside an error, which no caller reads.
func (s *source) besideError(n *ast.ReturnStmt, r ast.Expr) bool {
	last := n.Results[len(n.Results)-1]
	v := s.pkg.TypesInfo.Types[r]
	return r != last && types.ExprString(last) != "nil" && (v.IsNil() || v.Value != nil) &&
		types.TypeString(s.pkg.TypesInfo.TypeOf(last), nil) == "error"
}

func (s *source) offset(p token.Pos) int { return s.pkg.Fset.Position(p).Offset }

func (s *source) between(from, to token.Pos) string {
	return string(s.src[s.offset(from):s.offset(to)])
}

// edit adds the mutation that replaces a part of the file.
func (s *source) edit(from, to token.Pos, text string) {
	m := mutation{file: s.path, src: s.src, start: s.offset(from), end: s.offset(to), text: text,
		body:  [2]int{s.offset(s.fn.Body.Lbrace), s.offset(s.fn.Body.Rbrace) + 1},
		place: fmt.Sprintf("%s:%d", s.name, s.pkg.Fset.Position(from).Line)}
	for _, stmt := range s.stmts {
		if stmt.Pos() <= from && to <= stmt.End() {
			m.stmt = s.offset(stmt.Pos())
		}
	}
	if r := s.fn.Type.Results; r != nil {
		m.results = s.between(r.Pos(), r.End())
	}
	first := bytes.LastIndexByte(s.src[:m.start], '\n') + 1
	last := m.end + bytes.IndexByte(s.src[m.end:], '\n') // a file of gofmt ends with a newline
	m.change = oneLine(string(s.src[first:last])) + " => " + oneLine(m.mutated(first, last))
	s.found = append(s.found, m)
}

// oneLine returns a text with single blanks, and at most 160 bytes of it.
func oneLine(text string) string { return cmp.Or(textfmt.OneLine(text, 160), "(nothing)") }

// draw returns n random mutations of those that compile, or all with n = 0: the same ones for the same seed, in places
// that contain one of some texts, which commas separate.
func draw(all []mutation, only string, seed uint64, n int) []mutation {
	all = slices.Clone(all)
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	all = slices.DeleteFunc(all, func(m mutation) bool {
		return !slices.ContainsFunc(strings.Split(only, ","), func(s string) bool { return strings.Contains(m.place, s) })
	})
	if n == 0 {
		return all
	}
	return all[:min(n, len(all))]
}

// compiling returns the mutations with which a package compiles. It checks the types of all of them at once.
func compiling(p *packages.Package, all []mutation) ([]mutation, error) {
	all = slices.DeleteFunc(slices.Clone(all), func(m mutation) bool {
		text := "package p; func _() " + m.results + m.mutated(m.body[0], m.body[1])
		_, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
		return err != nil
	})
	texts := withMutations(all)
	var files []*ast.File
	for i, path := range p.CompiledGoFiles {
		if texts[path] == "" {
			files = append(files, p.Syntax[i])
		}
	}
	texts["selection"] = "package " + p.Name + "; var wavexMutant int; func wavexAt(...int) {}"
	for path, text := range texts {
		f, err := parser.ParseFile(p.Fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	wrong := map[string]bool{} // numbers of mutations
	conf := types.Config{Importer: imports(p.Imports), Sizes: p.TypesSizes, GoVersion: "go" + p.Module.GoVersion,
		Error: func(err error) {
			if fault, ok := err.(types.Error); ok {
				wrong[filepath.Base(p.Fset.Position(fault.Pos).Filename)] = true
			}
		}}
	_, _ = conf.Check(p.PkgPath, p.Fset, files, nil) // each error is noted
	var found []mutation
	for i, m := range all {
		if !wrong[fmt.Sprint(i+1)] {
			found = append(found, m)
		}
	}
	return found, nil
}

// imports are the imported packages of a package, by their paths.
type imports map[string]*packages.Package

// Import returns the types of an imported package.
func (i imports) Import(path string) (*types.Package, error) { return i[path].Types, nil }
