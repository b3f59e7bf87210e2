// Package dag is the graph of what blocks what: waves, the frontier of what may
// start, critical paths, cycles. It knows node numbers and edges only: no task ids,
// no files, no clock, no money. It imports the standard library alone.
//
// Nodes are 0..Len-1. An edge says that a task waits for a blocker. Both directions
// are kept as flat int32 rows, so a graph of a million nodes is a handful of
// allocations, and every function is linear in nodes and edges unless it says
// otherwise. Nothing recurses: depth is data, not stack.
package dag

import "fmt"

// Graph is immutable and safe for concurrent use. A Builder makes it; it may
// contain cycles, which Cycles reports.
type Graph struct {
	nodes int
	up    rows // blockers of each node
	down  rows // dependents of each node
	// order holds every node after all its blockers. It is shorter than nodes when
	// the graph is cyclic: what is missing is on a cycle or waits for one.
	order []int32
}

// rows is a list of int32 lists laid end to end: row i is item[start[i]:start[i+1]].
type rows struct {
	start []int32
	item  []int32
}

func (r rows) row(i int) []int32 {
	from, to := r.start[i], r.start[i+1]
	return r.item[from:to:to]
}

// Len is the number of nodes.
func (g *Graph) Len() int { return g.nodes }

// Edges is the number of different edges, self-edges included.
func (g *Graph) Edges() int { return len(g.up.item) }

// Blockers are the nodes that i waits for directly, ascending. The slice belongs to
// the graph and must not be modified.
func (g *Graph) Blockers(i int) []int32 { return g.up.row(i) }

// Dependents are the nodes that wait for i directly, ascending. The slice belongs
// to the graph and must not be modified.
func (g *Graph) Dependents(i int) []int32 { return g.down.row(i) }

// acyclic tells whether every node could be ordered.
func (g *Graph) acyclic() bool { return len(g.order) == g.nodes }

// mustBeAcyclic panics when the graph has a cycle: callers ask Cycles first, and
// levels or longest paths of a cyclic graph mean nothing.
func (g *Graph) mustBeAcyclic(what string) {
	if !g.acyclic() {
		panic(fmt.Sprintf("dag: %s of a cyclic graph (%d of %d nodes are on a cycle or wait for one)",
			what, g.nodes-len(g.order), g.nodes))
	}
}
