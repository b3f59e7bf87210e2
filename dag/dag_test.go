package dag

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// graph returns the graph of pairs of task and blocker.
func graph(n int, edges ...[2]int) *Graph {
	b := NewBuilder(len(edges))
	for _, e := range edges {
		b.Edge(e[0], e[1])
	}
	return b.Build(n)
}

func TestCycles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		g    *Graph
		want string
	}{
		{"empty", graph(0), "[]"},
		{"no edges", graph(3), "[]"},
		{"diamond", graph(4, [2]int{1, 0}, [2]int{2, 0}, [2]int{3, 1}, [2]int{3, 2}), "[]"},
		{"self", graph(2, [2]int{1, 1}), "[[1]]"},
		{"through the smallest node", graph(3, [2]int{0, 1}, [2]int{1, 0}, [2]int{1, 1}), "[[0 1]]"},
		{"pair, said twice", graph(2, [2]int{0, 1}, [2]int{1, 0}, [2]int{0, 1}), "[[0 1]]"},
		{"direction: each waits for the next", graph(3, [2]int{0, 2}, [2]int{2, 1}, [2]int{1, 0}), "[[0 2 1]]"},
		{"ring with a short one inside", graph(5, [2]int{0, 1}, [2]int{1, 2}, [2]int{2, 3}, [2]int{3, 4}, [2]int{4, 0},
			[2]int{3, 2}), "[[0 1 2 3 4]]"},
		{"two components, one waiting for the other", graph(6, [2]int{4, 5}, [2]int{5, 4}, [2]int{4, 2}, [2]int{1, 2},
			[2]int{2, 1}, [2]int{0, 1}), "[[1 2] [4 5]]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := fmt.Sprint(c.g.Cycles()); got != c.want {
				t.Errorf("cycles %s, want %s", got, c.want)
			}
		})
	}
}

// One edge back over a large layered plan makes one large component. The search takes no recursion.
func TestCyclesOfOneEdgeBack(t *testing.T) {
	t.Parallel()
	const n = 300_000
	b := NewBuilder(2 * n)
	for i := range n - 1 {
		b.Edge(i, i+1)
	}
	b.Edge(n-1001, 0)
	b.Edge(0, n-1501)
	cycles := b.Build(n).Cycles()
	if len(cycles) != 1 || len(cycles[0]) != 502 || cycles[0][0] != 0 || cycles[0][1] != n-1501 {
		t.Errorf("%d cycles, the first of %d nodes", len(cycles), len(cycles[0]))
	}
}

func TestWaves(t *testing.T) {
	t.Parallel()
	g := graph(4, [2]int{1, 0}, [2]int{2, 1}, [2]int{2, 0})
	for _, c := range []struct {
		name  string
		floor []int
		want  string
	}{
		{"levels", nil, "[1 2 3 1] 3"},
		{"a floor of nothing", []int{0, -3, 1, 0}, "[1 2 3 1] 3"},
		{"a floor pushes what waits", []int{2, 0, 0, 0}, "[2 3 4 1] 4"},
		{"a floor never lowers", []int{1, 1, 1, 1}, "[1 2 3 1] 3"},
		{"a gap where the floors leave one", []int{0, 0, 0, 9}, "[1 2 3 9] 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wave, total := g.Waves(c.floor)
			if got := fmt.Sprint(wave, total); got != c.want {
				t.Errorf("waves %s, want %s", got, c.want)
			}
		})
	}
	if wave, total := graph(0).Waves(nil); len(wave) != 0 || total != 0 {
		t.Errorf("waves of nothing: %v, %d", wave, total)
	}
}

func TestCriticalPath(t *testing.T) {
	t.Parallel()
	// 0 <- 1 <- 3, 0 <- 2 <- 3, 4 alone
	g := graph(5, [2]int{1, 0}, [2]int{2, 0}, [2]int{3, 1}, [2]int{3, 2})
	table := func(w ...float64) func(int) float64 { return func(i int) float64 { return w[i] } }
	for _, c := range []struct {
		name   string
		weight func(int) float64
		want   string
	}{
		{"each 1, the smaller among equals", nil, "[0 1 3] 3"},
		{"weights", table(1, 1, 5, 1, 2), "[0 2 3] 7"},
		{"a heavy node alone", table(1, 1, 5, 1, 20), "[4] 20"},
		{"nothing weighs anything", table(0, 0, 0, 0, 0), "[0 1 3] 0"},
		{"what is no weight counts as 0", table(math.NaN(), -7, 1, 1, 1), "[0 2 3] 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path, length := g.CriticalPath(c.weight)
			if got := fmt.Sprint(path, length); got != c.want {
				t.Errorf("critical path %s, want %s", got, c.want)
			}
		})
	}
	if path, length := graph(0).CriticalPath(nil); path != nil || length != 0 {
		t.Errorf("critical path of nothing: %v, %v", path, length)
	}
}

func TestBuilderBuildsAgain(t *testing.T) {
	t.Parallel()
	var b Builder
	b.Edge(1, 0)
	first := b.Build(2)
	b.Edge(2, 1)
	second := b.Build(3)
	if first.Len() != 2 || first.Edges() != 1 || len(first.Dependents(1)) != 0 {
		t.Errorf("the first graph changed: %d nodes, %d edges", first.Len(), first.Edges())
	}
	if second.Len() != 3 || second.Edges() != 2 {
		t.Errorf("the second graph has %d nodes, %d edges", second.Len(), second.Edges())
	}
}

func TestReplaceBlockers(t *testing.T) {
	t.Parallel()
	var b Builder
	for _, e := range [][2]int{{0, 100}, {0, 102}, {1, 0}, {1, 101}, {2, 101}} {
		b.Edge(e[0], e[1])
	}
	var dropped []int
	b.ReplaceBlockers(100, []int32{2, 1, -1}, func(task int) { dropped = append(dropped, task) })
	g := b.Build(3)
	if !slices.Equal(dropped, []int{0, 1}) || g.Edges() != 3 || !slices.Equal(g.Blockers(0), []int32{2}) ||
		!slices.Equal(g.Blockers(1), []int32{0}) || !slices.Equal(g.Blockers(2), []int32{1}) {
		t.Errorf("dropped %v, blockers %v %v %v", dropped, g.Blockers(0), g.Blockers(1), g.Blockers(2))
	}
}

func TestMistakesPanicWithMessages(t *testing.T) {
	t.Parallel()
	ring := graph(3, [2]int{0, 1}, [2]int{1, 0}, [2]int{2, 0})
	for _, c := range []struct {
		name string
		do   func()
		want string
	}{
		{"negative node", func() { new(Builder).Edge(-1, 0) }, "edge -1 -> 0"},
		{"a node too large", func() { new(Builder).Edge(0, math.MaxInt32) }, "node numbers are"},
		{"an edge to nowhere", func() { graph(2, [2]int{0, 2}) }, "edge 0 -> 2 in a graph of 2 nodes"},
		{"an edge from nowhere", func() { graph(2, [2]int{2, 0}) }, "edge 2 -> 0 in a graph of 2 nodes"},
		{"negative size", func() { graph(-1) }, "-1 nodes"},
		{"waves of a cycle", func() { ring.Waves(nil) }, "waves of a cyclic graph (3 of 3"},
		{"critical path beside a cycle", func() {
			graph(5, [2]int{0, 1}, [2]int{1, 0}, [2]int{1, 2}).CriticalPath(nil)
		}, "of a cyclic graph (2 of 5"},
		{"remaining of a cycle", func() { ring.Remaining(nil) }, "cyclic"},
		{"floors of another graph", func() { graph(2).Waves([]int{1}) }, "one floor for each node"},
		{"completed twice", func() {
			f := NewFrontier(graph(2))
			f.Complete(1)
			f.Complete(1)
		}, "node 1 is completed twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, c.want) {
					t.Errorf("panic %q, want %q in it", got, c.want)
				}
			}()
			c.do()
		})
	}
}

// A node that follows its blockers is in their highest wave, and one without blockers in the first.
func TestWavesOfFollowers(t *testing.T) {
	t.Parallel()
	var b Builder
	b.Edge(1, 0)
	b.Edge(2, 1)
	b.Edge(3, 2)
	for name, c := range map[string]struct {
		follow []int
		want   []int
	}{
		"none": {nil, []int{1, 2, 3, 4}}, "all": {[]int{0, 1, 2, 3}, []int{1, 1, 1, 1}},
		"one": {[]int{2}, []int{1, 2, 2, 3}},
	} {
		waves, total := b.Build(4).WavesWith(nil, func(i int) bool { return slices.Contains(c.follow, i) })
		if !slices.Equal(waves, c.want) || total != c.want[3] {
			t.Errorf("%s: %v of %d, want %v", name, waves, total, c.want)
		}
	}
}

// The largest node number is one below that of an int32.
func TestLargestNode(t *testing.T) {
	t.Parallel()
	for n, panics := range map[int]bool{maxIndex: false, maxIndex + 1: true, -1: true} {
		for _, e := range [][2]int{{n, 0}, {0, n}} {
			func() {
				defer func() {
					if r := recover(); (r != nil) != panics {
						t.Errorf("edge %v: %v", e, r)
					}
				}()
				new(Builder).Edge(e[0], e[1])
			}()
		}
	}
}
