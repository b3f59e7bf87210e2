package source

// This file parses YAML: goccy/go-yaml builds a tree, after a check for input that would cost that
// parser too much, and this file converts its positions. yamlwalk.go converts the tree. Neither file
// knows anything of plans.

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	yamltoken "github.com/goccy/go-yaml/token"
)

// MaxYAML bounds a YAML file, in bytes: its tree takes about 60 times as much.
const MaxYAML = 16 << 20

// NewYAML parses a whole file of YAML. Problem returns its mistake.
func NewYAML(src string) *Tree {
	src = strings.ReplaceAll(src, "\r\n", "\n") // changes no line and no column
	s := &Tree{Position: yamlPosition(src), Failure: textProblem(src)}
	if s.Failure != nil {
		return s
	}
	var root ast.Node
	if root, s.Failure = parseYAML(src); s.Failure == nil {
		c := yamlConverter{anchors: map[string]ast.Node{}}
		s.Root = c.value(root, false, 0)
		s.broken = c.failure
	}
	return s
}

// textProblem returns the problem that prevents parsing a text, or nil.
func textProblem(src string) *Problem {
	if len(src) > MaxYAML {
		return &Problem{-1, CodeTooLarge, fmt.Sprintf(
			"a YAML plan of more than %d MB takes too much memory; write it in JSON", MaxYAML>>20)}
	}
	at := func(off int) Location {
		line := 1 + strings.Count(src[:off], "\n")
		begin := strings.LastIndexByte(src[:off], '\n') + 1
		return yamlLocation(line, 1+utf8.RuneCountInString(src[begin:off]))
	}
	if off, message := EncodingProblem(src); message != "" {
		return &Problem{at(off), CodeEncoding, message}
	}
	return nil
}

// parseYAML returns the value of a file, or its mistake. A panic of the parser on an odd file becomes a
// mistake.
func parseYAML(src string) (root ast.Node, wrong *Problem) {
	defer func() {
		if r := recover(); r != nil {
			wrong = &Problem{-1, CodeSyntax, "the YAML parser cannot read this file; write it more plainly, or in JSON"}
		}
	}()
	tokens := lexer.Tokenize(src)
	if wrong := excessProblem(tokens); wrong != nil {
		return nil, wrong
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, yamlProblem(err)
	}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.DirectiveType {
			continue
		}
		if root != nil {
			return nil, &Problem{locationOf(doc.Body), CodeSyntax,
				"something follows the plan; a file holds one plan, so remove it"}
		}
		root = doc.Body
	}
	if root == nil {
		return nil, &Problem{yamlLocation(1, 1), CodeEmptyPlan,
			"the file is empty; a plan needs at least tasks with an id and a subject"}
	}
	return root, nil
}

func yamlProblem(err error) *Problem {
	var ye yaml.Error
	if errors.As(err, &ye) {
		at := Location(-1)
		if tk := ye.GetToken(); tk != nil && tk.Position != nil {
			at = yamlLocation(tk.Position.Line, tk.Position.Column)
		}
		what := "not valid YAML: " + firstLine(ye.GetMessage())
		if strings.Contains(what, "'\t'") { // the parser's form of the character
			what = "not valid YAML: a tab begins the line; indent with spaces"
		}
		return &Problem{at, CodeSyntax, what}
	}
	return &Problem{-1, CodeSyntax, "not valid YAML: " + firstLine(err.Error())}
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// excessProblem finds, in the tokens, input that would cost the parser too much. The parser recurses, and
// Go cannot recover from an exhausted stack. Depth is visible before parsing: every block inside a
// block is further to the right, and every flow inside a flow adds a bracket. The parser's time
// also grows with the square of the number of documents and of keys without a value (measured: 16 s
// for 100,000 documents, 33 s for 100,000 empty keys).
func excessProblem(tokens yamltoken.Tokens) *Problem {
	const most = 2000
	var columns []int
	flow, documents, empty := 0, 0, 0
	for i, tk := range tokens {
		switch tk.Type {
		case yamltoken.SequenceStartType, yamltoken.MappingStartType:
			flow++
		case yamltoken.SequenceEndType, yamltoken.MappingEndType:
			flow = max(0, flow-1)
		case yamltoken.DocumentHeaderType, yamltoken.DocumentEndType:
			documents++
		case yamltoken.MappingValueType:
			if lacksValue(tokens, i) {
				empty++
			}
		}
		if flow == 0 {
			for len(columns) > 0 && columns[len(columns)-1] >= tk.Position.Column {
				columns = columns[:len(columns)-1]
			}
			columns = append(columns, tk.Position.Column)
		}
		at := yamlLocation(tk.Position.Line, tk.Position.Column)
		switch {
		case flow > maxDepth, len(columns) > 2*maxDepth:
			return tooDeep(at)
		case documents > most:
			return &Problem{at, CodeTooLarge, "too many documents in one file; a file holds one plan"}
		case empty > most:
			return &Problem{at, CodeTooLarge, "too many keys without a value; leave such fields out"}
		}
	}
	return nil
}

// lacksValue reports whether no value follows the colon at i: the next token is on a later line, and
// no further right than the key. In a flow, a comma or a bracket may also follow a key without a
// value.
func lacksValue(tokens yamltoken.Tokens, i int) bool {
	if i == 0 || i+1 == len(tokens) {
		return true
	}
	key, next := tokens[i-1], tokens[i+1]
	switch next.Type {
	case yamltoken.CollectEntryType, yamltoken.MappingEndType, yamltoken.MappingValueType:
		return true
	case yamltoken.SequenceEntryType: // a list may start in the column of its key
		return next.Position.Column < key.Position.Column
	}
	return next.Position.Line > tokens[i].Position.Line && next.Position.Column <= key.Position.Column
}

// yamlLocation packs a line and a column, in characters, into a place.
func yamlLocation(line, column int) Location { return Location(line)<<32 | Location(column) }

func locationOf(n ast.Node) Location {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return -1
	}
	p := n.GetToken().Position
	// The token of a mapping is its first colon; people look for its first key.
	switch m := n.(type) {
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return locationOf(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return locationOf(m.Key)
	}
	return yamlLocation(p.Line, p.Column)
}

// yamlPosition returns the function that finds the positions of a text, with columns in bytes.
func yamlPosition(src string) func(Location) Pos {
	lines := NewCursor(src)
	return func(at Location) Pos {
		if at < 0 {
			return Pos{}
		}
		line, column := int(at>>32), int(at&math.MaxUint32)
		begin := lines.lineOffset(line)
		text := src[begin:]
		for n := 1; n < column && text != "" && text[0] != '\n'; n++ {
			_, size := utf8.DecodeRuneInString(text)
			text = text[size:]
		}
		return Pos{Line: line, Column: len(src) - len(text) - begin + 1}
	}
}
