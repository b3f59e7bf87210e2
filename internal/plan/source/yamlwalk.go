package source

// This file converts the parser's tree of YAML to nodes. It follows anchors, aliases and merges, and
// bounds their expansion. It knows nothing of plans.

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// maxAliased bounds the tokens that aliases expand to, because a hostile file can grow
// exponentially.
const maxAliased = 1_000_000

// maxCopied bounds the texts that aliases expand to, in bytes.
const maxCopied = 64 << 20

// yamlConverter converts one file. A part that cannot be converted becomes a node of KindBad, and
// nothing behind it is converted.
type yamlConverter struct {
	anchors map[string]ast.Node
	copied  int // bytes of texts that aliases expanded to
	aliased int // nodes that aliases expanded to
	failure *Problem
}

func (c *yamlConverter) fail(at Location, code, message string) *Node {
	if c.failure == nil {
		c.failure = &Problem{at, code, message}
	}
	return &Node{At: at}
}

// name converts a key of a mapping; numbers and other scalars count as their text.
func (c *yamlConverter) name(node ast.Node) *Node {
	text, ok := keyText(node)
	if !ok {
		return c.fail(locationOf(node), CodeSyntax, "a key must be a plain word")
	}
	return Text(text, locationOf(node))
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

// value converts a node inside depth mappings and sequences.
func (c *yamlConverter) value(node ast.Node, aliased bool, depth int) *Node {
	node, asString, aliased := c.resolve(node, aliased)
	if c.failure != nil {
		return &Node{}
	}
	at := locationOf(node)
	if aliased {
		if c.aliased++; c.aliased > maxAliased {
			return c.fail(at, CodeTooLarge, fmt.Sprintf(
				"aliases expand to more than %d values; write the plan with fewer of them", maxAliased))
		}
	}
	switch n := node.(type) {
	case nil, *ast.NullNode:
		if asString {
			return Text("", at)
		}
		return &Node{Kind: KindNull, Text: "null", At: at}
	case *ast.StringNode:
		return c.text(n.Value, at, aliased)
	case *ast.LiteralNode:
		return c.text(n.Value.Value, at, aliased)
	case *ast.BoolNode:
		return scalar(KindBool, strconv.FormatBool(n.Value), n, asString)
	case *ast.IntegerNode:
		return scalar(KindNumber, integerText(n), n, asString)
	case *ast.FloatNode:
		return scalar(KindNumber, strconv.FormatFloat(n.Value, 'g', -1, 64), n, asString)
	case *ast.InfinityNode, *ast.NanNode:
		return scalar(KindNumber, n.GetToken().Value, n, asString)
	case *ast.SequenceNode:
		return c.items(&Node{Kind: KindArray, At: at}, n.Values, aliased, depth)
	case *ast.MappingNode:
		return c.mapping(n.Values, aliased, at, depth)
	case *ast.MappingValueNode:
		return c.mapping([]*ast.MappingValueNode{n}, aliased, at, depth)
	}
	return c.fail(at, CodeSyntax, "this YAML construct means nothing in a plan; write it more plainly")
}

// text converts a text. Its copies may need room.
func (c *yamlConverter) text(text string, at Location, aliased bool) *Node {
	if aliased {
		c.copied += len(text)
	}
	if c.copied > maxCopied {
		return c.fail(at, CodeTooLarge, fmt.Sprintf("aliases expand to texts of more than %d MB; write the plan with fewer "+
			"of them", maxCopied>>20))
	}
	return Text(text, at)
}

// scalar returns a boolean or a number, or its spelling in the file as a string.
func scalar(k Kind, text string, node ast.Node, asString bool) *Node {
	if asString {
		return Text(node.GetToken().Value, locationOf(node))
	}
	return &Node{Kind: k, Text: text, At: locationOf(node)}
}

// items converts the content of a list, or of a mapping, whose nodes alternate: name, value.
func (c *yamlConverter) items(n *Node, nodes []ast.Node, aliased bool, depth int) *Node {
	if depth >= maxDepth {
		c.failure = tooDeep(n.At)
		return &Node{At: n.At}
	}
	n.Items = make([]*Node, 0, len(nodes))
	for i := 0; i < len(nodes) && c.failure == nil; i++ {
		if n.Kind == KindObject && i%2 == 0 {
			n.Items = append(n.Items, c.name(nodes[i]))
		} else {
			n.Items = append(n.Items, c.value(nodes[i], aliased, depth+1))
		}
	}
	return n
}

// integerText keeps the spelling of decimal digits, for ids like 007, and converts other notations
// to decimal.
func integerText(n *ast.IntegerNode) string {
	if text := n.Token.Value; strings.Trim(text, "0123456789") == "" {
		return text
	}
	return fmt.Sprint(n.Value)
}

// resolve removes anchors, aliases and tags, however deeply they are stacked.
func (c *yamlConverter) resolve(node ast.Node, aliased bool) (_ ast.Node, asString, fromAlias bool) {
	for hops := 0; ; hops++ {
		if hops > maxDepth {
			c.failure = tooDeep(locationOf(node))
			return node, asString, aliased
		}
		switch n := node.(type) {
		case *ast.AnchorNode:
			c.anchors[nodeText(n.Name)] = n.Value
			node = n.Value
		case *ast.AliasNode:
			name := nodeText(n.Value)
			target, ok := c.anchors[name]
			if !ok {
				c.fail(locationOf(n), CodeSyntax, fmt.Sprintf("unknown alias *%s; an anchor &%s must come before it", name, name))
				return node, asString, aliased
			}
			node, aliased = target, true
		case *ast.TagNode:
			switch tag := n.Start.Value; tag {
			case "!!str":
				asString = true
			case "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq":
			default:
				c.fail(locationOf(n), CodeSyntax, fmt.Sprintf("the tag %s means nothing in a plan; remove it", Quote(tag)))
				return node, asString, aliased
			}
			node = n.Value
		default:
			return node, asString, aliased
		}
	}
}

// mapping converts a mapping. Merged mappings (<<) add the keys that the mapping itself does not have;
// the first one takes precedence.
func (c *yamlConverter) mapping(values []*ast.MappingValueNode, aliased bool, at Location, depth int) *Node {
	m := merged{nodes: make([]ast.Node, 0, 2*len(values)), aliased: aliased, own: map[string]bool{}}
	var merges []ast.Node
	for _, v := range values {
		if v.Key.IsMergeKey() {
			merges = append(merges, v.Value)
		} else {
			m.nodes = append(m.nodes, v.Key, v.Value)
		}
	}
	for i := 0; i < len(m.nodes) && len(merges) > 0; i += 2 {
		if text, ok := keyText(m.nodes[i]); ok {
			m.own[text] = true
		}
	}
	for _, node := range merges {
		c.merge(&m, node, 0)
	}
	if c.failure != nil {
		return &Node{At: at}
	}
	return c.items(&Node{Kind: KindObject, At: at}, m.nodes, m.aliased, depth)
}

// merged is a mapping with those that are merged into it.
type merged struct {
	nodes   []ast.Node // name, value
	own     map[string]bool
	aliased bool // reached through an alias
}

func (c *yamlConverter) merge(m *merged, node ast.Node, depth int) {
	at := locationOf(node)
	node, _, aliased := c.resolve(node, m.aliased)
	if c.failure != nil {
		return
	}
	if c.aliased++; depth > maxDepth || c.aliased > maxAliased {
		c.failure = tooDeep(at)
		return
	}
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.SequenceNode:
		for _, v := range n.Values {
			c.merge(m, v, depth+1)
		}
		return
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		c.fail(at, CodeSyntax, "<< merges mappings; give it an alias of one, or a list of such")
		return
	}
	m.aliased = m.aliased || aliased
	c.aliased += len(values)
	for _, v := range values {
		if v.Key.IsMergeKey() {
			c.merge(m, v.Value, depth+1)
		} else if text, ok := keyText(v.Key); !ok || !m.own[text] {
			m.own[text] = true
			m.nodes = append(m.nodes, v.Key, v.Value)
		}
	}
}

func nodeText(n ast.Node) string {
	if n == nil || n.GetToken() == nil {
		return ""
	}
	return n.GetToken().Value
}
