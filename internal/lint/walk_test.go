package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestWalk follows the value of wavex run --parallel from the options of its command to the loop and counts the calls.
// Other commands with the flag join at prepare.
//
// A stay is a call that passes the value on, unchanged, to a function that has a use for it: as itself or inside a
// struct that carries it, as an argument or as the receiver. A function has a use for the value if it reads it, stores
// it or its struct in a field, or passes it on to a function that has a use for it. Values computed from it, and
// structs that a function has from a call without it, are not followed. A climb is such a call, made through an
// interface, of a package that stands above the caller's in the layout of docs/design.md, which cmd/imports_test.go
// checks. Calls into the scheduler are the last ones. The definition is not that of earlier counts.
func TestWalk(t *testing.T) {
	t.Parallel()
	w := newWalk(t)
	var todo []types.Object
	for fn := range w.bodies {
		if fn.Pkg().Name() == "cmd" && fn.Name() == "runPlan" {
			todo = append(todo, fn)
		}
	}
	for before := -1; before != len(w.holders)+len(w.users); { // until nothing is new
		before = len(w.holders) + len(w.users)
		for fn := range w.bodies {
			w.read(fn)
		}
	}
	text, err := os.ReadFile("../../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, layout, _ := strings.Cut(strings.ReplaceAll(string(text), "/ ", " "), "\n## Layout\n")
	names := strings.Fields(layout)
	place := func(o types.Object) int { return slices.Index(names, strings.TrimPrefix(o.Pkg().Path(), "wavex/")) }

	var stays, climbs []string
	idle, arrived, seen := 0, false, map[types.Object]bool{}
	for ; len(todo) > 0; todo = todo[1:] {
		fn := todo[0]
		if seen[fn] {
			continue
		}
		seen[fn] = true
		for _, to := range w.calls[fn] {
			line := fmt.Sprintf("%s: %s", fn.(*types.Func).FullName(), to.(*types.Func).FullName())
			switch {
			case !w.users[to]:
				idle++
				continue
			case place(to) < place(fn):
				climbs = append(climbs, "climb "+line)
			default:
				stays = append(stays, "stay  "+line)
			}
			if to.Pkg().Name() == "scheduler" {
				arrived = true
			} else {
				todo = append(todo, to)
			}
		}
	}
	t.Logf("%d stays and %d climbs, and %d calls that carry the value to functions without a use for it:\n\t%s",
		len(stays), len(climbs), idle, strings.Join(append(stays, climbs...), "\n\t"))
	if !arrived || len(stays) > 30 || len(climbs) > 3 {
		t.Errorf("arrived: %t; %d stays and %d climbs, want at most 30 and 3: pass the value on in fewer calls",
			arrived, len(stays), len(climbs))
	}
}

type body struct {
	*ast.FuncDecl
	info *types.Info
}

// walk follows a value through the program.
type walk struct {
	bodies  map[types.Object]body           // of functions
	holders map[types.Object]bool           // fields and variables with the value
	fresh   map[types.Object]bool           // variables of a function that it has from a call without the value
	users   map[types.Object]bool           // functions that have a use for the value
	calls   map[types.Object][]types.Object // that pass the value on, by calling function
}

// newWalk reads the functions of the program. The only holder is the field of --parallel in the table of settings.
func newWalk(t *testing.T) *walk {
	w := &walk{bodies: map[types.Object]body{}, holders: map[types.Object]bool{}, users: map[types.Object]bool{},
		fresh: map[types.Object]bool{}, calls: map[types.Object][]types.Object{}}
	for path, p := range loadProduction(t) {
		if strings.HasPrefix(path, "wavex/fleet") {
			continue
		}
		for _, file := range p.Syntax {
			for n := range ast.Preorder(file) {
				if fn, ok := n.(*ast.FuncDecl); ok && fn.Body != nil {
					w.bodies[p.TypesInfo.Defs[fn.Name]] = body{fn, p.TypesInfo}
				}
			}
		}
	}
	for fn, b := range w.bodies {
		for n := range ast.Preorder(b.Body) {
			row, ok := n.(*ast.CompositeLit)
			if !ok || fn.Name() != "workTable" {
				continue
			}
			parts := map[string]ast.Expr{}
			for _, e := range row.Elts {
				if e, ok := e.(*ast.KeyValueExpr); ok {
					parts[fmt.Sprint(e.Key)] = e.Value
				}
			}
			if name, ok := parts["name"].(*ast.BasicLit); ok && name.Value == `"parallel"` {
				w.holders[b.object(parts["value"].(*ast.CallExpr).Args[0])] = true
			}
		}
	}
	return w
}

// object returns the field, variable or function that e, its address or its result denotes, or nil.
func (b body) object(e ast.Expr) types.Object {
	switch e := e.(type) {
	case *ast.Ident:
		switch o := b.info.ObjectOf(e).(type) {
		case *types.Func:
			return o.Origin()
		case *types.Var:
			return o.Origin()
		}
	case *ast.SelectorExpr:
		return b.object(e.Sel)
	case *ast.UnaryExpr:
		return b.object(e.X)
	case *ast.CallExpr:
		return b.object(e.Fun)
	}
	return nil
}

// carries reports whether t is a struct that holds the value, also in its structs and behind their pointers.
func (w *walk) carries(t types.Type, above ...types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok || slices.Contains(above, t) {
		return false
	}
	for f := range s.Fields() {
		if w.holders[f] || w.carries(f.Type(), append(above, t)...) {
			return true
		}
	}
	return false
}

// passes reports whether a call passes the value on, as itself or in a struct.
func (w *walk) passes(b body, c *ast.CallExpr) bool {
	args := c.Args
	if s, ok := c.Fun.(*ast.SelectorExpr); ok && b.info.Selections[s] != nil {
		args = append(slices.Clip(args), s.X)
	}
	return slices.ContainsFunc(args, func(a ast.Expr) bool {
		o := b.object(a)
		return w.holders[o] || !w.fresh[o] && w.carries(b.info.TypeOf(a))
	})
}

// read finds the uses of the value in a function, and the calls that pass it on.
func (w *walk) read(fn types.Object) {
	b := w.bodies[fn]
	w.calls[fn] = nil
	store := func(to, value ast.Expr) {
		o := b.object(value)
		_, result := value.(*ast.CallExpr)
		if field, ok := b.object(to).(*types.Var); !ok || o == nil {
		} else if w.holders[o] {
			w.holders[field] = true
		} else if field.IsField() && !result && w.carries(o.Type()) {
			w.users[fn] = true
		}
	}
	ast.Inspect(b.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			w.users[fn] = w.users[fn] || w.holders[b.object(n)]
		case *ast.AssignStmt:
			if c, ok := n.Rhs[0].(*ast.CallExpr); ok && n.Tok == token.DEFINE {
				w.fresh[b.object(n.Lhs[0])] = !w.passes(b, c)
			}
			for i := range n.Rhs {
				store(n.Lhs[i], n.Rhs[i])
			}
		case *ast.KeyValueExpr:
			store(n.Key, n.Value)
		case *ast.CallExpr:
			w.readCall(fn, n)
		}
		return true
	})
}

// readCall finds the functions of the program that a call passes the value to.
func (w *walk) readCall(fn types.Object, c *ast.CallExpr) {
	b := w.bodies[fn]
	to, ok := b.object(c.Fun).(*types.Func)
	if !ok {
		return // a conversion or a function value
	}
	for i, a := range c.Args {
		if !w.holders[b.object(a)] {
			continue
		}
		if p := to.Signature().Params(); w.bodies[to].info != nil {
			w.holders[p.At(min(i, p.Len()-1))] = true
		}
		for _, other := range c.Args { // a function that gets the value and an address stores it there
			if u, ok := other.(*ast.UnaryExpr); ok && types.Identical(b.info.TypeOf(u.X), b.info.TypeOf(a)) {
				w.holders[b.object(u)] = true
			}
		}
	}
	if !w.passes(b, c) {
		return
	}
	for target := range w.bodies {
		if reaches(to, target.(*types.Func)) {
			w.calls[fn] = append(w.calls[fn], target)
			w.users[fn] = w.users[fn] || w.users[target]
		}
	}
}

// reaches reports whether a call of f may call target: itself, or a method of an interface and an implementation.
func reaches(f, target *types.Func) bool {
	r, impl := f.Signature().Recv(), target.Signature().Recv()
	if f == target || r == nil || impl == nil || f.Name() != target.Name() || !types.IsInterface(r.Type()) {
		return f == target
	}
	return types.Implements(impl.Type(), r.Type().Underlying().(*types.Interface))
}
