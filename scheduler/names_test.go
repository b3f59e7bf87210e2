package scheduler

import (
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"wavex/internal/testrepo"
)

// Package event computes the exit code of a run. The scheduler names no exit code. It only copies a code to a stop or
// an end.
func TestSchedulerNamesNoExitCode(t *testing.T) {
	t.Parallel()
	for fset, f := range sources(t, ".") {
		check := func(field, value ast.Expr) {
			sel, _ := field.(*ast.SelectorExpr)
			id, _ := field.(*ast.Ident)
			if sel != nil {
				id = sel.Sel
			}
			if id == nil || !slices.Contains([]string{"ExitCode", "Code"}, id.Name) {
				return
			}
			if from, ok := value.(*ast.SelectorExpr); !ok || from.Sel.Name != "ExitCode" {
				t.Errorf("%s: an exit code is set", fset.Position(field.Pos()))
			}
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				check(n.Key, n.Value)
			case *ast.AssignStmt:
				for i, to := range n.Lhs {
					check(to, n.Rhs[min(i, len(n.Rhs)-1)])
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "event" && strings.HasPrefix(n.Sel.Name, "Exit") &&
					n.Sel.Name != "ExitCode" {
					t.Errorf("%s: event.%s", fset.Position(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	}
}

// Package event spells the texts that name a command or a flag.
func TestSchedulerNamesNoFlag(t *testing.T) {
	t.Parallel()
	names := regexp.MustCompile(`--|\bwavex (cancel|check|doctor|resume|rollback|run|start|status|verify)\b`)
	for fset, f := range sources(t, ".") {
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && names.MatchString(lit.Value) {
				t.Errorf("%s: %s", fset.Position(n.Pos()), lit.Value)
			}
			return true
		})
	}
}

// The name of a function that returns an event begins with one of these verbs: decide chooses the next
// event from the state, on makes the event for a result or a signal, end makes the event that ends
// something, settle ends unfinished work of an earlier session.
func TestVerbsOfDecisions(t *testing.T) {
	t.Parallel()
	verb := regexp.MustCompile(`^(decide|on|On|end|End|Settle)[A-Z]`)
	recorded := []string{"Thorough", "Light", "Run", "loop"} // return events of the past
	bodies := map[string]bool{"Body": true}
	for _, f := range sources(t, "../internal/event") {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.Name == "Type" {
				bodies[fn.Recv.List[0].Type.(*ast.Ident).Name] = true
			}
		}
	}
	if len(bodies) < 30 {
		t.Fatalf("package event has %d types of events", len(bodies)-1)
	}
	for fset, f := range sources(t, ".") {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Type.Results == nil {
				continue
			}
			returns := false
			ast.Inspect(fn.Type.Results, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok {
					x, _ := sel.X.(*ast.Ident)
					returns = returns || x != nil && x.Name == "event" && bodies[sel.Sel.Name]
				}
				return true
			})
			switch name := fn.Name.Name; {
			case returns && !verb.MatchString(name) && !slices.Contains(recorded, name):
				t.Errorf("%s: %s returns an event, but has no verb of a decision", fset.Position(fn.Pos()), name)
			case !returns && strings.HasPrefix(name, "decide"):
				t.Errorf("%s: %s returns no event", fset.Position(fn.Pos()), name)
			}
		}
	}
}

// Only the functions that apply events set the phase.
func TestOnlyApplySetsPhase(t *testing.T) {
	t.Parallel()
	for fset, f := range sources(t, ".") {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || strings.HasPrefix(fn.Name.Name, "apply") ||
				slices.Contains([]string{"startSession", "endPhase"}, fn.Name.Name) {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if a, ok := n.(*ast.AssignStmt); ok {
					for _, to := range a.Lhs {
						if sel, ok := to.(*ast.SelectorExpr); ok && sel.Sel.Name == "Phase" {
							t.Errorf("%s: %s sets the phase", fset.Position(n.Pos()), fn.Name.Name)
						}
					}
				}
				return true
			})
		}
	}
}

// sources yields the production files of a package.
func sources(t *testing.T, dir string) iter.Seq2[*token.FileSet, *ast.File] {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	return func(yield func(*token.FileSet, *ast.File) bool) {
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, path, nil, 0)
			testrepo.Must(t, err)
			if !yield(fset, f) {
				return
			}
		}
	}
}
