package plan

// This file checks properties of every plan: keys ignore formatting, ids may have any spelling, and
// edges agree with a naive reading.

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// draft is the content of a plan; blockers are numbers of earlier tasks.
type draft struct {
	fields   map[string]any
	blockers []int
}

func drafts(t *rapid.T) []draft {
	n := rapid.IntRange(1, 12).Draw(t, "tasks")
	list := make([]draft, n)
	for i := range list {
		f := map[string]any{"subject": rapid.StringMatching(`[A-Za-z"\\é]{1,8}`).Draw(t, "subject")}
		if rapid.Bool().Draw(t, "described") {
			f["description"] = rapid.StringMatching(`[a-z\n <&]{0,12}`).Draw(t, "description")
		}
		if rapid.Bool().Draw(t, "checked") {
			f["verify"] = []string{"true"}
		}
		if rapid.Bool().Draw(t, "settled") {
			f["model"] = rapid.SampledFrom([]string{"opus", "sonnet"}).Draw(t, "model")
		}
		list[i] = draft{fields: f}
		for b := range i {
			if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
				list[i].blockers = append(list[i].blockers, b)
			}
		}
	}
	return list
}

// write formats a plan in random order and spelling: tasks, fields and blockers in any order,
// references to ids in any spelling.
func write(t *rapid.T, list []draft, label string) []byte {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, label), 0))
	var tasks []string
	for _, i := range r.Perm(len(list)) {
		f := maps.Clone(list[i].fields)
		f["id"] = fmt.Sprintf("T-%03d", i+1)
		var blockers []any
		for _, b := range list[i].blockers {
			blockers = append(blockers, []any{b + 1, fmt.Sprint(b + 1), fmt.Sprintf("T%02d", b+1),
				fmt.Sprintf("t-%d", b+1)}[r.IntN(4)])
		}
		r.Shuffle(len(blockers), func(a, b int) { blockers[a], blockers[b] = blockers[b], blockers[a] })
		if len(blockers) > 0 {
			f[blockerNames()[r.IntN(len(blockerNames()))]] = blockers
		}
		names := slices.Collect(maps.Keys(f))
		r.Shuffle(len(names), func(a, b int) { names[a], names[b] = names[b], names[a] })
		var parts []string
		for _, name := range names {
			value, err := json.Marshal(f[name])
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, fmt.Sprintf("%q:%s%s", name, strings.Repeat(" ", r.IntN(3)), value))
		}
		tasks = append(tasks, "{"+strings.Join(parts, ","+strings.Repeat("\n", r.IntN(2)))+"}")
	}
	return []byte(`{"tasks":[` + strings.Join(tasks, ",") + `]}`)
}

func TestKeysIgnoreFormatting(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := drafts(t)
		a, ds := Parse("a.json", write(t, list, "first"), Options{})
		if a == nil {
			t.Fatal(ds)
		}
		b, ds := Parse("b.yaml", write(t, list, "second"), Options{}) // JSON is YAML
		if b == nil {
			t.Fatal(ds)
		}
		for n := range list {
			i, ok := a.Lookup(fmt.Sprint(n + 1))
			j, ok2 := b.Lookup(fmt.Sprintf("T%04d", n+1))
			if !ok || !ok2 {
				t.Fatalf("task %d is lost", n+1)
			}
			if a.Key(i) != b.Key(j) {
				t.Fatalf("the key of %d depends on the layout", n+1)
			}
			var got []int
			for _, blocker := range a.Graph.Blockers(i) {
				k := 0
				fmt.Sscanf(a.Tasks[blocker].ID, "T-%d", &k)
				got = append(got, k-1)
			}
			slices.Sort(got)
			if !slices.Equal(got, list[n].blockers) {
				t.Fatalf("blockers of %d: %v, want %v", n+1, got, list[n].blockers)
			}
		}
		// A change of one task changes its key and the keys of all its dependents, and no other
		// key.
		n := rapid.IntRange(0, len(list)-1).Draw(t, "changed")
		list[n].fields["subject"] = "Something else 7"
		c, ds := Parse("c.json", write(t, list, "third"), Options{})
		if c == nil {
			t.Fatal(ds)
		}
		first, _ := a.Lookup(fmt.Sprint(n + 1))
		behind := a.Graph.Descendants(first)
		for m := range list {
			i, _ := a.Lookup(fmt.Sprint(m + 1))
			j, _ := c.Lookup(fmt.Sprint(m + 1))
			if changed := a.Key(i) != c.Key(j); changed != (i == first || slices.Contains(behind, i)) {
				t.Fatalf("key of %d changed: %v, after %d changed", m+1, changed, n+1)
			}
		}
	})
}

func TestKeysCoverEveryField(t *testing.T) {
	t.Parallel()
	key := func(fields string) string {
		p, ds := Parse("p.json", []byte(tasks(`{"id":"b","subject":"B","verify":"x"}`, `{"id":"a",`+fields+`}`)), Options{})
		if p == nil {
			t.Fatal(fields, ds)
		}
		return p.Key(1)
	}
	const base = `"subject":"A","verify":"x"`
	seen := map[string]string{key(base): base}
	for _, more := range []string{`"subject":"AB","verify":"x"`, `"prompt":"A","verify":"x"`, `"command":"A","verify":"x"`,
		`"subject":"A","verify":"y"`,
		`"subject":"A","verify":{"file":"x"}`, `"subject":"A","verify":{"file":"x","contains":"y"}`,
		`"subject":"A","verify":{"file":"x","matches":"y"}`,
		base + `,"description":"d"`, base + `,"files":["x"]`, base + `,"files":[{"path":"x","action":"read"}]`,
		base + `,"criteria":["x"]`,
		base + `,"criteria":[{"text":"x","check":"y"}]`, base + `,"criteria":[{"text":"x","verification":"observation"}]`,
		base + `,"model":"m"`, base + `,"fallbackModel":"m"`,
		base + `,"permissionMode":"plan"`, base + `,"allowedTools":["m"]`, base + `,"disallowedTools":["m"]`,
		base + `,"agent":"m"`, base + `,"appendSystemPrompt":"m"`,
		base + `,"mcp":"m"`, base + `,"settingSources":"user"`, base + `,"dir":"m"`, base + `,"blockedBy":"b"`} {
		k := key(more)
		if old, taken := seen[k]; taken {
			t.Errorf("the same key for %s and %s", old, more)
		}
		seen[k] = more
	}
	for _, less := range []string{`"timeout":1`, `"maxRetries":1`, `"maxTurns":1`, `"metadata":{}`, `"rehearse":1`,
		`"estimate":{}`, `"budgetUSD":1`, `"activeForm":"x"`, `"mcp":"none"`} {
		if key(base+`,`+less) != key(base) {
			t.Errorf("%s must not change the key", less)
		}
	}
	if key(`"subject":"A","verify":{"run":"x","once":true,"timeout":1}`) != key(base) {
		t.Error("when and how long a check is made must not change the key")
	}
}

// Any mixture of alias names gives the union; any number of blockers is found once.
func TestManyBlockers(t *testing.T) {
	t.Parallel()
	var list, ids []string
	for i := range 100 {
		list = append(list, fmt.Sprintf(`{"id":"n%d","subject":"A","verify":"x"}`, i))
		ids = append(ids, fmt.Sprintf(`"n%d"`, i), fmt.Sprintf(`"n%d"`, i))
	}
	last := `{"id":"last","subject":"A","verify":"x","blockedBy":[` + strings.Join(ids, ",") + `]}`
	for _, order := range [][]string{append(slices.Clone(list), last), append([]string{last}, list...)} {
		p, ds := Parse("p.json", []byte(tasks(order...)), Options{})
		if p == nil || len(ds) != 100 || ds[99].Code != CodeDuplicateBlocker {
			t.Fatalf("%d diagnostics", len(ds))
		}
		i, _ := p.Lookup("last")
		if got := len(p.Graph.Blockers(i)); got != 100 {
			t.Errorf("%d blockers", got)
		}
	}
}

// A big plan costs a fixed number of bytes per task and next to no allocations: an edge takes no
// memory besides the graph's.
func TestBigPlan(t *testing.T) { // not parallel: it counts the process's allocations
	const n = 20_000
	data := bigPlan(n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p, ds := Parse("big.json", data, Options{})
	runtime.ReadMemStats(&after)
	if p == nil || len(ds) != 0 {
		t.Fatal(ds)
	}
	if p.Graph.Len() != n || p.Graph.Edges() != 5*n-15 {
		t.Errorf("%d tasks, %d edges", p.Graph.Len(), p.Graph.Edges())
	}
	if got := after.Mallocs - before.Mallocs; got > n/10 {
		t.Errorf("%d allocations for %d tasks", got, n)
	}
	if got := (after.TotalAlloc - before.TotalAlloc) / n; got > 1200 {
		t.Errorf("%d bytes a task", got)
	}
}
