package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

const (
	maxFunc   = 60 // lines, from func to the closing brace
	maxStruct = 25 // fields, an embedded struct counts as one
)

// tooLarge returns the sizes of the functions and structs of a file that exceed their maximum, by "path func|struct
// Name". The name of a method has that of its type before it.
func tooLarge(path string, fset *token.FileSet, file *ast.File) map[string]int {
	found := map[string]int{}
	add := func(kind, name string, size, most int) {
		if size > most {
			found[path+" "+kind+" "+name] = size
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			name := n.Name.Name
			if n.Recv != nil {
				of, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(n.Recv.List[0].Type), "*"), "[")
				name = of + "." + name
			}
			add("func", name, fset.Position(n.End()).Line-fset.Position(n.Pos()).Line+1, maxFunc)
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok {
				add("struct", n.Name.Name, s.Fields.NumFields(), maxStruct)
			}
		}
		return true
	})
	return found
}

// parseExceptions reads the names of exceptions: lines of a path, "func" or "struct", a name and a reason.
func parseExceptions(text string) (map[string]bool, error) {
	listed := map[string]bool{}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		switch fields := strings.Fields(line); {
		case len(fields) > 3:
			listed[strings.Join(fields[:3], " ")] = true
		case len(fields) > 0:
			return nil, fmt.Errorf("exceptions.txt: want a path, func or struct, a name and a reason: %s", line)
		}
	}
	return listed, nil
}

// checkSizes returns a line for each function or struct that is too large and not listed, and for each listed one that
// is not too large.
func checkSizes(t tree, listed map[string]bool) []string {
	var wrong []string
	left := maps.Clone(listed)
	for _, d := range t {
		for name, size := range d.tooLarge {
			if !listed[name] {
				wrong = append(wrong, fmt.Sprintf("%s: %d; split it (%d lines, %d fields), or list it in exceptions.txt",
					name, size, maxFunc, maxStruct))
			}
			delete(left, name)
		}
	}
	for name := range left {
		wrong = append(wrong, name+": it is not too large; remove it from exceptions.txt")
	}
	slices.Sort(wrong)
	return wrong
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	body := func(lines int) string { return "{\n" + strings.Repeat("\n", lines-2) + "}\n" }
	fields := func(n int) string { return "struct {\n" + strings.Repeat("\ta, b int\n", n/2) + "\tc\n}\n" }
	src := "package a\n\nfunc fits() " + body(60) + "func long() " + body(61) + "func (*p) long() " + body(62) +
		"func (g[T]) long() " + body(63) + "type few " + fields(24) + "type many " + fields(26)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "a/a.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"a/a.go func long": 61, "a/a.go func p.long": 62, "a/a.go func g.long": 63,
		"a/a.go struct many": 27}
	if got := tooLarge("a/a.go", fset, file); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCheckSizes(t *testing.T) {
	t.Parallel()
	listed, err := parseExceptions("# header\n\na/a.go func listed  a table # note\na/a.go struct gone  a reason\n")
	if err != nil {
		t.Fatal(err)
	}
	all := tree{"a": {tooLarge: map[string]int{"a/a.go func listed": 70, "a/a.go func new": 61}}}
	got := checkSizes(all, listed)
	if len(got) != 2 || !strings.HasPrefix(got[0], "a/a.go func new: 61; ") ||
		!strings.HasPrefix(got[1], "a/a.go struct gone: it is not too large") {
		t.Errorf("got %q", got)
	}
	if _, err := parseExceptions("a/a.go func f\n"); err == nil {
		t.Error("no error for an exception without a reason")
	}
}
