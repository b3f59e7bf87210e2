package dag

// Waves gives each node its wave, from 1: one more than the highest wave among its
// blockers, raised to floor[i] where that is higher. A nil floor raises nothing, and
// neither does an element of 0 or less; any other length than Len panics. total is
// the highest wave, 0 for an empty graph.
//
// A number below total can be without nodes only if the floors leave it out, so that
// a caller who passes ranks 1, 2, 3 that no edge contradicts gets waves without gaps.
//
// Waves panics on a cyclic graph: ask Cycles first.
func (g *Graph) Waves(floor []int) (wave []int, total int) {
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
		w++
		if floor != nil {
			w = max(w, floor[i])
		}
		wave[i] = w
		total = max(total, w)
	}
	return wave, total
}
