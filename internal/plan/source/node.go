package source

// This file holds a value as a tree with positions. Importers read a JSON or YAML file as a tree,
// and their output is a tree that the decoder reads like any plan. It knows no format and no field.

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// Node is one value. The items of an object alternate: name, value.
type Node struct {
	Kind  Kind
	Text  string // of a scalar
	At    Location
	Items []*Node
}

// MaxNodes bounds the values of an imported file: each takes about 100 bytes in a tree.
const MaxNodes = 4 << 20

// Text returns a string.
func Text(s string, at Location) *Node { return &Node{Kind: KindString, Text: s, At: at} }

// Count returns a whole number.
func Count(n int, at Location) *Node {
	return &Node{Kind: KindNumber, Text: strconv.Itoa(n), At: at}
}

// List returns a list of values.
func List(at Location, items ...*Node) *Node { return &Node{Kind: KindArray, At: at, Items: items} }

// Object returns an object without fields.
func Object(at Location) *Node { return &Node{Kind: KindObject, At: at} }

// Set adds a field, unless value is nil.
func (n *Node) Set(name string, value *Node) *Node {
	if value != nil {
		n.Items = append(n.Items, Text(name, value.At), value)
	}
	return n
}

// Get returns the first field of that name, or nil.
func (n *Node) Get(name string) *Node {
	if n == nil || n.Kind != KindObject {
		return nil
	}
	for i := 0; i+1 < len(n.Items); i += 2 {
		if n.Items[i].Text == name {
			return n.Items[i+1]
		}
	}
	return nil
}

// Each calls f for each field of an object. Other values have no fields.
func (n *Node) Each(f func(name, value *Node)) {
	if n == nil || n.Kind != KindObject {
		return
	}
	for i := 0; i+1 < len(n.Items); i += 2 {
		f(n.Items[i], n.Items[i+1])
	}
}

// Elements returns the elements of a list. A scalar or an object counts as a list of one.
func (n *Node) Elements() []*Node {
	switch {
	case n == nil || n.Kind == KindNull:
		return nil
	case n.Kind == KindArray:
		return n.Items
	}
	return []*Node{n}
}

// ReadTree reads the value that t opened. It returns nil if the source broke or is too large.
func ReadTree(s Tokens, t Token, budget *int) *Node {
	if *budget--; *budget < 0 || t.Kind == KindBad {
		return nil
	}
	n := &Node{Kind: t.Kind, Text: t.Text, At: t.At}
	if t.Kind != KindObject && t.Kind != KindArray {
		return n
	}
	for {
		e := s.Next()
		if e.Kind == KindEnd {
			return n
		}
		item := ReadTree(s, e, budget) // the source bounds the depth: maxDepth
		if item == nil {
			return nil
		}
		n.Items = append(n.Items, item)
	}
}

// AppendJSON appends the value as JSON without white space.
func (n *Node) AppendJSON(out []byte) []byte {
	switch n.Kind {
	case KindString:
		text, _ := json.Marshal(n.Text) // encoding a string cannot fail
		return append(out, text...)
	case KindNumber:
		return append(out, jsonNumber(n.Text)...)
	case KindBool, KindNull:
		return append(out, n.Text...)
	}
	brackets := "[]"
	if n.Kind == KindObject {
		brackets = "{}"
	}
	out = append(out, brackets[0])
	for i, item := range n.Items {
		switch {
		case i == 0:
		case n.Kind == KindObject && i%2 == 1:
			out = append(out, ':')
		default:
			out = append(out, ',')
		}
		out = item.AppendJSON(out)
	}
	return append(out, brackets[1])
}

// jsonNumber writes a number in JSON's notation: without leading zeros, and null for values that
// JSON cannot express.
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

// Tree reads a tree as tokens.
type Tree struct {
	Root     *Node
	whole    *Node // the root, once reading began
	stack    []treeFrame
	Position func(Location) Pos // position in the file from which the tree was made
	Failure  *Problem
	broken   *Problem // the failure of a node of KindBad, if the tree has one
}

type treeFrame struct {
	node *Node
	next int
}

// Next implements Tokens.
func (s *Tree) Next() Token {
	if s.Failure != nil {
		return Token{}
	}
	if len(s.stack) == 0 {
		if s.Root == nil {
			return Token{}
		}
		s.whole, s.Root = s.Root, nil
		return s.open(s.whole)
	}
	top := &s.stack[len(s.stack)-1]
	if top.next == len(top.node.Items) {
		at := top.node.At
		s.stack = s.stack[:len(s.stack)-1]
		return Token{Kind: KindEnd, At: at}
	}
	top.next++
	return s.open(top.node.Items[top.next-1])
}

func (s *Tree) open(n *Node) Token {
	switch n.Kind {
	case KindBad:
		s.Failure = s.broken
	case KindObject, KindArray:
		s.stack = append(s.stack, treeFrame{node: n})
	}
	return Token{Kind: n.Kind, Text: n.Text, At: n.At}
}

// Skip implements Tokens.
func (s *Tree) Skip(t Token) {
	if t.Kind != KindObject && t.Kind != KindArray {
		return
	}
	for inside := len(s.stack); len(s.stack) >= inside; {
		if s.Next().Kind == KindBad {
			return
		}
	}
}

// Raw implements Tokens.
func (s *Tree) Raw(t Token) json.RawMessage {
	n := &Node{Kind: t.Kind, Text: t.Text}
	switch t.Kind {
	case KindBad, KindEnd:
		return nil
	case KindObject, KindArray:
		n = s.stack[len(s.stack)-1].node
		if s.Skip(t); s.Failure != nil {
			return nil
		}
	}
	return n.AppendJSON(nil)
}

// Pos implements Tokens.
func (s *Tree) Pos(at Location) Pos { return s.Position(at) }

// Finish implements Tokens.
func (s *Tree) Finish() {}

// Restart implements Tokens.
func (s *Tree) Restart() { s.Root, s.stack = s.whole, nil }

// Problem implements Tokens.
func (s *Tree) Problem() *Problem { return s.Failure }
