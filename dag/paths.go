package dag

// This file computes longest paths. The caller chooses the unit of the weights (seconds, dollars,
// attempts).

// Remaining returns, for each node, the weight of the heaviest path from it to an end, including
// the node: the least time that the rest takes if the node starts now. A nil weight counts each
// node as 1; a weight that is negative or NaN counts as 0. Remaining calls weight once per node. It
// panics if the graph is cyclic.
func (g *Graph) Remaining(weight func(i int) float64) []float64 {
	g.mustBeAcyclic("remaining paths")
	left := make([]float64, g.nodes)
	for k := len(g.order) - 1; k >= 0; k-- {
		i := int(g.order[k])
		longest := 0.0
		for _, d := range g.Dependents(i) {
			longest = max(longest, left[d])
		}
		left[i] = longest + checkedWeight(weight, i)
	}
	return left
}

// CriticalPath returns the heaviest path from a node without blockers to one without dependents, in
// the order of execution, and its weight. Among equal paths it returns the one with the smallest
// node numbers, compared from the front. Weights are as in Remaining. The path of an empty graph is
// nil. CriticalPath panics if the graph is cyclic.
func (g *Graph) CriticalPath(weight func(i int) float64) (path []int, length float64) {
	left := g.Remaining(weight)
	at := -1
	for i := range g.nodes {
		if len(g.Blockers(i)) == 0 && (at < 0 || left[i] > left[at]) {
			at = i
		}
	}
	if at < 0 {
		return nil, 0
	}
	length = left[at]
	for {
		path = append(path, at)
		next := g.Dependents(at)
		if len(next) == 0 {
			return path, length
		}
		at = int(next[0])
		for _, d := range next[1:] {
			if left[d] > left[at] {
				at = int(d)
			}
		}
	}
}

func checkedWeight(weight func(i int) float64, i int) float64 {
	if weight == nil {
		return 1
	}
	if w := weight(i); w > 0 {
		return w
	}
	return 0
}
