package plan

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestWithTasks(t *testing.T) {
	t.Parallel()
	p, diags := Parse(
		"plan.json", []byte(`{"version":1,"tasks":[{"id":"a","subject":"a","verify":["true"]},{"id":"b","subject":"b","verify":["true"],"blockedBy":["a"]}]}`), Options{})
	if p == nil {
		t.Fatal(diags)
	}
	before := []string{p.Key(0), p.Key(1)}
	q, err := p.WithTasks(3, json.RawMessage(`{"id":"R-001","subject":"mend it","verify":["true"]}`),
		json.RawMessage(`{"id":"R-002","subject":"and that","aspects":["security"]}`))
	must(t, err)
	wave, total := q.Waves()
	if !slices.Equal(wave, []int{1, 2, 3, 3}) || total != 3 {
		t.Errorf("waves %v of %d", wave, total)
	}
	if i, ok := q.Lookup("R-002"); !ok || i != 3 || !slices.Equal(q.Graph.Blockers(1), []int32{0}) {
		t.Errorf("R-002 is task %d (%v); b is blocked by %v", i, ok, q.Graph.Blockers(1))
	}
	if after := []string{q.Key(0), q.Key(1)}; !slices.Equal(before, after) || q.Key(2) == q.Key(3) {
		t.Error("growing changed the keys of what was there")
	}
	if _, ok := p.Lookup("R-001"); ok || len(p.Tasks) != 2 || p.Graph.Len() != 2 {
		t.Error("the plan itself was changed")
	}
	again, err := q.WithTasks(4, json.RawMessage(`{"id":"R-003","subject":"once more"}`))
	if err != nil || again.Tasks[4].ID != "R-003" || again.Graph.Len() != 5 {
		t.Errorf("a second time: %v", err)
	}
	for _, bad := range []string{`{"id":"a","subject":"taken"}`, `{"id":"R-1"}`,
		`{"id":"R-1","subject":"x","blockedBy":["z"]}`, `{`, `7`} {
		if _, err := p.WithTasks(3, json.RawMessage(bad)); err == nil {
			t.Errorf("accepted %s", bad)
		}
	}
}

func TestKeysOfPlansWithoutFile(t *testing.T) {
	t.Parallel()
	p, diags := Parse(
		"plan.json", []byte(`{"version":1,"tasks":[{"id":"a","subject":"a","verify":["true"]},{"id":"b","subject":"b","verify":["true"],"blockedBy":["a"]}]}`), Options{})
	if p == nil {
		t.Fatal(diags)
	}
	hand := &Plan{Schedule: p.Schedule, Tasks: p.Tasks, Graph: p.Graph}
	for i, key := range hand.Keys() {
		if key != p.Key(i) || key != hand.Key(i) {
			t.Errorf("task %d: %s, by hand %s, read %s", i, key, hand.Key(i), p.Key(i))
		}
	}
}

// A task that joins with its blockers equals the task of a plan file with both.
func TestWithBlockers(t *testing.T) {
	t.Parallel()
	a, b, c := `{"id":"1","subject":"a","verify":["true"]}`,
		`{"id":"2","subject":"b","blockedBy":["1"],"verify":["true"]}`,
		`{"id":"3","subject":"c","blockedBy":["2","01"],"verify":["true"]}`
	whole, _ := Parse("p.json", []byte(`{"tasks":[`+a+`,`+b+`,`+c+`]}`), Options{})
	p, _ := Parse("p.json", []byte(`{"tasks":[`+a+`]}`), Options{})
	q, err := p.WithTasks(2, json.RawMessage(b), json.RawMessage(c))
	must(t, err)
	for i := range whole.Tasks {
		if q.Key(i) != whole.Key(i) || !slices.Equal(q.Graph.Blockers(i), whole.Graph.Blockers(i)) {
			t.Errorf("task %d is another one: blocked by %v, want %v", i, q.Graph.Blockers(i), whole.Graph.Blockers(i))
		}
	}
	if wave, total := q.Waves(); total != 3 || !slices.Equal(wave, []int{1, 2, 3}) {
		t.Errorf("waves %v of %d", wave, total)
	}
	for _, bad := range []string{`{"id":"2","subject":"b","blockedBy":["9"]}`,
		`{"id":"2","subject":"b","blockedBy":["2"]}`, `{"id":"2","subject":"b","blockedBy":"1"}`} {
		if _, err := p.WithTasks(2, json.RawMessage(bad)); err == nil {
			t.Errorf("%s joined", bad)
		}
	}
}
