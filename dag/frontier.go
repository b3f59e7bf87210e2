package dag

// This file counts unmet blockers while a run goes on. It keeps numbers only: what a
// node's failure means is the scheduler's business, and Cone's.

import "fmt"

// Frontier tells what may start: a node is ready once all its blockers are completed.
// It counts; it never looks at a node's blockers again. It belongs to one goroutine.
type Frontier struct {
	g    *Graph
	left []int32 // unmet blockers
	done []bool
}

// NewFrontier returns the frontier of a run in which nothing is completed. Nodes on
// a cycle, and what waits for them, never become ready.
func NewFrontier(g *Graph) *Frontier {
	f := &Frontier{g: g, left: make([]int32, g.nodes), done: make([]bool, g.nodes)}
	for i := range f.left {
		f.left[i] = g.up.start[i+1] - g.up.start[i]
	}
	return f
}

// Ready returns the nodes that are not completed and have no unmet blockers,
// ascending. It looks at every node and is meant for the beginning of a run or of a
// resumed one; from then on Complete tells what becomes ready.
func (f *Frontier) Ready() []int {
	var ready []int
	for i, n := range f.left {
		if n == 0 && !f.done[i] {
			ready = append(ready, i)
		}
	}
	return ready
}

// Complete marks i as completed and returns the nodes that became ready by it,
// ascending; the cost is the number of i's dependents. Completing a node while it
// still has unmet blockers is allowed, since a journal may hold such a thing after a
// plan was edited: the node is then never announced as ready. Completing a node twice
// would count it twice, and panics.
func (f *Frontier) Complete(i int) []int {
	if f.done[i] {
		panic(fmt.Sprintf("dag: node %d is completed twice", i))
	}
	f.done[i] = true
	var ready []int
	for _, d := range f.g.Dependents(i) {
		if f.left[d]--; f.left[d] == 0 && !f.done[d] {
			ready = append(ready, int(d))
		}
	}
	return ready
}

// Blocked is how many of i's blockers are not completed.
func (f *Frontier) Blocked(i int) int { return int(f.left[i]) }

// Completed tells whether i is completed.
func (f *Frontier) Completed(i int) bool { return f.done[i] }
