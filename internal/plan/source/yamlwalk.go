package source

// This file reads a YAML tree as tokens. It follows anchors, aliases and merges, and bounds their
// expansion. It knows nothing of plans.

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// maxAliased bounds the tokens that aliases expand to, because a hostile file can grow
// exponentially.
const maxAliased = 1_000_000

// yamlFrame is an open mapping or sequence. A mapping's nodes alternate: name, value.
type yamlFrame struct {
	nodes   []ast.Node
	next    int
	mapping bool
	aliased bool // reached through an alias
	end     Location
}

// Next returns the next token. A value that opens a mapping or a sequence pushes a frame.
func (s *YAML) Next() Token {
	if s.Failure != nil || s.done {
		return Token{}
	}
	if len(s.stack) == 0 {
		if s.root == nil {
			s.done = true
			return Token{}
		}
		root := s.root
		s.root = nil
		return s.value(root, false)
	}
	top := &s.stack[len(s.stack)-1]
	if top.next == len(top.nodes) {
		end := top.end
		s.stack = s.stack[:len(s.stack)-1]
		return Token{Kind: KindEnd, At: end}
	}
	node := top.nodes[top.next]
	top.next++
	if top.mapping && top.next%2 == 1 {
		return s.name(node)
	}
	return s.value(node, top.aliased)
}

func (s *YAML) fail(at Location, code, message string) Token {
	s.Failure = &Problem{at, code, message}
	return Token{At: at}
}

// name returns a key of a mapping; numbers and other scalars count as their text.
func (s *YAML) name(node ast.Node) Token {
	text, ok := keyText(node)
	if !ok {
		return s.fail(locationOf(node), CodeSyntax, "a key must be a plain word")
	}
	return Token{Kind: KindString, Text: text, At: locationOf(node)}
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

// value converts a node to its first token.
func (s *YAML) value(node ast.Node, aliased bool) Token {
	node, asString, aliased := s.resolve(node, aliased)
	if s.Failure != nil {
		return Token{}
	}
	at := locationOf(node)
	if aliased {
		if s.aliased++; s.aliased > maxAliased {
			return s.fail(at, CodeTooLarge, fmt.Sprintf(
				"aliases expand to more than %d values; write the plan with fewer of them", maxAliased))
		}
	}
	switch n := node.(type) {
	case nil, *ast.NullNode:
		if asString {
			return Token{Kind: KindString, At: at}
		}
		return Token{Kind: KindNull, Text: "null", At: at}
	case *ast.StringNode:
		return Token{Kind: KindString, Text: n.Value, At: at}
	case *ast.LiteralNode:
		return Token{Kind: KindString, Text: n.Value.Value, At: at}
	case *ast.BoolNode:
		return scalar(KindBool, strconv.FormatBool(n.Value), n.Token.Value, asString, at)
	case *ast.IntegerNode:
		return scalar(KindNumber, integerText(n), n.Token.Value, asString, at)
	case *ast.FloatNode:
		return scalar(KindNumber, strconv.FormatFloat(n.Value, 'g', -1, 64), n.Token.Value, asString, at)
	case *ast.InfinityNode:
		return scalar(KindNumber, n.Token.Value, n.Token.Value, asString, at)
	case *ast.NanNode:
		return scalar(KindNumber, n.Token.Value, n.Token.Value, asString, at)
	case *ast.SequenceNode:
		return s.push(Token{Kind: KindArray, At: at}, yamlFrame{nodes: n.Values, aliased: aliased, end: at})
	case *ast.MappingNode:
		return s.mapping(n.Values, aliased, at)
	case *ast.MappingValueNode:
		return s.mapping([]*ast.MappingValueNode{n}, aliased, at)
	}
	return s.fail(at, CodeSyntax, "this YAML construct means nothing in a plan; write it more plainly")
}

func scalar(k Kind, text, written string, asString bool, at Location) Token {
	if asString {
		return Token{Kind: KindString, Text: written, At: at}
	}
	return Token{Kind: k, Text: text, At: at}
}

// integerText keeps the spelling of decimal digits, for ids like 007, and converts other notations
// to decimal.
func integerText(n *ast.IntegerNode) string {
	if text := n.Token.Value; strings.Trim(text, "0123456789") == "" {
		return text
	}
	return fmt.Sprint(n.Value)
}

func (s *YAML) push(t Token, f yamlFrame) Token {
	if len(s.stack) >= maxDepth {
		s.Failure = tooDeep(t.At)
		return Token{At: t.At}
	}
	s.stack = append(s.stack, f)
	return t
}

// resolve removes anchors, aliases and tags, however deeply they are stacked.
func (s *YAML) resolve(node ast.Node, aliased bool) (_ ast.Node, asString, fromAlias bool) {
	for hops := 0; ; hops++ {
		if hops > maxDepth {
			s.Failure = tooDeep(locationOf(node))
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
				s.fail(locationOf(n), CodeSyntax, fmt.Sprintf("unknown alias *%s; an anchor &%s must come before it", name, name))
				return node, asString, aliased
			}
			node, aliased = target, true
		case *ast.TagNode:
			switch tag := n.Start.Value; tag {
			case "!!str":
				asString = true
			case "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq":
			default:
				s.fail(locationOf(n), CodeSyntax, fmt.Sprintf("the tag %s means nothing in a plan; remove it", Quote(tag)))
				return node, asString, aliased
			}
			node = n.Value
		default:
			return node, asString, aliased
		}
	}
}

// mapping opens a mapping. Merged mappings (<<) add the keys that the mapping itself does not have;
// the first one takes precedence.
func (s *YAML) mapping(values []*ast.MappingValueNode, aliased bool, at Location) Token {
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
		if s.Failure != nil {
			return Token{At: at}
		}
	}
	return s.push(Token{Kind: KindObject, At: at}, f)
}

func (s *YAML) merge(f *yamlFrame, own map[string]bool, node ast.Node, depth int) {
	at := locationOf(node)
	node, _, aliased := s.resolve(node, f.aliased)
	if s.Failure != nil {
		return
	}
	if s.aliased++; depth > maxDepth || s.aliased > maxAliased {
		s.Failure = tooDeep(at)
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

// Skip implements Tokens.
func (s *YAML) Skip(t Token) {
	if t.Kind != KindObject && t.Kind != KindArray {
		return
	}
	for inside := len(s.stack); len(s.stack) >= inside; {
		if s.Next().Kind == KindBad {
			return
		}
	}
}
