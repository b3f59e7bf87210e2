package scheduler

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// Package event computes the exit code of a run. The scheduler names none, and sets the code of a
// stop or an end only from another one.
func TestSchedulerNamesNoExitCode(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, e.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
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
