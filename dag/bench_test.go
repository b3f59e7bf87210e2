package dag

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// layered returns a graph like that of a plan: each node waits for some of the few thousand before
// it. Edges are added task by task, blockers in no order, as in a plan file.
func layered(tasks, edges int) *Builder {
	r := rand.New(rand.NewPCG(1, 2))
	b := NewBuilder(edges)
	for k := range edges {
		task := 1 + k*(tasks-1)/edges
		b.Edge(task, task-1-r.IntN(min(task, 5000)))
	}
	return b
}

// scattered returns a graph with the same number of edges between random nodes.
func scattered(tasks, edges int) *Builder {
	r := rand.New(rand.NewPCG(1, 2))
	b := NewBuilder(edges)
	for range edges {
		x, y := r.IntN(tasks), r.IntN(tasks)
		if x != y {
			b.Edge(max(x, y), min(x, y))
		}
	}
	return b
}

// BenchmarkCheck measures the graph operations of checking a plan: build, cycles, waves.
func BenchmarkCheck(b *testing.B) {
	for _, size := range []struct{ tasks, edges int }{{100_000, 500_000}, {1_000_000, 5_000_000}} {
		for _, shape := range []struct {
			name string
			make func(tasks, edges int) *Builder
		}{{"layered", layered}, {"scattered", scattered}} {
			b.Run(fmt.Sprintf("%s/%d/%d", shape.name, size.tasks, size.edges), func(b *testing.B) {
				builder := shape.make(size.tasks, size.edges)
				b.ReportAllocs()
				for b.Loop() {
					g := builder.Build(size.tasks)
					if g.Cycles() != nil {
						b.Fatal("cyclic")
					}
					g.Waves(nil)
				}
			})
		}
	}
}

// BenchmarkRun measures the graph operations of a run: priorities, then every completion.
func BenchmarkRun(b *testing.B) {
	for _, size := range []struct{ tasks, edges int }{{100_000, 500_000}, {1_000_000, 5_000_000}} {
		b.Run(fmt.Sprintf("%d/%d", size.tasks, size.edges), func(b *testing.B) {
			g := layered(size.tasks, size.edges).Build(size.tasks)
			b.ReportAllocs()
			for b.Loop() {
				g.Remaining(nil)
				f := NewFrontier(g)
				open := f.ready()
				for k := 0; k < len(open); k++ {
					open = append(open, f.Complete(open[k])...)
				}
				if len(open) != size.tasks {
					b.Fatal("not drained")
				}
			}
		})
	}
}

// BenchmarkCycles measures an invalid plan that is one large component.
func BenchmarkCycles(b *testing.B) {
	const n = 1_000_000
	r := rand.New(rand.NewPCG(1, 2))
	tangle := NewBuilder(5 * n)
	for i := range n {
		for range 5 {
			tangle.Edge(i, (i+1+r.IntN(50))%n)
		}
	}
	g := tangle.Build(n)
	b.ReportAllocs()
	for b.Loop() {
		if len(g.Cycles()) != 1 {
			b.Fatal("one component expected")
		}
	}
}
