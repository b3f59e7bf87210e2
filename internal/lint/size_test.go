package lint

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
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
