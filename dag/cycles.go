package dag

// This file finds cycles. It does not format them.

import "slices"

// Cycles returns a cycle for each strongly connected component that has one, and nil if the graph is
// acyclic: the shortest one through the smallest node, and the lexicographically first among equals. A
// cycle starts at that node and lists each node once; each is blocked by the next, and the last by the
// first. Cycles are sorted by their first node.
func (g *Graph) Cycles() [][]int {
	var cycles [][]int
	var s cycleSearch
	for _, members := range g.components() {
		if s.component == nil {
			s = cycleSearch{g: g, component: make([]int32, g.nodes), parent: make([]int32, g.nodes)}
		}
		if c := s.cycle(members); c != nil {
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
	g         *Graph
	component []int32 // 1 + the smallest node of the component of a node; 0: not known, or reached by the search
	parent    []int32 // the node from which it was reached
	queue     []int32
}

// cycle returns the cycle of one component, or nil if it has none. Rows are ascending, so the first path that reaches a
// node is the lexicographically first of the shortest paths.
func (s *cycleSearch) cycle(members []int32) []int {
	start := members[0]
	for _, m := range members {
		s.component[m] = 1 + start
	}
	s.queue = append(s.queue[:0], start)
	for k := 0; k < len(s.queue); k++ {
		v := s.queue[k]
		for _, b := range s.g.Blockers(int(v)) {
			if b == start {
				return s.trace(start, v)
			}
			if s.component[b] == 1+start {
				s.component[b], s.parent[b] = 0, v
				s.queue = append(s.queue, b)
			}
		}
	}
	return nil
}

// trace returns the path from start to last. It follows the path backwards.
func (s *cycleSearch) trace(start, last int32) []int {
	cycle := []int{int(last)}
	for last != start {
		last = s.parent[last]
		cycle = append(cycle, int(last))
	}
	slices.Reverse(cycle)
	return cycle
}
