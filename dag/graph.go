// Package dag implements the graph of tasks and their blockers: waves, the frontier of tasks that
// may start, critical paths, cycles. It handles only node numbers and edges: no task ids, no files,
// no clock, no money. It imports the standard library alone.
//
// Nodes are 0..Len-1. An edge says that a task waits for a blocker. Both directions are stored as
// flat int32 rows, so a graph of a million nodes needs only a few allocations. Every function is
// linear in nodes and edges unless its comment says otherwise. No function is recursive, so deep
// graphs need no deep stack.
package dag

import "fmt"

// Graph is an immutable graph, safe for concurrent use. Builder.Build returns one. It may contain
// cycles, which Cycles returns.
type Graph struct {
	nodes      int
	blockers   rows // blockers of each node
	dependents rows // dependents of each node
	// order holds every node after all its blockers. In a cyclic graph it lacks the nodes that are
	// on a cycle or wait for one.
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

// Len returns the number of nodes.
func (g *Graph) Len() int { return g.nodes }

// Edges returns the number of different edges, including self-edges.
func (g *Graph) Edges() int { return len(g.blockers.item) }

// Blockers returns the nodes that i waits for directly, ascending. The caller must not modify the
// slice.
func (g *Graph) Blockers(i int) []int32 { return g.blockers.row(i) }

// Dependents returns the nodes that wait for i directly, ascending. The caller must not modify the
// slice.
func (g *Graph) Dependents(i int) []int32 { return g.dependents.row(i) }

// acyclic reports whether every node could be ordered.
func (g *Graph) acyclic() bool { return len(g.order) == g.nodes }

// mustBeAcyclic panics if the graph has a cycle. Callers must check Cycles first, because levels
// and longest paths of a cyclic graph are undefined.
func (g *Graph) mustBeAcyclic(what string) {
	if !g.acyclic() {
		panic(fmt.Sprintf("dag: %s of a cyclic graph (%d of %d nodes are on a cycle or wait for one)",
			what, g.nodes-len(g.order), g.nodes))
	}
}
