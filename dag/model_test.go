package dag

import (
	"slices"

	"pgregory.net/rapid"
)

// refGraph is the graph as a matrix: slow, short, and simple enough to verify by reading. The
// properties compare the real graph with it.
type refGraph struct {
	n     int
	waits [][]bool // waits[task][blocker]
}

func newRefGraph(n int) refGraph {
	m := refGraph{n, make([][]bool, n)}
	for i := range m.waits {
		m.waits[i] = make([]bool, n)
	}
	return m
}

// drawGraph draws edges, with repetitions and in any order, and builds both graphs from them.
// Acyclic ones are relabelled, so that node numbers do not imply an order.
func drawGraph(t *rapid.T, most int, acyclic bool) (*Graph, refGraph) {
	n := rapid.IntRange(0, most).Draw(t, "nodes")
	m := newRefGraph(n)
	var b Builder
	if n > 0 {
		label := rapid.Permutation(upTo(n)).Draw(t, "labels")
		for range rapid.IntRange(0, 3*n).Draw(t, "edges") {
			x := rapid.IntRange(0, n-1).Draw(t, "x")
			y := rapid.IntRange(0, n-1).Draw(t, "y")
			if acyclic {
				if x == y {
					continue
				}
				x, y = label[max(x, y)], label[min(x, y)]
			}
			b.Edge(x, y)
			m.waits[x][y] = true
		}
	}
	return b.Build(n), m
}

func upTo(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func (m refGraph) blockers(i int) []int {
	var s []int
	for j := range m.n {
		if m.waits[i][j] {
			s = append(s, j)
		}
	}
	return s
}

func (m refGraph) dependents(i int) []int {
	var s []int
	for j := range m.n {
		if m.waits[j][i] {
			s = append(s, j)
		}
	}
	return s
}

// closure returns which node waits for which, directly or indirectly (Warshall).
func (m refGraph) closure() [][]bool {
	c := make([][]bool, m.n)
	for i := range c {
		c[i] = slices.Clone(m.waits[i])
	}
	for k := range m.n {
		for i := range m.n {
			for j := range m.n {
				c[i][j] = c[i][j] || c[i][k] && c[k][j]
			}
		}
	}
	return c
}

// cycles tries every simple path. It returns the first of the shortest cycles through the smallest node for each set of
// nodes that wait for each other.
func (m refGraph) cycles() [][]int {
	c := m.closure()
	var found [][]int
	taken := make([]bool, m.n)
	for root := range m.n {
		if taken[root] || !c[root][root] {
			continue
		}
		var best []int
		var walk func(path []int)
		walk = func(path []int) {
			last := path[len(path)-1]
			if m.waits[last][path[0]] && (best == nil || len(path) < len(best) ||
				len(path) == len(best) && slices.Compare(path, best) < 0) {
				best = slices.Clone(path)
			}
			for _, b := range m.blockers(last) {
				if b > path[0] && !slices.Contains(path, b) {
					walk(append(slices.Clone(path), b))
				}
			}
		}
		for i := root; i < m.n; i++ {
			taken[i] = taken[i] || c[root][i] && c[i][root]
		}
		walk([]int{root})
		found = append(found, best)
	}
	slices.SortFunc(found, slices.Compare)
	return found
}

// paths returns every path from i to an end, in the order of execution.
func (m refGraph) paths(i int) [][]int {
	ends := m.dependents(i)
	if len(ends) == 0 {
		return [][]int{{i}}
	}
	var all [][]int
	for _, d := range ends {
		for _, p := range m.paths(d) {
			all = append(all, append([]int{i}, p...))
		}
	}
	return all
}

// ready returns the nodes of a new frontier that may start, ascending.
func (f *Frontier) ready() []int {
	var ready []int
	for i, n := range f.unmet {
		if n == 0 && !f.done[i] {
			ready = append(ready, i)
		}
	}
	return ready
}
