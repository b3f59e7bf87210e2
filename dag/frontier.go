package dag

// This file counts unmet blockers during a run. It does not handle failures; see Descendants.

import "fmt"

// Frontier tracks which nodes may start: a node is ready when all its blockers are completed. It
// keeps only counts. It belongs to one goroutine.
type Frontier struct {
	g     *Graph
	unmet []int32 // unmet blockers
	done  []bool
}

// NewFrontier returns the frontier of a run without completed nodes. Nodes on a cycle, and nodes
// that wait for them, never become ready.
func NewFrontier(g *Graph) *Frontier {
	f := &Frontier{g: g, unmet: make([]int32, g.nodes), done: make([]bool, g.nodes)}
	for i := range f.unmet {
		f.unmet[i] = g.blockers.start[i+1] - g.blockers.start[i]
	}
	return f
}

// Complete marks i as completed and returns the nodes that become ready, ascending. Its cost is the
// number of i's dependents. A node may be completed before its blockers, because a journal may
// contain that after an edit of the plan; Complete then never returns the node as ready. Complete
// panics if i is already completed.
func (f *Frontier) Complete(i int) []int {
	if f.done[i] {
		panic(fmt.Sprintf("dag: node %d is completed twice", i))
	}
	f.done[i] = true
	var ready []int
	for _, d := range f.g.Dependents(i) {
		if f.unmet[d]--; f.unmet[d] == 0 && !f.done[d] {
			ready = append(ready, int(d))
		}
	}
	return ready
}

// UnmetBlockers returns the number of i's blockers that are not completed.
func (f *Frontier) UnmetBlockers(i int) int { return int(f.unmet[i]) }

// Completed reports whether i is completed.
func (f *Frontier) Completed(i int) bool { return f.done[i] }
