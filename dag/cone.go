package dag

import "math/bits"

// Descendants returns the nodes that wait for i, directly or indirectly, ascending and without i itself,
// even if i is on a cycle. These nodes cannot run after i has failed.
func (g *Graph) Descendants(i int) []int {
	seen := cone(g.dependents, i)
	seen.remove(i)
	return seen.list()
}

// WithBlockers returns the given nodes and those that they wait for, directly or indirectly, ascending.
func (g *Graph) WithBlockers(of ...int) []int { return cone(g.blockers, of...).list() }

// cone returns the nodes that can be reached from the given ones, which are in it, along the rows.
func cone(along rows, from ...int) nodeSet {
	seen := make(nodeSet, (len(along.start)+62)/64)
	var todo []int32
	for _, i := range from {
		if seen.add(i) {
			todo = append(todo, int32(i))
		}
	}
	for len(todo) > 0 {
		last := len(todo) - 1
		n := int(todo[last])
		todo = todo[:last]
		for _, d := range along.row(n) {
			if seen.add(int(d)) {
				todo = append(todo, d)
			}
		}
	}
	return seen
}

// nodeSet is a set of nodes, one bit for each.
type nodeSet []uint64

// add reports whether n was not in the set yet.
func (s nodeSet) add(n int) bool {
	word, bit := &s[n>>6], uint64(1)<<(n&63)
	fresh := *word&bit == 0
	*word |= bit
	return fresh
}

func (s nodeSet) remove(n int) { s[n>>6] &^= uint64(1) << (n & 63) }

// list returns the nodes, ascending.
func (s nodeSet) list() []int {
	var nodes []int
	for w, word := range s {
		for ; word != 0; word &= word - 1 {
			nodes = append(nodes, w<<6+bits.TrailingZeros64(word))
		}
	}
	return nodes
}
