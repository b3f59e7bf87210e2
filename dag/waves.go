package dag

// Waves returns the wave of each node, from 1: one more than the highest wave of its blockers, or
// floor[i] if that is higher. A nil floor, or an element of 0 or less, has no effect; Waves panics
// if floor has another length than Len. total is the highest wave, 0 for an empty graph.
//
// A wave below total has no nodes only if no floor has its number. Floors 1, 2, 3 that no edge
// contradicts therefore give waves without gaps.
//
// Waves panics if the graph is cyclic; check Cycles first.
func (g *Graph) Waves(floor []int) (wave []int, total int) {
	return g.WavesWith(floor, func(int) bool { return false })
}

// WavesWith is as Waves, but a node for which follows reports true is in the highest wave of its blockers, not in the
// next one.
func (g *Graph) WavesWith(floor []int, follows func(int) bool) (wave []int, total int) {
	g.mustBeAcyclic("waves")
	if floor != nil && len(floor) != g.nodes {
		panic("dag: waves: one floor for each node is needed")
	}
	wave = make([]int, g.nodes)
	for _, i := range g.order {
		w := 0
		for _, b := range g.Blockers(int(i)) {
			w = max(w, wave[b])
		}
		if w == 0 || !follows(int(i)) {
			w++
		}
		if floor != nil {
			w = max(w, floor[i])
		}
		wave[i] = w
		total = max(total, w)
	}
	return wave, total
}
