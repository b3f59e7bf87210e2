package dag

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func ints(s []int32) []int {
	var r []int
	for _, v := range s {
		r = append(r, int(v))
	}
	return r
}

func TestRowsAreTheEdges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, m := drawGraph(t, 12, rapid.Bool().Draw(t, "acyclic"))
		edges := 0
		for i := range m.n {
			if got, want := ints(g.Blockers(i)), m.blockers(i); !slices.Equal(got, want) {
				t.Fatalf("blockers of %d: %v, want %v", i, got, want)
			}
			if got, want := ints(g.Dependents(i)), m.dependents(i); !slices.Equal(got, want) {
				t.Fatalf("dependents of %d: %v, want %v", i, got, want)
			}
			edges += len(m.blockers(i))
		}
		if g.Len() != m.n || g.Edges() != edges {
			t.Fatalf("%d nodes, %d edges, want %d, %d", g.Len(), g.Edges(), m.n, edges)
		}
	})
}

func TestOrderPutsBlockersFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, m := drawGraph(t, 12, false)
		c := m.closure()
		at := make(map[int]int)
		for k, i := range g.order {
			at[int(i)] = k
		}
		for i := range m.n {
			hopeless := c[i][i]
			for j := range m.n {
				hopeless = hopeless || c[i][j] && c[j][j]
			}
			k, ordered := at[i]
			if ordered == hopeless {
				t.Fatalf("node %d: ordered %v, on or behind a cycle %v", i, ordered, hopeless)
			}
			for _, b := range m.blockers(i) {
				if ordered && at[b] >= k {
					t.Fatalf("node %d stands before its blocker %d: %v", i, b, g.order)
				}
			}
		}
	})
}

func TestCyclesAreTheShortest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, m := drawGraph(t, 8, rapid.IntRange(0, 9).Draw(t, "kind") == 0)
		got, want := g.Cycles(), m.cycles()
		if !slices.EqualFunc(got, want, slices.Equal) || (got == nil) != (want == nil) {
			t.Fatalf("cycles %v, want %v", got, want)
		}
	})
}

// TestCyclesAreCycles covers sizes for which the naive search takes too long: every result is a
// cycle, each component has one, and none is longer than the shortest way back to its first node in a
// breadth-first search.
func TestCyclesAreCycles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, m := drawGraph(t, 40, false)
		c := m.closure()
		cycles := g.Cycles()
		covered := make([]bool, m.n)
		for k, cycle := range cycles {
			if cycle[0] != slices.Min(cycle) || k > 0 && cycles[k-1][0] >= cycle[0] {
				t.Fatalf("cycles are not in order: %v", cycles)
			}
			for i, v := range cycle {
				if !m.waits[v][cycle[(i+1)%len(cycle)]] {
					t.Fatalf("no edge from %d in %v", v, cycle)
				}
			}
			if d := m.back(cycle[0]); d != len(cycle) {
				t.Fatalf("%v, but its first node comes back in %d", cycle, d)
			}
			for i := range m.n {
				if i == cycle[0] || c[i][cycle[0]] && c[cycle[0]][i] {
					if covered[i] {
						t.Fatalf("two cycles for the component of %d: %v", i, cycles)
					}
					covered[i] = true
				}
			}
		}
		for i := range m.n {
			if covered[i] != c[i][i] {
				t.Fatalf("node %d: on a cycle %v, reported %v", i, c[i][i], covered[i])
			}
		}
	})
}

// back returns the length of the shortest path from i to itself, computed with sets.
func (m refGraph) back(i int) int {
	now := map[int]bool{i: true}
	for d := 1; d <= m.n; d++ {
		next := map[int]bool{}
		for v := range now {
			for _, b := range m.blockers(v) {
				next[b] = true
			}
		}
		if next[i] {
			return d
		}
		now = next
	}
	return m.n + 1
}

func TestWavesAreLevels(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, m := drawGraph(t, 12, true)
		var floor []int
		if rapid.Bool().Draw(t, "floors") {
			floor = rapid.SliceOfN(rapid.IntRange(-1, 6), m.n, m.n).Draw(t, "floor")
		}
		var level func(i int) int
		level = func(i int) int {
			w := 1
			for _, b := range m.blockers(i) {
				w = max(w, level(b)+1)
			}
			if floor != nil {
				w = max(w, floor[i])
			}
			return w
		}
		wave, total := g.Waves(floor)
		highest := 0
		for i := range m.n {
			if wave[i] != level(i) {
				t.Fatalf("wave of %d is %d, want %d", i, wave[i], level(i))
			}
			highest = max(highest, wave[i])
		}
		if total != highest || len(wave) != m.n {
			t.Fatalf("total %d, want %d", total, highest)
		}
	})
}

func TestPathsAreTheHeaviest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, m := drawGraph(t, 9, true)
		w := rapid.SliceOfN(rapid.IntRange(-2, 5), m.n, m.n).Draw(t, "weights")
		weigh := func(path []int) (sum float64) { // small integers: exact in any order
			for _, i := range path {
				sum += float64(max(w[i], 0))
			}
			return sum
		}
		left := g.Remaining(func(i int) float64 { return float64(w[i]) })
		var best []int
		for i := range m.n {
			heaviest := 0.0
			for _, p := range m.paths(i) {
				heaviest = max(heaviest, weigh(p))
				if len(m.blockers(i)) == 0 && (best == nil || weigh(p) > weigh(best) ||
					weigh(p) == weigh(best) && slices.Compare(p, best) < 0) {
					best = p
				}
			}
			if left[i] != heaviest {
				t.Fatalf("remaining of %d is %v, want %v", i, left[i], heaviest)
			}
		}
		path, length := g.CriticalPath(func(i int) float64 { return float64(w[i]) })
		if !slices.Equal(path, best) || length != weigh(best) {
			t.Fatalf("critical path %v of %v, want %v of %v", path, length, best, weigh(best))
		}
	})
}

func TestDescendantsAreTheClosure(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, m := drawGraph(t, 80, rapid.Bool().Draw(t, "acyclic"))
		c := m.closure()
		for i := range m.n {
			var want []int
			for j := range m.n {
				if j != i && c[j][i] {
					want = append(want, j)
				}
			}
			if got := g.Descendants(i); !slices.Equal(got, want) {
				t.Fatalf("cone of %d: %v, want %v", i, got, want)
			}
		}
		if m.n == 0 {
			return
		}
		of := rapid.SliceOfN(rapid.IntRange(0, m.n-1), 0, 3).Draw(t, "of")
		var want []int
		for j := range m.n {
			if slices.Contains(of, j) || slices.ContainsFunc(of, func(i int) bool { return c[i][j] }) {
				want = append(want, j)
			}
		}
		if got := g.WithBlockers(of...); !slices.Equal(got, want) {
			t.Fatalf("%v with blockers: %v, want %v", of, got, want)
		}
	})
}

func TestFrontierFollowsAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, m := drawGraph(t, 12, rapid.Bool().Draw(t, "acyclic"))
		f := NewFrontier(g)
		done := make([]bool, m.n)
		unmet := func(i int) (n int) {
			for _, b := range m.blockers(i) {
				if !done[b] {
					n++
				}
			}
			return n
		}
		ready := func() (r []int) {
			for i := range m.n {
				if !done[i] && unmet(i) == 0 {
					r = append(r, i)
				}
			}
			return r
		}
		before := ready()
		// Any order: after an edit of the plan, a journal may complete nodes that are blocked.
		for _, i := range rapid.Permutation(upTo(m.n)).Draw(t, "order") {
			if got := f.ready(); !slices.Equal(got, before) {
				t.Fatalf("ready %v, want %v", got, before)
			}
			got := f.Complete(i)
			done[i] = true
			after := ready()
			var want []int
			for _, j := range after {
				if !slices.Contains(before, j) {
					want = append(want, j)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("completing %d made %v ready, want %v", i, got, want)
			}
			for j := range m.n {
				if f.UnmetBlockers(j) != unmet(j) || f.Completed(j) != done[j] {
					t.Fatalf("node %d: blocked %d, want %d", j, f.UnmetBlockers(j), unmet(j))
				}
			}
			before = after
		}
	})
}

// TestFrontierDrains uses a frontier like the scheduler: start the ready nodes, complete them,
// repeat.
func TestFrontierDrains(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, m := drawGraph(t, 20, true)
		f := NewFrontier(g)
		open, seen := f.ready(), 0
		for len(open) > 0 {
			k := rapid.IntRange(0, len(open)-1).Draw(t, "next")
			i := open[k]
			open = slices.Delete(open, k, k+1)
			seen++
			open = append(open, f.Complete(i)...)
		}
		if seen != m.n {
			t.Fatalf("%d of %d nodes were offered", seen, m.n)
		}
	})
}
