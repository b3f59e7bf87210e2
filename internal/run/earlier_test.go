package run

import (
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/testrepo"
	"wavex/runner"
)

const earlierPlan = `{"criteria":["it reads well",{"text":"it works","verify":"make"}],"tasks":[
	{"id":"a","subject":"A","files":["f","g"]},
	{"id":"b","subject":"B","files":["f"],"blockedBy":["a"]}]}`

// completed returns the events of a run that an agent completes; a task with carried work of an earlier run is
// up to date.
func completed(t *testing.T, p *plan.Plan, run, agent string, earlier *event.EarlierWork) []event.Body {
	t.Helper()
	c := event.DefaultConfig()
	c.Run, c.Agent, c.Limits.NoUSD, c.Limits.NoIterations = run, agent, true, true
	bodies := []event.Body{event.RunStarted{Config: c, Plan: p.Path, Digest: p.Digest, Earlier: earlier}}
	carried := map[string]bool{}
	if earlier != nil {
		u := &event.UpToDate{}
		started := event.CriteriaStarted{Round: 1}
		for _, e := range earlier.Tasks {
			u.Tasks, started.Earlier, carried[e.Task] = append(u.Tasks, e.Task), append(started.Earlier, e.Task), true
		}
		bodies = append(bodies, started, event.CriteriaEnded{Round: 1, UpToDate: u})
	}
	for i := range p.Tasks {
		id := p.Tasks[i].ID
		if carried[id] {
			continue
		}
		digests := map[string]string{}
		for _, f := range p.Tasks[i].Files {
			digests[f.Path] = "by " + id
		}
		bodies = append(bodies, event.AttemptStarted{Task: id, Key: p.Key(i), Wave: 1, Attempt: 1, Try: 1},
			event.AttemptEnded{Task: id, Key: p.Key(i), Attempt: 1, Status: event.Completed,
				Result: runner.Result{Outcome: runner.Done, Changed: []string{"f"}, Digests: digests}})
	}
	return append(bodies, event.CriteriaStarted{Round: 2},
		event.CriteriaEnded{Round: 2, Criteria: []event.Criterion{
			{ID: "C-1", Text: "it reads well", Met: true, Verification: event.Observation},
			{ID: "C-2", Text: "it works", Met: true, Verification: event.ExecutionOutput}}},
		event.GateEnded{Passed: true, Review: "thorough"}, event.RunEnded{Status: event.RunComplete})
}

func numbered(bodies ...event.Body) (out []event.Event) {
	for i, b := range bodies {
		out = append(out, event.Event{Seq: int64(i + 1), Time: time.Unix(int64(i), 0).UTC(), Body: b})
	}
	return out
}

// work returns the earlier work of a plan in a journal, in short.
func work(t *testing.T, p *plan.Plan, dir, agent string, bodies ...event.Body) (*event.EarlierWork, string) {
	t.Helper()
	r := &Session{plan: p, config: event.Config{Dir: dir, Loop: loop.In(dir)}}
	r.opts.Agent.Name = agent
	w, _, err := r.earlierWork(t.Context(), numbered(bodies...))
	testrepo.Must(t, err)
	var ids []string
	if w != nil {
		for _, e := range w.Tasks {
			ids = append(ids, e.Task+" of "+e.Run)
		}
	}
	return w, strings.Join(ids, ", ")
}

func TestEarlierWork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := testrepo.Plan(t, dir, earlierPlan)
	edited := testrepo.Plan(t, dir, strings.Replace(earlierPlan, `"subject":"B"`, `"subject":"Other"`, 1))
	other := testrepo.Plan(t, t.TempDir(), strings.Replace(earlierPlan, `"subject":"A"`, `"subject":"Other"`, 1))
	first := completed(t, p, "r-1", "claude", nil)
	w, said := work(t, p, dir, "claude", first...)
	if said != "a of r-1, b of r-1" || w.Review != "thorough" || len(w.Criteria) != 1 || w.Criteria[0].ID != "C-1" ||
		w.Tasks[0].Evidence != event.Observation || w.Tasks[0].Rehearsed {
		t.Errorf("%+v", w)
	}
	// A file belongs to the task that wrote it last.
	if a, b := w.Tasks[0].Digests, w.Tasks[1].Digests; len(a) != 1 || a["g"] != "by a" || len(b) != 1 || b["f"] != "by b" {
		t.Errorf("digests %v, %v", a, b)
	}
	half, _ := work(t, edited, dir, "claude", first...)
	if half == nil || len(half.Tasks) != 1 || half.Criteria != nil {
		t.Errorf("of the edited plan: %+v", half)
	}
	rehearsed := completed(t, p, "r-0", "rehearse", nil)
	carried := completed(t, p, "r-2", "rehearse", w)
	for name, c := range map[string]struct {
		plan   *plan.Plan
		agent  string
		bodies []event.Body
		want   string
	}{
		"nothing before": {p, "claude", nil, ""},
		"an edit":        {edited, "claude", first, "a of r-1"},
		"an edit and back": {p, "claude", slices.Concat(first,
			completed(t, edited, "r-2", "claude", half)), "a of r-1"},
		"another plan": {other, "claude", first, ""},
		"another plan in between": {p, "claude", slices.Concat(first,
			completed(t, other, "r-2", "claude", nil)), "a of r-1, b of r-1"},
		"a rehearsal for an agent":    {p, "claude", rehearsed, ""},
		"a rehearsal for a rehearsal": {p, "rehearse", rehearsed, "a of r-0, b of r-0"},
		"an agent for a rehearsal":    {p, "rehearse", first, "a of r-1, b of r-1"},
		"an agent before a rehearsal": {p, "claude", slices.Concat(first, carried), "a of r-1, b of r-1"},
		"a rehearsal after an agent":  {p, "claude", slices.Concat(first, rehearsed), ""},
		"a run that was cut off at it": {p, "claude", slices.Concat(first,
			completed(t, p, "r-2", "claude", w)[:2]), "a of r-1, b of r-1"},
		"a cancelled run": {p, "claude", append(first[:3:3],
			event.RunEnded{Status: event.RunCancelled}), "a of r-1"},
		"a run of which work was undone": {p, "claude", slices.Concat(first,
			[]event.Body{event.RolledBack{Tasks: []string{"b"}}}),
			"a of r-1"},
	} {
		if _, said := work(t, c.plan, dir, c.agent, c.bodies...); said != c.want {
			t.Errorf("%s: %q, want %q", name, said, c.want)
		}
	}
}
