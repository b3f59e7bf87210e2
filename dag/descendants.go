package dag

import "math/bits"

// Descendants returns the nodes that wait for i, directly or indirectly, ascending and without i itself,
// even if i is on a cycle. These nodes cannot run after i has failed.
func (g *Graph) Descendants(i int) []int {
	seen := make([]uint64, (g.nodes+63)/64)
	mark := func(n int32) bool {
		word, bit := &seen[n>>6], uint64(1)<<(n&63)
		fresh := *word&bit == 0
		*word |= bit
		return fresh
	}
	mark(int32(i))
	todo := []int32{int32(i)}
	for len(todo) > 0 {
		last := len(todo) - 1
		n := int(todo[last])
		todo = todo[:last]
		for _, d := range g.Dependents(n) {
			if mark(d) {
				todo = append(todo, d)
			}
		}
	}
	seen[i>>6] &^= uint64(1) << (i & 63)
	var cone []int
	for w, word := range seen {
		for ; word != 0; word &= word - 1 {
			cone = append(cone, w<<6+bits.TrailingZeros64(word))
		}
	}
	return cone
}
