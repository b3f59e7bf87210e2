package crash

// This file kills wavex before and after the end of turns, and counts the turns that are paid twice.

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/e2e/rig"
	"wavex/e2e/scratch"
	"wavex/internal/event"
	"wavex/internal/testrepo"
)

// turnsPlan has three tasks whose turns end at once, and one whose turn takes a while. A turn costs $1.50.
// The outputs of a and b are a large and a small one.
var turnsPlan = `{"version": 1, "parallel": 4, "budget": {"usd": 100}, "tasks": [
 {"id": "a", "subject": "a", "verify": ["test -e a"], "output": {"type": "object", "required": ["a"]}, "rehearse": {
   "structured": {"a": "` + strings.Repeat("a", 20_000) + `"}, "duration": "20ms", "cost": 1.5, "writes": [{"path": "a", "content": "a"}]}},
 {"id": "b", "subject": "b", "verify": ["test -e b"], "output": {"type": "object", "required": ["b"]}, "rehearse": {
   "structured": {"b": 1}, "duration": "60ms", "cost": 1.5, "writes": [{"path": "b", "content": "b"}]}},
 {"id": "c", "subject": "c", "verify": ["test -e c"], "rehearse": {"duration": "100ms", "cost": 1.5, "writes": [{"path": "c", "content": "c"}]}},
 {"id": "d", "subject": "d", "verify": ["test -e d"], "rehearse": {"duration": "700ms", "cost": 1.5, "writes": [{"path": "d", "content": "d"}]}}
]}`

// A turn that has ended is paid once: the resume after a kill only checks its work. A turn that the kill
// cut is made again, and no other.
func TestTurnsAreNotPaidTwice(t *testing.T) {
	t.Parallel()
	for n, isolation := range []string{"shared", "worktree"} {
		t.Run(isolation, func(t *testing.T) {
			t.Parallel()
			first, step := 1+2*n, 4 // a record is one of the two
			if rig.Whole() {
				first, step = 1, 1
			}
			for records := first; records <= 20; records += step {
				t.Run(fmt.Sprint(records), func(t *testing.T) {
					t.Parallel()
					killBetweenTurns(t, isolation, records)
				})
			}
		})
	}
}

// killBetweenTurns kills wavex when its journal has a number of records, and resumes.
func killBetweenTurns(t *testing.T, isolation string, records int) {
	p := newProject(t, turnsPlan)
	if isolation == "worktree" {
		testrepo.Git(t, p.Dir, "init", "-q")
		testrepo.Git(t, p.Dir, "add", "plan.json")
		testrepo.Git(t, p.Dir, "commit", "-q", "-m", "plan")
	}
	w := p.Start(nil, "run", "plan.json", "--agent", "rehearse", "--output", "json", "--isolation", isolation)
	written := func() bool {
		text, _ := os.ReadFile(p.Journal())
		return w.IsOver() || bytes.Count(text, []byte("\n")) >= records
	}
	if !rig.Until(t.Context(), written) {
		t.Fatal("the journal does not grow")
	}
	_ = w.Cmd.Process.Kill() // it may have ended
	<-w.Over
	p.MustBeGone(scratch.GoneTime, "the kill")

	made, cut := turns(p.Events())
	if _, end := scratch.LastRun(p.Events()); end == nil {
		p.MustComplete()
	}
	after, _ := turns(p.Events())
	var cost budget.USD
	for task, n := range after {
		if most := 1 + cut[task]; n > most {
			t.Errorf("%s has had %d turns, %d of them before the kill, which cut %d\n%s", task, n, made[task], cut[task],
				p.Dump())
		}
	}
	for task, most := range map[string]int{"a": 20_000, "b": 1} {
		if e := p.Run("output", task); e.Exit != 0 || !strings.HasPrefix(e.Stdout, `{"`+task+`":`) || len(e.Stdout) < most {
			t.Errorf("the output of %s: exit %d, %.100s%s", task, e.Exit, e.Stdout, e.Stderr)
		}
	}
	_, end := scratch.LastRun(p.Events())
	if cost = budget.FromFloat(1.5) * budget.USD(4+len(cut)); end == nil || end.Cost > cost {
		t.Errorf("the end is %+v, want a cost of at most %s\n%s", end, cost, p.Dump())
	}
}

// turns counts the turns that began, by task, and those that had not ended at the end of the events.
func turns(events []event.Event) (began, open map[string]int) {
	began, open = map[string]int{}, map[string]int{}
	for _, e := range events {
		switch b := e.Body.(type) {
		case event.AttemptStarted:
			if b.Why != event.WhyChecks {
				began[b.Task]++
				open[b.Task] = 1
			}
		case event.TurnEnded:
			delete(open, b.Task)
		case event.AttemptEnded:
			delete(open, b.Task)
		}
	}
	return began, open
}
