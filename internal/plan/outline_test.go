package plan

// This file compares outlines with their plans.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// again returns the plan that is read from an outline of p.
func again(t interface{ Fatal(...any) }, p *Plan) *Plan {
	var b bytes.Buffer
	if err := p.Outline(&b); err != nil {
		t.Fatal(err)
	}
	q, err := ReadOutline(&b)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// inJSON returns a task as JSON; an empty list equals a missing one.
func inJSON(t interface{ Fatal(...any) }, task Task) string {
	b, err := json.Marshal(struct {
		Task
		Pos Pos
	}{task, task.Pos})
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), ":[]", ":null")
}

// outlinedAs compares the parts that an outline must keep.
func outlinedAs(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, p, q *Plan) {
	wave, total := p.Waves()
	wave2, total2 := q.Waves()
	if !slices.Equal(wave, wave2) || total != total2 {
		t.Fatalf("waves %v of %d became %v of %d", wave, total, wave2, total2)
	}
	if !slices.Equal(p.Keys(), q.Keys()) {
		t.Fatalf("keys %v became %v", p.Keys(), q.Keys())
	}
	for i := range p.Tasks {
		a, b := p.Tasks[i], q.Tasks[i]
		if !slices.Equal(p.Graph.Blockers(i), q.Graph.Blockers(i)) {
			t.Fatalf("blockers %v became %v", p.Graph.Blockers(i), q.Graph.Blockers(i))
		}
		if j, ok := q.Lookup(a.ID); !ok || i != j {
			t.Fatalf("task %s is found at %d", a.ID, j)
		}
		a.Prompt, a.Description, a.Metadata, a.Rehearse, a.BudgetUSD, a.Estimate = "", "", nil, nil, 0, Estimate{}
		if x, y := inJSON(t, b), inJSON(t, a); x != y {
			t.Fatalf("task %s became %s", y, x)
		}
	}
}

func TestOutlineRoundTrip(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"testdata/full.json", "testdata/full.yaml"} {
		p, ds, err := Load(name)
		if err != nil || p == nil {
			t.Fatal(err, ds)
		}
		q := again(t, p)
		outlinedAs(t, p, q)
		if q.Path != p.Path || q.Digest != p.Digest || q.Name != p.Name || q.Request != p.Request ||
			len(q.Criteria) != len(p.Criteria) ||
			!reflect.DeepEqual(q.MustNot, p.MustNot) || !reflect.DeepEqual(q.Defaults, p.Defaults) {
			t.Errorf("%s: %+v became %+v", name, p, q)
		}
		added := json.RawMessage(`{"id":"more","subject":"More","verify":["true"],"blockedBy":["` + p.Tasks[0].ID + `"]}`)
		_, total := p.Waves()
		p2, err1 := p.WithTasks(total+1, added)
		q2, err2 := q.WithTasks(total+1, added)
		must(t, errors.Join(err1, err2))
		outlinedAs(t, p2, q2)
	}
	rapid.Check(t, func(t *rapid.T) {
		p, ds := Parse("plan.json", write(t, drafts(t), "order"), Options{})
		if p == nil {
			t.Fatal(ds)
		}
		outlinedAs(t, p, again(t, p))
	})
}

func TestOutlineOfWavesWithoutEdges(t *testing.T) {
	t.Parallel()
	p, ds := Parse(
		"plan.json", []byte(`{"waves":[{"wave":2,"parallel":false}],"tasks":[{"id":"a","command":"true","wave":1},{"id":"b","command":"true","wave":2},{"id":"c","command":"true","wave":4}]}`), Options{})
	if p == nil {
		t.Fatal(ds)
	}
	q := again(t, p)
	outlinedAs(t, p, q)
	if !q.Sequential(2) || q.Sequential(1) {
		t.Error("the sequential wave is another one")
	}
	var many strings.Builder
	many.WriteString(`{"tasks":[{"id":"x","command":"true","wave":1}`)
	for i := range 2200 {
		fmt.Fprintf(&many, `,{"id":%d,"command":"true","wave":%d}`, i+1, 1+i/1100)
	}
	if p, ds = Parse("plan.json", []byte(many.String()+"]}"), Options{}); p == nil {
		t.Fatal(ds)
	}
	var b bytes.Buffer
	if err := p.Outline(&b); !errors.Is(err, ErrNoOutline) || b.Len() > 0 {
		t.Errorf("an outline of %d edges: %v, %d bytes", p.Graph.Edges(), err, b.Len())
	}
}

func FuzzOutline(f *testing.F) {
	p, _, err := Load("testdata/full.json")
	must(f, err)
	var b bytes.Buffer
	must(f, p.Outline(&b))
	f.Add(b.Bytes())
	head, key := `{"outline":1,"tasks":1}`, strings.Repeat("0f", 32)
	for _, s := range []string{"", "{}", `{"outline":2,"tasks":1}`, head, head + `{"id":"a","key":"0f"}`,
		head + `{"id":"a","key":"` + key + `0f"}`, head + `{"id":"a","key":"` + key + `","blockers":[0]}`,
		head + `{"id":"a","key":"` + key + `","blockers":[-1]}`, head + `{"id":"a","key":"` + key + `","floor":7}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadOutline(bytes.NewReader(data))
		if (p == nil) != (err != nil) {
			t.Fatalf("plan is nil: %v, but %v", p == nil, err)
		}
		if p == nil {
			return
		}
		wave, total := p.Waves()
		if len(p.Keys()) != len(p.Tasks) || len(wave) != len(p.Tasks) || total < 1 || p.Graph.Cycles() != nil {
			t.Fatalf("%d tasks, %d keys, waves %v of %d", len(p.Tasks), len(p.Keys()), wave, total)
		}
	})
}

// An outline that was cut anywhere is refused.
func TestTruncatedOutlineIsRefused(t *testing.T) {
	t.Parallel()
	p, _ := Parse(
		"plan.json", []byte(`{"tasks":[{"id":"a","command":"true"},{"id":"b","command":"true","blockedBy":"a"}]}`), Options{})
	var b bytes.Buffer
	must(t, p.Outline(&b))
	for n := range b.Len() - 1 { // the last byte is the end of the line
		if _, err := ReadOutline(bytes.NewReader(b.Bytes()[:n])); err == nil {
			t.Fatalf("%d bytes of %d are read as an outline", n, b.Len())
		}
	}
}
