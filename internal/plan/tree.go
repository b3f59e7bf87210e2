package plan

// This file holds a value as a tree with places: what importers read, when the file is
// JSON or YAML, and what they make, for the decoder to read like any plan. It knows no
// format and no field.

import (
	"encoding/json"
	"strconv"
)

// node is one value. An object's items alternate: name, value.
type node struct {
	kind  kind
	text  string // of a scalar
	at    place
	items []*node
}

// maxNodes bounds the values of an imported file: a tree takes about 100 bytes for each.
const maxNodes = 4 << 20

func textNode(s string, at place) *node { return &node{kind: kindString, text: s, at: at} }

func countNode(n int, at place) *node {
	return &node{kind: kindNumber, text: strconv.Itoa(n), at: at}
}

func listNode(at place, items ...*node) *node { return &node{kind: kindArray, at: at, items: items} }

func objectNode(at place) *node { return &node{kind: kindObject, at: at} }

// set adds a field; a nil value adds none.
func (n *node) set(name string, value *node) *node {
	if value != nil {
		n.items = append(n.items, textNode(name, value.at), value)
	}
	return n
}

// get is the first field of that name, or nil.
func (n *node) get(name string) *node {
	if n == nil || n.kind != kindObject {
		return nil
	}
	for i := 0; i+1 < len(n.items); i += 2 {
		if n.items[i].text == name {
			return n.items[i+1]
		}
	}
	return nil
}

// each goes through the fields of an object; of others there are none.
func (n *node) each(f func(name, value *node)) {
	if n == nil || n.kind != kindObject {
		return
	}
	for i := 0; i+1 < len(n.items); i += 2 {
		f(n.items[i], n.items[i+1])
	}
}

// elements are those of a list; a scalar or an object counts as a list of one.
func (n *node) elements() []*node {
	switch {
	case n == nil || n.kind == kindNull:
		return nil
	case n.kind == kindArray:
		return n.items
	}
	return []*node{n}
}

// readTree reads the value that t opened; nil when the source broke or is too large.
func readTree(s tokens, t token, budget *int) *node {
	if *budget--; *budget < 0 || t.kind == kindBad {
		return nil
	}
	n := &node{kind: t.kind, text: t.text, at: t.at}
	if t.kind != kindObject && t.kind != kindArray {
		return n
	}
	for {
		e := s.next()
		if e.kind == kindEnd {
			return n
		}
		item := readTree(s, e, budget) // as deep as the source allows: maxDepth
		if item == nil {
			return nil
		}
		n.items = append(n.items, item)
	}
}

// appendJSON writes the value without any space.
func (n *node) appendJSON(out []byte) []byte {
	switch n.kind {
	case kindString:
		text, _ := json.Marshal(n.text) // a string cannot fail
		return append(out, text...)
	case kindNumber:
		return append(out, jsonNumber(n.text)...)
	case kindBool, kindNull:
		return append(out, n.text...)
	}
	brackets := "[]"
	if n.kind == kindObject {
		brackets = "{}"
	}
	out = append(out, brackets[0])
	for i, item := range n.items {
		switch {
		case i == 0:
		case n.kind == kindObject && i%2 == 1:
			out = append(out, ':')
		default:
			out = append(out, ',')
		}
		out = item.appendJSON(out)
	}
	return append(out, brackets[1])
}

// treeSource gives a tree as tokens.
type treeSource struct {
	root  *node
	stack []treeFrame
	where func(place) Pos // in the file the tree was made from
	wrong *problem
}

type treeFrame struct {
	of   *node
	next int
}

func (s *treeSource) next() token {
	if s.wrong != nil {
		return token{}
	}
	if len(s.stack) == 0 {
		if s.root == nil {
			return token{}
		}
		root := s.root
		s.root = nil
		return s.open(root)
	}
	top := &s.stack[len(s.stack)-1]
	if top.next == len(top.of.items) {
		at := top.of.at
		s.stack = s.stack[:len(s.stack)-1]
		return token{kind: kindEnd, at: at}
	}
	top.next++
	return s.open(top.of.items[top.next-1])
}

func (s *treeSource) open(n *node) token {
	if n.kind == kindObject || n.kind == kindArray {
		s.stack = append(s.stack, treeFrame{of: n})
	}
	return token{kind: n.kind, text: n.text, at: n.at}
}

func (s *treeSource) skip(t token) {
	if t.kind == kindObject || t.kind == kindArray {
		s.stack = s.stack[:len(s.stack)-1]
	}
}

func (s *treeSource) raw(t token) json.RawMessage {
	switch t.kind {
	case kindBad, kindEnd:
		return nil
	case kindObject, kindArray:
		n := s.stack[len(s.stack)-1].of
		s.skip(t)
		return n.appendJSON(nil)
	}
	return (&node{kind: t.kind, text: t.text}).appendJSON(nil)
}

func (s *treeSource) pos(at place) Pos  { return s.where(at) }
func (s *treeSource) finish()           {}
func (s *treeSource) problem() *problem { return s.wrong }
