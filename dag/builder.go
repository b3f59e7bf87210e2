package dag

// This file builds the sorted rows of a Graph from a list of edges. It does not reject cycles.

import (
	"fmt"
	"math"
)

// maxIndex is the largest node number, and the largest number of edges.
const maxIndex = math.MaxInt32 - 1

// Builder collects edges. The zero value is ready to use. It is not safe for concurrent use.
type Builder struct {
	edges []edge
}

type edge struct{ task, blocker int32 }

// NewBuilder returns a builder with room for a number of edges, 0 or more. The number is a hint.
func NewBuilder(edges int) *Builder { return &Builder{edges: make([]edge, 0, edges)} }

// Builder returns a builder with the edges of the graph.
func (g *Graph) Builder() *Builder {
	b := NewBuilder(g.Edges())
	for i := range g.nodes {
		for _, blocker := range g.Blockers(i) {
			b.Edge(i, int(blocker))
		}
	}
	return b
}

// Edge records that task waits for blocker. Duplicates and any order are allowed. It panics if a
// number is negative or does not fit an int32, which only a bug can cause.
func (b *Builder) Edge(task, blocker int) {
	if uint(task) > maxIndex || uint(blocker) > maxIndex {
		panic(fmt.Sprintf("dag: edge %d -> %d: node numbers are 0..%d", task, blocker, maxIndex))
	}
	b.edges = append(b.edges, edge{int32(task), int32(blocker)})
}

// ReplaceBlockers replaces each blocker from the number first on by its element of with, which begins at first. It
// drops the edges for which that is negative, or the task itself, and calls dropped with their tasks. Callers use it
// for blockers that they could not number when they added the edge.
func (b *Builder) ReplaceBlockers(first int, with []int32, dropped func(task int)) {
	kept := b.edges[:0]
	for _, e := range b.edges {
		if int(e.blocker) >= first {
			e.blocker = with[int(e.blocker)-first]
			if e.blocker < 0 || e.blocker == e.task {
				dropped(int(e.task))
				continue
			}
		}
		kept = append(kept, e)
	}
	b.edges = kept
}

// Build returns the graph of nodes 0..tasks-1. Duplicate edges collapse; a self-edge stays and is a
// cycle of one node. Build panics if an edge has a node that does not exist. The builder keeps its
// edges and can build again.
func (b *Builder) Build(tasks int) *Graph {
	if uint(tasks) > maxIndex || len(b.edges) > maxIndex {
		panic(fmt.Sprintf("dag: %d nodes and %d edges: the limit of each is %d", tasks, len(b.edges), maxIndex))
	}
	g := &Graph{nodes: tasks}
	down := rows{make([]int32, tasks+1), make([]int32, len(b.edges))}
	up := rows{make([]int32, tasks+1), make([]int32, len(b.edges))}

	for _, e := range b.edges {
		if int(e.task) >= tasks || int(e.blocker) >= tasks {
			panic(fmt.Sprintf("dag: edge %d -> %d in a graph of %d nodes", e.task, e.blocker, tasks))
		}
		up.start[e.task+1]++
		down.start[e.blocker+1]++
	}
	accumulate(up.start)
	accumulate(down.start)

	// Bucket by blocker, then walk the buckets in order: each row of up comes out
	// sorted without a comparison.
	at := make([]int32, tasks)
	copy(at, down.start)
	for _, e := range b.edges {
		down.item[at[e.blocker]] = e.task
		at[e.blocker]++
	}
	copy(at, up.start)
	for blocker := range tasks {
		for _, task := range down.row(blocker) {
			up.item[at[task]] = int32(blocker)
			at[task]++
		}
	}
	up.item = dedupe(up)

	// Edges that were added task by task are already sorted in down. Otherwise transpose once more,
	// which sorts them and drops the duplicates.
	if !ascending(down) {
		clear(down.start)
		for _, blocker := range up.item {
			down.start[blocker+1]++
		}
		accumulate(down.start)
		down.item = down.item[:len(up.item)]
		copy(at, down.start)
		for task := range tasks {
			for _, blocker := range up.row(task) {
				down.item[at[blocker]] = int32(task)
				at[blocker]++
			}
		}
	}
	g.blockers, g.dependents = up, down
	g.order = g.sort(at)
	return g
}

// accumulate turns counts, shifted by one, into the starts of rows.
func accumulate(start []int32) {
	for i := 1; i < len(start); i++ {
		start[i] += start[i-1]
	}
}

// dedupe drops repeated neighbours from each row, in place, and returns the remaining items.
func dedupe(r rows) []int32 {
	n, from := int32(0), int32(0)
	for i := range len(r.start) - 1 {
		to := r.start[i+1]
		r.start[i] = n
		for j := from; j < to; j++ {
			if j == from || r.item[j] != r.item[j-1] {
				// n <= j, and n == j only if no item was dropped yet, so the items compared above
				// have not been overwritten.
				r.item[n] = r.item[j]
				n++
			}
		}
		from = to
	}
	r.start[len(r.start)-1] = n
	return r.item[:n:n]
}

// ascending reports whether every row is strictly ascending.
func ascending(r rows) bool {
	for i := range len(r.start) - 1 {
		row := r.row(i)
		for j := 1; j < len(row); j++ {
			if row[j-1] >= row[j] {
				return false
			}
		}
	}
	return true
}

// sort returns the nodes that can be ordered, each after all its blockers (Kahn). left is scratch
// space of one element per node.
func (g *Graph) sort(left []int32) []int32 {
	order := make([]int32, 0, g.nodes)
	for i := range g.nodes {
		left[i] = g.blockers.start[i+1] - g.blockers.start[i]
		if left[i] == 0 {
			order = append(order, int32(i))
		}
	}
	for next := 0; next < len(order); next++ {
		for _, d := range g.dependents.row(int(order[next])) {
			if left[d]--; left[d] == 0 {
				order = append(order, d)
			}
		}
	}
	return order
}
