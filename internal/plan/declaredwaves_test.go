package plan

// This file checks the effects of declared waves: lower bounds, barriers, order, and sequences.

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDeclaredWaves(t *testing.T) {
	t.Parallel()
	task := func(id, fields string) string {
		return fmt.Sprintf(`{"id":%q,"subject":"x","verify":"x"%s}`, id, fields)
	}
	for _, c := range []struct {
		name  string
		tasks []string
		waves []int
		edges int
		want  string // code and part of the message
	}{
		{"none", []string{task("a", ""), task("b", `,"blockedBy":["a"]`)}, []int{1, 2}, 1, ""},
		{"floor", []string{task("a", `,"wave":1`), task("b", `,"wave":3,"blockedBy":["a"]`), task("c", `,"blockedBy":["b"]`)},
			[]int{1, 3, 4}, 2, ""},
		{"barriers", []string{task("a", `,"wave":1`), task("b", `,"wave":1`), task("c", `,"wave":2`), task("d", `,"wave":4`),
			task("e", "")}, []int{1, 1, 2, 4, 1}, 3, ""},
		{"same wave", []string{task("a", `,"wave":2`), task("b", `,"wave":2,"blockedBy":["a"]`)}, nil, 0,
			`wave-order: task "b" is declared for wave 2, but its blocker "a" runs in wave 2`},
		{"undeclared chain", []string{task("a", ""), task("b", `,"blockedBy":["a"]`),
			task("c", `,"wave":2,"blockedBy":["a","b"]`)}, nil, 0,
			`wave-order: task "c" is declared for wave 2, but its blocker "b" runs in wave 2`},
		{"zero", []string{task("a", `,"wave":0`)}, nil, 0, "bad-number: at least 1"},
		{"high", []string{task("a", `,"wave":100001`)}, nil, 0, "bad-number: the most is 100000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, ds := Parse("plan.json", []byte(tasks(c.tasks...)), Options{})
			if c.want != "" {
				code, part, _ := strings.Cut(c.want, ": ")
				if p != nil || len(ds) != 1 || ds[0].Code != code || !strings.Contains(ds[0].Message, part) {
					t.Fatalf("got %v", ds)
				}
				return
			}
			if p == nil || len(ds) != 0 {
				t.Fatal(ds)
			}
			if wave, _ := p.Waves(); !slices.Equal(wave, c.waves) || p.Graph.Edges() != c.edges {
				t.Errorf("waves %v, %d edges", wave, p.Graph.Edges())
			}
		})
	}
}

func TestSequentialWaves(t *testing.T) {
	t.Parallel()
	plan := func(waves string) (*Plan, []Diagnostic) {
		return Parse("plan.json", []byte(`{"waves":[`+waves+
			`],"tasks":[{"id":"a","subject":"x","verify":"x","files":["f"],"wave":2},{"id":"b","subject":"x","verify":"x","files":["f"],"wave":2}]}`), Options{})
	}
	p, ds := plan(`{"wave":2,"parallel":false,"title":"Two"},{"wave":3,"parallel":true},{"wave":4}`)
	if p == nil || len(ds) != 0 { // no warning about the shared file is needed
		t.Fatal(ds)
	}
	if !p.Sequential(2) || p.Sequential(1) || p.Sequential(3) || p.Sequential(4) || p.Declared[0].Title != "Two" {
		t.Errorf("got %+v", p.Declared)
	}
	if _, ds := plan(`{"wave":2}`); len(ds) != 1 || ds[0].Code != CodeFileOverlap {
		t.Errorf("got %v", ds)
	}
	for waves, want := range map[string]string{
		`{"wave":2},{"wave":2}`: "described twice", `{"parallel":false}`: "needs its number",
		`{"wave":1,"parallel":"no"}`: "expected true or false", `3`: "expected an object",
	} {
		if p, ds := plan(waves); p != nil || !strings.Contains(fmt.Sprint(ds), want) {
			t.Errorf("%s: %v", waves, ds)
		}
	}
}

// Any declaration is either refused, or each task runs in the wave that it declares, after all its
// blockers. Keys depend on the edges, not on the waves.
func TestDeclaredWavesApply(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "tasks")
		var with, without []string
		for i := range n {
			var blockers []string
			for b := range i {
				if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
					blockers = append(blockers, fmt.Sprint(b+1))
				}
			}
			head := fmt.Sprintf(`{"id":%d,"subject":"x","verify":"x","blockedBy":[%s]`, i+1, strings.Join(blockers, ","))
			without = append(without, head+"}")
			if w := rapid.IntRange(0, 5).Draw(t, "wave"); w > 0 {
				head += fmt.Sprintf(`,"wave":%d`, w)
			}
			with = append(with, head+"}")
		}
		p, ds := Parse("p.json", []byte(tasks(with...)), Options{})
		q, _ := Parse("q.json", []byte(tasks(without...)), Options{})
		if p == nil {
			if len(ds) == 0 || ds[0].Code != CodeWaveOrder {
				t.Fatal(ds)
			}
			return
		}
		wave, total := p.Waves()
		for i, w := range wave {
			if d := p.Tasks[i].Wave; d != 0 && d != w || w > total {
				t.Fatalf("task %d declares %d and is in %d of %d", i, d, w, total)
			}
			for _, b := range p.Graph.Blockers(i) {
				if wave[b] >= w {
					t.Fatalf("task %d of wave %d waits for one of wave %d", i, w, wave[b])
				}
			}
			if q.Graph.Edges() > 0 && p.Key(i) != q.Key(i) {
				t.Fatal("a declared wave changed a key")
			}
		}
	})
}

func TestBarriersAreBounded(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 6000 {
		list = append(list, fmt.Sprintf(`{"id":%d,"subject":"x","verify":"x","wave":%d}`, i, 1+i/3000))
	}
	if p, ds := Parse("p.json", []byte(tasks(list...)), Options{}); p != nil || len(ds) != 1 ||
		ds[0].Code != CodeTooLarge {
		t.Errorf("got %v", ds)
	}
}
