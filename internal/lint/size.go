package main

import (
	"fmt"
	"go/ast"
	"go/token"
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
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok {
			name := f.Name.Name
			if f.Recv != nil {
				of := f.Recv.List[0].Type
				if star, ok := of.(*ast.StarExpr); ok {
					of = star.X
				}
				if index, ok := of.(*ast.IndexExpr); ok {
					of = index.X
				}
				name = fmt.Sprintf("%s.%s", of, name)
			}
			if n := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1; n > maxFunc {
				found[path+" func "+name] = n
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if t, ok := n.(*ast.TypeSpec); ok {
			if s, ok := t.Type.(*ast.StructType); ok && s.Fields.NumFields() > maxStruct {
				found[path+" struct "+t.Name.Name] = s.Fields.NumFields()
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
		if line, _, _ = strings.Cut(line, "#"); strings.TrimSpace(line) == "" {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 4 {
			return nil, fmt.Errorf("exceptions.txt: want a path, func or struct, a name and a reason: %s", line)
		}
		listed[strings.Join(fields[:3], " ")] = true
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
