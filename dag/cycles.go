package dag

// This file finds cycles. It does not format them.

import "slices"

// maxSearchWork bounds the number of edges that Cycles visits to find shorter cycles in the whole
// graph, which takes a few tenths of a second. A graph is searched completely if the sum of nodes
// times edges over its components is less.
const maxSearchWork = 1 << 25

// Cycles returns one shortest cycle for each strongly connected component that has one, and nil if
// the graph is acyclic. A cycle lists each node once; each is blocked by the next, and the last by
// the first. It starts at its smallest node. Among several shortest cycles Cycles returns the
// lexicographically first one. Cycles are sorted by their first node.
//
// The search is exact until it has visited 2^25 edges. Components of a few thousand edges never
// reach that bound, nor do large ones that fall apart when a few nodes are removed. Beyond the
// bound, each component still gets its shortest cycle through the nodes searched so far, at least
// through its smallest node.
func (g *Graph) Cycles() [][]int {
	s := newCycleSearch(g)
	var cycles [][]int
	for _, members := range g.components() {
		if c := s.shortest(members); c != nil {
			cycles = append(cycles, c)
		}
	}
	slices.SortFunc(cycles, func(a, b []int) int { return a[0] - b[0] })
	return cycles
}

// components returns the strongly connected components among the nodes that could not be ordered,
// each ascending, including single nodes (Tarjan, with an explicit stack).
func (g *Graph) components() [][]int32 {
	const done = int32(-1)
	num := make([]int32, g.nodes) // 0: not seen; done: in a component, or ordered
	for _, i := range g.order {
		num[i] = done
	}
	low := make([]int32, g.nodes)
	next := make([]int32, g.nodes) // the next edge to visit, in up.item
	var path, open []int32         // the walk; nodes whose component is not known yet
	var comps [][]int32
	members := make([]int32, 0, g.nodes-len(g.order))
	count := int32(0)
	enter := func(v int32) {
		count++
		num[v], low[v], next[v] = count, count, g.blockers.start[v]
		path, open = append(path, v), append(open, v)
	}
	for root := range g.nodes {
		if num[root] != 0 {
			continue
		}
		enter(int32(root))
		for len(path) > 0 {
			v := path[len(path)-1]
			if next[v] < g.blockers.start[v+1] {
				w := g.blockers.item[next[v]]
				next[v]++
				switch {
				case num[w] == 0:
					enter(w)
				case num[w] != done:
					low[v] = min(low[v], num[w])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				u := path[len(path)-1]
				low[u] = min(low[u], low[v])
			}
			if low[v] != num[v] {
				continue
			}
			from := len(members)
			for {
				w := open[len(open)-1]
				open = open[:len(open)-1]
				num[w] = done
				members = append(members, w)
				if w == v {
					break
				}
			}
			comp := members[from:len(members):len(members)]
			slices.Sort(comp)
			comps = append(comps, comp)
		}
	}
	return comps
}

// cycleSearch holds the state that the searches of all components share.
type cycleSearch struct {
	g      *Graph
	alive  []bool  // in the current component, and possibly on a remaining cycle
	left   []int32 // number of blockers that are alive
	seen   []int32 // 1 + the start of the search that last reached the node
	parent []int32 // the node from which it was reached
	queue  []int32
	work   int // number of visited edges
	bound  int // bound of work, after which no other start is tried
}

func newCycleSearch(g *Graph) *cycleSearch {
	return &cycleSearch{g: g, alive: make([]bool, g.nodes), left: make([]int32, g.nodes),
		seen: make([]int32, g.nodes), parent: make([]int32, g.nodes), bound: maxSearchWork}
}

// shortest returns the shortest cycle of one component, or nil if it has none. It tries the members
// in ascending order. After each try it removes the member, with all nodes that lose their last
// blocker by that. A cycle is therefore found from its smallest node only, and a component that a
// few nodes hold together is soon exhausted.
func (s *cycleSearch) shortest(members []int32) []int {
	for _, m := range members {
		s.alive[m] = true
	}
	defer func() {
		for _, v := range members {
			s.alive[v] = false
		}
	}()
	for _, m := range members {
		for _, b := range s.g.Blockers(int(m)) {
			if b == m {
				return []int{int(m)}
			}
			if s.alive[b] {
				s.left[m]++
			}
		}
	}
	var best []int
	for k, m := range members {
		if k > 0 && s.work >= s.bound || len(best) == 2 {
			break
		}
		if !s.alive[m] {
			continue
		}
		if c := s.through(m, len(best)); c != nil {
			best = c
		}
		s.remove(m)
	}
	return best
}

// through returns the shortest cycle from start over nodes that are alive, shorter than limit
// unless limit is 0, or nil. Rows are ascending, so the first path that reaches a node is the
// lexicographically first of the shortest paths.
func (s *cycleSearch) through(start int32, limit int) []int {
	s.queue = append(s.queue[:0], start)
	length, layer := 1, 1 // nodes of a cycle closed now; where the current layer ends
	for k := 0; k < len(s.queue); k++ {
		if k == layer {
			length, layer = length+1, len(s.queue)
		}
		if limit != 0 && length >= limit {
			return nil
		}
		v := s.queue[k]
		row := s.g.Blockers(int(v))
		s.work += len(row)
		for _, b := range row {
			if b == start {
				return s.trace(v, length)
			}
			if s.alive[b] && s.seen[b] != start+1 {
				s.seen[b], s.parent[b] = start+1, v
				s.queue = append(s.queue, b)
			}
		}
	}
	return nil
}

// trace returns the path of a number of nodes that ends at last. It follows the path backwards.
func (s *cycleSearch) trace(last int32, length int) []int {
	cycle := make([]int, length)
	for i := length - 1; i >= 0; i-- {
		cycle[i] = int(last)
		last = s.parent[last]
	}
	return cycle
}

// remove removes a node, and all nodes that are on no cycle without it.
func (s *cycleSearch) remove(m int32) {
	s.alive[m] = false
	s.queue = append(s.queue[:0], m)
	for k := 0; k < len(s.queue); k++ {
		for _, d := range s.g.Dependents(int(s.queue[k])) {
			if !s.alive[d] {
				continue
			}
			if s.left[d]--; s.left[d] == 0 {
				s.alive[d] = false
				s.queue = append(s.queue, d)
			}
		}
	}
}
