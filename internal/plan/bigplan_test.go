package plan

// This file generates big plans like those of a planner: a subject, a sentence or two, five
// blockers among the earlier tasks, and a command.

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// bigPlan returns a valid JSON plan of n tasks. Each but the first few is blocked by 5 different
// earlier tasks. The same n gives the same bytes. A task takes about 240 bytes.
func bigPlan(n int) []byte {
	var b bytes.Buffer
	b.Grow(n * 250)
	r := rand.New(rand.NewPCG(1, 2))
	fmt.Fprintf(&b, "{\n  \"version\": 1,\n  \"name\": \"big\",\n  \"tasks\": [\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "    {\"id\": \"T-%06d\", \"subject\": \"Write part %d\", ", i, i)
		fmt.Fprintf(&b, "\"description\": \"Write part %d of the module and its tests. Done when it builds.\", \"blockedBy\": [", i)
		picked := [5]int{}
		for k := 0; k < 5 && k < i-1; k++ {
			p := 1 + r.IntN(i-1)
			for again := true; again; {
				again = false
				for _, q := range picked[:k] {
					if q == p {
						p, again = 1+p%(i-1), true
					}
				}
			}
			picked[k] = p
			if k > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "\"T-%06d\"", p)
		}
		fmt.Fprintf(&b, "], \"verify\": [\"go test ./part%d/...\"]}", i)
		if i < n {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString("  ]\n}\n")
	return b.Bytes()
}

// shuffled returns a plan of bigPlan with its tasks in another order.
func shuffled(plan []byte) []byte {
	head, list, _ := strings.Cut(string(plan), "[\n")
	list, end, _ := strings.Cut(list, "\n  ]\n")
	tasks := strings.Split(list, ",\n")
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(tasks), func(i, k int) { tasks[i], tasks[k] = tasks[k], tasks[i] })
	return []byte(head + "[\n" + strings.Join(tasks, ",\n") + "\n  ]\n" + end)
}

// A file may name more tasks before they are read than have numbers.
func TestManyLaterTasks(t *testing.T) {
	t.Parallel()
	const n = 100_000
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"id":%d,"command":"a","blockedBy":%d},`, i, i+1)
	}
	p, ds := Parse("p.json", []byte(tasks(b.String()+fmt.Sprintf(`{"id":%d,"command":"a"}`, n))), Options{})
	if p == nil || p.Graph.Edges() != n || p.Graph.Blockers(n - 1)[0] != n {
		t.Errorf("got %v", ds)
	}
}
