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
)

// Package event computes the exit code of a run. The scheduler names none, and sets the code of a
// stop or an end only from another one.
func TestSchedulerNamesNoExitCode(t *testing.T) {
	t.Parallel()
	for fset, f := range sources(t) {
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
	for fset, f := range sources(t) {
		ast.Inspect(f, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && names.MatchString(lit.Value) {
				t.Errorf("%s: %s", fset.Position(n.Pos()), lit.Value)
			}
			return true
		})
	}
}

// sources yields the production files of the package.
func sources(t *testing.T) iter.Seq2[*token.FileSet, *ast.File] {
	t.Helper()
	paths, err := filepath.Glob("*.go")
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
			if err != nil {
				t.Fatal(err)
			}
			if !yield(fset, f) {
				return
			}
		}
	}
}
