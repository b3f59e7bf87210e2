package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"strings"
)

const maxGoLine = 120 // columns; a tab is one, as in golangci-lint's lll

// readGo counts one Go file into d. Generated files are left out.
func (d *directory) readGo(path string, src []byte) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(file) {
		return nil
	}
	lines := strings.Split(string(src), "\n")
	for _, group := range file.Comments {
		p := commentText(fset, group)
		d.readParagraph(path, p, lines)
	}
	inString := rawStringLines(fset, file)
	for i, line := range lines {
		if width(line) > maxGoLine && !inString[i+1] && !strings.HasPrefix(line, "//go:") {
			d.add(fault{path, i + 1, long, line})
		}
	}
	if strings.HasSuffix(path, "_test.go") {
		return nil
	}
	maps.Copy(d.tooLarge, tooLarge(path, fset, file))
	for _, pos := range tuplesOf(file) {
		line := fset.Position(pos).Line
		d.add(fault{path, line, tuples, lines[line-1]})
	}
	return nil
}

// commentText returns the text of a comment group without its markers, line by line. A directive such as //go:build
// is an empty line.
func commentText(fset *token.FileSet, group *ast.CommentGroup) paragraph {
	p := paragraph{first: fset.Position(group.Pos()).Line}
	for _, c := range group.List {
		switch {
		case strings.HasPrefix(c.Text, "/*"):
			text := strings.TrimSuffix(strings.TrimPrefix(c.Text, "/*"), "*/")
			p.lines = append(p.lines, strings.Split(text, "\n")...)
		case strings.HasPrefix(c.Text, "//go:"):
			p.lines = append(p.lines, "")
		default:
			p.lines = append(p.lines, strings.TrimSpace(strings.TrimPrefix(c.Text, "//")))
		}
	}
	return p
}

// rawStringLines returns the lines that begin inside a raw string: they are data, and cannot be wrapped.
func rawStringLines(fset *token.FileSet, file *ast.File) map[int]bool {
	inside := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && strings.HasPrefix(lit.Value, "`") {
			for line := fset.Position(lit.Pos()).Line + 1; line <= fset.Position(lit.End()).Line; line++ {
				inside[line] = true
			}
		}
		return true
	})
	return inside
}

// tuplesOf returns the positions of statements and declarations that pair more than three variables with as many
// values. The results of one call are not counted: the function may be another module's.
func tuplesOf(file *ast.File) []token.Pos {
	var found []token.Pos
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if len(n.Lhs) > 3 && len(n.Rhs) > 1 {
				found = append(found, n.Pos())
			}
		case *ast.ValueSpec:
			if len(n.Names) > 3 && len(n.Values) > 1 {
				found = append(found, n.Pos())
			}
		}
		return true
	})
	return found
}
