package dag

// This file measures longest paths. What a weight means (seconds, dollars, attempts)
// is the caller's business.

// Remaining gives, for each node, the heaviest path from it to an end, itself
// included: how long the rest takes if it starts now and nothing else is in the way.
// A nil weight counts each node as 1; a weight that is negative or not a number
// counts as 0. Weight is called once a node. Remaining panics on a cyclic graph.
func (g *Graph) Remaining(weight func(i int) float64) []float64 {
	g.mustBeAcyclic("remaining paths")
	left := make([]float64, g.nodes)
	for k := len(g.order) - 1; k >= 0; k-- {
		i := int(g.order[k])
		longest := 0.0
		for _, d := range g.Dependents(i) {
			longest = max(longest, left[d])
		}
		left[i] = longest + weigh(weight, i)
	}
	return left
}

// CriticalPath is the heaviest path, from a node without blockers to one without
// dependents, in the order of execution, and its weight. Among equals the one with
// the smallest node numbers, compared from the front, is taken. Weights are as in
// Remaining. An empty graph has a nil path. CriticalPath panics on a cyclic graph.
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

func weigh(weight func(i int) float64, i int) float64 {
	if weight == nil {
		return 1
	}
	if w := weight(i); w > 0 {
		return w
	}
	return 0
}
