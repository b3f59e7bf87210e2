package plan

// This file reads YAML as tokens with lines and columns: it walks the tree that
// goccy/go-yaml builds, follows aliases and merges as it goes, and bounds what they
// expand to. It knows nothing of plans.

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	yamltoken "github.com/goccy/go-yaml/token"
)

const (
	// maxYAML bounds a YAML file, in bytes: its tree takes about 60 times as much.
	maxYAML = 16 << 20
	// maxAliased is how many tokens aliases may expand to, against files that grow
	// exponentially when read.
	maxAliased = 1_000_000
)

// yamlFrame is an open mapping or sequence. A mapping's nodes alternate: name, value.
type yamlFrame struct {
	nodes   []ast.Node
	next    int
	mapping bool
	aliased bool // reached through an alias
	end     place
}

type yamlSource struct {
	src     string
	root    ast.Node
	stack   []yamlFrame
	anchors map[string]ast.Node
	aliased int
	done    bool
	wrong   *problem
	at      cursor
}

// newYAMLSource parses the whole file; what is wrong with it comes as the problem.
func newYAMLSource(src string) *yamlSource {
	src = strings.ReplaceAll(src, "\r\n", "\n") // changes no line and no column
	s := &yamlSource{src: src, anchors: map[string]ast.Node{}, at: cursor{src: src, line: 1}}
	if s.wrong = unreadable(src); s.wrong == nil {
		s.parse()
	}
	return s
}

// unreadable tells what keeps a text from being parsed at all.
func unreadable(src string) *problem {
	if len(src) > maxYAML {
		return &problem{-1, CodeTooLarge, fmt.Sprintf("a YAML plan of more than %d MB takes too much memory; write it in JSON", maxYAML>>20)}
	}
	at := func(off int) place {
		line := 1 + strings.Count(src[:off], "\n")
		begin := strings.LastIndexByte(src[:off], '\n') + 1
		return yamlPlace(line, 1+utf8.RuneCountInString(src[begin:off]))
	}
	if i := strings.IndexByte(src, 0); i >= 0 {
		return &problem{at(i), CodeEncoding, "a NUL character; save the file as UTF-8 text"}
	}
	for i := 0; i < len(src); {
		r, n := utf8.DecodeRuneInString(src[i:])
		if r == utf8.RuneError && n == 1 {
			return &problem{at(i), CodeEncoding, "not valid UTF-8; save the file as UTF-8"}
		}
		i += n
	}
	return nil
}

// parse fills root, or wrong. The parser's own panics on odd files become a problem.
func (s *yamlSource) parse() {
	defer func() {
		if r := recover(); r != nil {
			s.wrong = &problem{-1, CodeSyntax, "the YAML parser cannot read this file; write it more plainly, or in JSON"}
		}
	}()
	tokens := lexer.Tokenize(s.src)
	if s.wrong = excess(tokens); s.wrong != nil {
		return
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		s.wrong = yamlProblem(err)
		return
	}
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.DirectiveType {
			continue
		}
		if s.root != nil {
			s.wrong = &problem{placeOf(doc.Body), CodeSyntax, "something follows the plan; a file holds one plan, so remove it"}
			return
		}
		s.root = doc.Body
	}
	if s.root == nil {
		s.wrong = &problem{yamlPlace(1, 1), CodeEmptyPlan, "the file is empty; a plan needs at least tasks with an id and a subject"}
	}
}

func yamlProblem(err error) *problem {
	var ye yaml.Error
	if errors.As(err, &ye) {
		at := place(-1)
		if tk := ye.GetToken(); tk != nil && tk.Position != nil {
			at = yamlPlace(tk.Position.Line, tk.Position.Column)
		}
		return &problem{at, CodeSyntax, "not valid YAML: " + firstLine(ye.GetMessage())}
	}
	return &problem{-1, CodeSyntax, "not valid YAML: " + firstLine(err.Error())}
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// excess finds what would cost the parser more than a plan is worth, in its tokens. The
// parser recurses, and Go cannot recover from a stack that is used up: every block
// inside a block stands further to the right, every flow inside a flow is another
// bracket, so depth shows before parsing. And its time grows with the square of the
// number of documents and of keys without a value (measured: 16 s for 100,000
// documents, 33 s for 100,000 empty keys).
func excess(tokens yamltoken.Tokens) *problem {
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
			if valueless(tokens, i) {
				empty++
			}
		}
		if flow == 0 {
			for len(columns) > 0 && columns[len(columns)-1] >= tk.Position.Column {
				columns = columns[:len(columns)-1]
			}
			columns = append(columns, tk.Position.Column)
		}
		at := yamlPlace(tk.Position.Line, tk.Position.Column)
		switch {
		case flow > maxDepth, len(columns) > 2*maxDepth:
			return tooDeep(at)
		case documents > most:
			return &problem{at, CodeTooLarge, "too many documents in one file; a file holds one plan"}
		case empty > most:
			return &problem{at, CodeTooLarge, "too many keys without a value; leave such fields out"}
		}
	}
	return nil
}

// valueless tells whether the colon at i has nothing behind it: what comes next stands
// on a later line, and no further right than the key. In a flow a key may lack its
// value too, before a comma or a bracket.
func valueless(tokens yamltoken.Tokens, i int) bool {
	if i == 0 || i+1 == len(tokens) {
		return true
	}
	key, next := tokens[i-1], tokens[i+1]
	switch next.Type {
	case yamltoken.CollectEntryType, yamltoken.MappingEndType, yamltoken.MappingValueType:
		return true
	case yamltoken.SequenceEntryType: // a list may stand right below its key
		return next.Position.Column < key.Position.Column
	}
	return next.Position.Line > tokens[i].Position.Line && next.Position.Column <= key.Position.Column
}

// next walks on. A value that opens a mapping or a sequence pushes a frame.
func (s *yamlSource) next() token {
	if s.wrong != nil || s.done {
		return token{}
	}
	if len(s.stack) == 0 {
		if s.root == nil {
			s.done = true
			return token{}
		}
		root := s.root
		s.root = nil
		return s.value(root, false)
	}
	top := &s.stack[len(s.stack)-1]
	if top.next == len(top.nodes) {
		end := top.end
		s.stack = s.stack[:len(s.stack)-1]
		return token{kind: kindEnd, at: end}
	}
	node := top.nodes[top.next]
	top.next++
	if top.mapping && top.next%2 == 1 {
		return s.name(node)
	}
	return s.value(node, top.aliased)
}

func (s *yamlSource) fail(at place, code, message string) token {
	s.wrong = &problem{at, code, message}
	return token{at: at}
}

// name is a key of a mapping; numbers and the like count as their text.
func (s *yamlSource) name(node ast.Node) token {
	text, ok := keyText(node)
	if !ok {
		return s.fail(placeOf(node), CodeSyntax, "a key must be a plain word")
	}
	return token{kind: kindString, text: text, at: placeOf(node)}
}

func keyText(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.MappingKeyNode:
		if n.Value == nil {
			return "", false
		}
		return keyText(n.Value)
	case *ast.StringNode:
		return n.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, true
	}
	return "", false
}

// value turns a node into its first token.
func (s *yamlSource) value(node ast.Node, aliased bool) token {
	node, asString, aliased := s.resolve(node, aliased)
	if s.wrong != nil {
		return token{}
	}
	at := placeOf(node)
	if aliased {
		if s.aliased++; s.aliased > maxAliased {
			return s.fail(at, CodeTooLarge, fmt.Sprintf("aliases expand to more than %d values; write the plan with fewer of them", maxAliased))
		}
	}
	switch n := node.(type) {
	case nil, *ast.NullNode:
		if asString {
			return token{kind: kindString, at: at}
		}
		return token{kind: kindNull, text: "null", at: at}
	case *ast.StringNode:
		return token{kind: kindString, text: n.Value, at: at}
	case *ast.LiteralNode:
		return token{kind: kindString, text: n.Value.Value, at: at}
	case *ast.BoolNode:
		return scalar(kindBool, strconv.FormatBool(n.Value), n.Token.Value, asString, at)
	case *ast.IntegerNode:
		return scalar(kindNumber, integerText(n), n.Token.Value, asString, at)
	case *ast.FloatNode:
		return scalar(kindNumber, strconv.FormatFloat(n.Value, 'g', -1, 64), n.Token.Value, asString, at)
	case *ast.InfinityNode:
		return scalar(kindNumber, n.Token.Value, n.Token.Value, asString, at)
	case *ast.NanNode:
		return scalar(kindNumber, n.Token.Value, n.Token.Value, asString, at)
	case *ast.SequenceNode:
		return s.push(token{kind: kindArray, at: at}, yamlFrame{nodes: n.Values, aliased: aliased, end: at})
	case *ast.MappingNode:
		return s.mapping(n.Values, aliased, at)
	case *ast.MappingValueNode:
		return s.mapping([]*ast.MappingValueNode{n}, aliased, at)
	}
	return s.fail(at, CodeSyntax, "this YAML construct means nothing in a plan; write it more plainly")
}

func scalar(k kind, text, written string, asString bool, at place) token {
	if asString {
		return token{kind: kindString, text: written, at: at}
	}
	return token{kind: k, text: text, at: at}
}

// integerText keeps decimal digits as they are written, for ids like 007, and turns
// other notations into decimal.
func integerText(n *ast.IntegerNode) string {
	if text := n.Token.Value; strings.Trim(text, "0123456789") == "" {
		return text
	}
	return fmt.Sprint(n.Value)
}

func (s *yamlSource) push(t token, f yamlFrame) token {
	if len(s.stack) >= maxDepth {
		s.wrong = tooDeep(t.at)
		return token{at: t.at}
	}
	s.stack = append(s.stack, f)
	return t
}

// resolve sees through anchors, aliases and tags, as often as they are stacked.
func (s *yamlSource) resolve(node ast.Node, aliased bool) (_ ast.Node, asString, fromAlias bool) {
	for hops := 0; ; hops++ {
		if hops > maxDepth {
			s.wrong = tooDeep(placeOf(node))
			return node, asString, aliased
		}
		switch n := node.(type) {
		case *ast.AnchorNode:
			s.anchors[nodeText(n.Name)] = n.Value
			node = n.Value
		case *ast.AliasNode:
			name := nodeText(n.Value)
			target, ok := s.anchors[name]
			if !ok {
				s.fail(placeOf(n), CodeSyntax, fmt.Sprintf("unknown alias *%s; an anchor &%s must come before it", name, name))
				return node, asString, aliased
			}
			node, aliased = target, true
		case *ast.TagNode:
			switch tag := n.Start.Value; tag {
			case "!!str":
				asString = true
			case "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq":
			default:
				s.fail(placeOf(n), CodeSyntax, fmt.Sprintf("the tag %s means nothing in a plan; remove it", quote(tag)))
				return node, asString, aliased
			}
			node = n.Value
		default:
			return node, asString, aliased
		}
	}
}

// mapping opens a mapping. Merged mappings (<<) give what the mapping itself does not
// have, the first of them winning.
func (s *yamlSource) mapping(values []*ast.MappingValueNode, aliased bool, at place) token {
	f := yamlFrame{mapping: true, aliased: aliased, end: at, nodes: make([]ast.Node, 0, 2*len(values))}
	var merges []ast.Node
	for _, v := range values {
		if v.Key.IsMergeKey() {
			merges = append(merges, v.Value)
			continue
		}
		f.nodes = append(f.nodes, v.Key, v.Value)
	}
	if len(merges) > 0 {
		own := map[string]bool{}
		for i := 0; i < len(f.nodes); i += 2 {
			if text, ok := keyText(f.nodes[i]); ok {
				own[text] = true
			}
		}
		for _, m := range merges {
			s.merge(&f, own, m, 0)
		}
		if s.wrong != nil {
			return token{at: at}
		}
	}
	return s.push(token{kind: kindObject, at: at}, f)
}

func (s *yamlSource) merge(f *yamlFrame, own map[string]bool, node ast.Node, depth int) {
	at := placeOf(node)
	node, _, aliased := s.resolve(node, f.aliased)
	if s.wrong != nil {
		return
	}
	if s.aliased++; depth > maxDepth || s.aliased > maxAliased {
		s.wrong = tooDeep(at)
		return
	}
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.SequenceNode:
		for _, v := range n.Values {
			s.merge(f, own, v, depth+1)
		}
		return
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		s.fail(at, CodeSyntax, "<< merges mappings; give it an alias of one, or a list of such")
		return
	}
	f.aliased = f.aliased || aliased
	s.aliased += len(values)
	for _, v := range values {
		if v.Key.IsMergeKey() {
			s.merge(f, own, v.Value, depth+1)
		} else if text, ok := keyText(v.Key); !ok || !own[text] {
			own[text] = true
			f.nodes = append(f.nodes, v.Key, v.Value)
		}
	}
}

func nodeText(n ast.Node) string {
	if n == nil || n.GetToken() == nil {
		return ""
	}
	return n.GetToken().Value
}

func (s *yamlSource) skip(t token) {
	if t.kind != kindObject && t.kind != kindArray {
		return
	}
	for inside := len(s.stack); len(s.stack) >= inside; {
		if s.next().kind == kindBad {
			return
		}
	}
}

// raw builds JSON from the tokens; it is bounded by the depth and the aliases allowed.
func (s *yamlSource) raw(t token) json.RawMessage {
	out := s.appendRaw(nil, t)
	if s.wrong != nil {
		return nil
	}
	return out
}

func (s *yamlSource) appendRaw(out []byte, t token) []byte {
	switch t.kind {
	case kindString:
		text, _ := json.Marshal(t.text) // a string cannot fail
		return append(out, text...)
	case kindNumber:
		return append(out, jsonNumber(t.text)...)
	case kindBool, kindNull:
		return append(out, t.text...)
	case kindArray, kindObject:
		brackets := "[]"
		if t.kind == kindObject {
			brackets = "{}"
		}
		out = append(out, brackets[0])
		for n := 0; ; n++ {
			e := s.next()
			if e.kind == kindEnd || e.kind == kindBad {
				return append(out, brackets[1])
			}
			if n > 0 {
				out = append(out, ',')
			}
			out = s.appendRaw(out, e)
			if t.kind == kindObject {
				out = s.appendRaw(append(out, ':'), s.next())
			}
		}
	}
	return out
}

// jsonNumber writes a number as JSON has it: no zeros in front, and null for what JSON
// cannot say.
func jsonNumber(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil, math.IsInf(f, 0), math.IsNaN(f):
		return "null"
	case strings.Trim(text, "0123456789") == "":
		if text = strings.TrimLeft(text, "0"); text == "" {
			return "0"
		}
		return text
	case json.Valid([]byte(text)):
		return text
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func (s *yamlSource) finish()           {}
func (s *yamlSource) problem() *problem { return s.wrong }

// yamlPlace packs a line and a column, in characters, into a place.
func yamlPlace(line, column int) place { return place(line)<<32 | place(column) }

func placeOf(n ast.Node) place {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return -1
	}
	p := n.GetToken().Position
	// A mapping's own token is its first colon; people look for its first key.
	switch m := n.(type) {
	case *ast.MappingNode:
		if !m.IsFlowStyle && len(m.Values) > 0 {
			return placeOf(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return placeOf(m.Key)
	}
	return yamlPlace(p.Line, p.Column)
}

// pos turns a column in characters into one in bytes.
func (s *yamlSource) pos(at place) Pos {
	if at < 0 {
		return Pos{}
	}
	line, column := int(at>>32), int(at&math.MaxUint32)
	begin := s.at.line1(line)
	text := s.src[begin:]
	for n := 1; n < column && text != "" && text[0] != '\n'; n++ {
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
	return Pos{Line: line, Column: len(s.src) - len(text) - begin + 1}
}
