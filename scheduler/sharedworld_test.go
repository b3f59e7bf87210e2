package scheduler

import (
	"context"
	"fmt"
	"hash/fnv"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"wavex/budget"
	"wavex/internal/check"
	"wavex/internal/event"
	"wavex/runner"
)

// sharedWorld is a shared directory in which attempts break the work of others. As in the real one, checks run
// at once, and failed ones again when no agent edits.
type sharedWorld struct {
	seed    uint64
	tasks   []string
	editors sync.RWMutex // agents read, checks that need a quiet directory write

	mu      sync.Mutex
	broken  map[string]bool // tasks whose check fails
	editing int
	edits   int
	passed  map[string]bool // the checks that passed in the last verification, by task
	faults  []string
}

func (w *sharedWorld) number(task string, n int) uint64 {
	return uint64(chance(fmt.Sprint(w.seed), task, n) * 1e9)
}

// edit is the turn of an agent.
func (w *sharedWorld) edit(task string, attempt int) {
	w.editors.RLock()
	defer w.editors.RUnlock()
	n := w.number(task, attempt)
	change := func(f func()) {
		w.mu.Lock()
		defer w.mu.Unlock()
		f()
	}
	change(func() {
		w.editing, w.edits = w.editing+1, w.edits+1
		w.broken[task] = true // half of the work
	})
	for range n % 7 {
		runtime.Gosched()
	}
	change(func() {
		w.editing--
		w.broken[task] = n%6 == 0
		if attempt < 3 && n%4 == 1 {
			w.broken[w.tasks[n%uint64(len(w.tasks))]] = true
		}
	})
}

// check makes the check of a task.
func (w *sharedWorld) check(task string) (passed, beside bool) {
	look := func() (ok bool, editing, edits int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		return !w.broken[task], w.editing, w.edits
	}
	ok, editing, edits := look()
	runtime.Gosched()
	if _, _, now := look(); editing == 0 && now == edits {
		return ok, false
	}
	if ok {
		return true, true
	}
	w.editors.Lock()
	defer w.editors.Unlock()
	ok, _, _ = look()
	return ok, false
}

func (w *sharedWorld) Attempt(ctx context.Context, req runner.Request, hooks runner.Hooks) runner.Result {
	r := runner.Result{Outcome: runner.Wrong, Reason: "check failed", Session: req.Session, Cost: 100, Priced: "result",
		Turns: 1}
	switch n := w.number(req.Task, 100+req.Attempt); {
	case req.Turn != nil:
		r.Cost, r.Priced = 0, ""
	case n%11 == 0 && req.Attempt%2 == 1: // twice in a row would stop the run
		r.Outcome = runner.Throttled
		return r
	default:
		w.edit(req.Task, req.Attempt)
		if n%3 > 0 {
			turn := r
			turn.Outcome = runner.Done
			if err := hooks.TurnEnded(runner.Turn{Result: turn}); err != nil {
				r.Outcome = runner.Interrupted
				return r
			}
		}
	}
	passed, beside := w.check(req.Task)
	r.Checks = []check.Evidence{{Passed: passed}}
	if passed {
		r.Outcome, r.Reason, r.Beside = runner.Done, "", beside
	}
	return r
}

// verify makes the checks of verified tasks together, and those at the end.
func (w *sharedWorld) verify(
	s *State, e event.CriteriaStarted,
) verification {
	var checks []RecheckResult
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.editing > 0 || s.Running() > 0 {
		w.faults = append(w.faults, fmt.Sprintf("%d agents edit while checks are repeated", w.editing))
	}
	w.passed = map[string]bool{}
	edits := w.edits
	for _, r := range e.Rechecks {
		checks = append(checks, RecheckResult{Passed: !w.broken[r.Tasks[0]], Check: "look"})
		w.passed[r.Tasks[0]] = !w.broken[r.Tasks[0]]
	}
	return func(context.Context, func() bool) (Verification, error) {
		runtime.Gosched()
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.edits != edits {
			w.faults = append(w.faults, "an agent edited while checks were repeated")
		}
		return Verification{Rechecks: checks, Criteria: s.Assessment.Criteria}, nil
	}
}

// sharedView checks each end of work in a sharedWorld.
type sharedView struct {
	t *rapid.T
	w *sharedWorld
}

func (v sharedView) Event(e event.Event, s *State) {
	switch b := e.Body.(type) {
	case event.AttemptEnded:
		if b.Status == event.Completed && (b.Result.Beside || !b.Result.Checks[0].Passed) ||
			b.Status == event.Verified && !b.Result.Beside {
			v.t.Fatalf("record %d: %+v", e.Seq, b)
		}
	case event.AttemptStarted:
		i, _ := s.Index(b.Task)
		for _, j := range s.Plan.Graph.Blockers(i) {
			if e.Seq == s.Seq && !s.stands(int(j)) {
				v.t.Fatalf("record %d: %s starts while %s is %s", e.Seq, b.Task, s.Plan.Tasks[j].ID, s.Tasks[j].Status)
			}
		}
	case event.IntegrationEnded:
		v.w.mu.Lock()
		defer v.w.mu.Unlock()
		for _, id := range b.Completed {
			if !v.w.passed[id] {
				v.t.Fatalf("record %d: %s is completed, its check was not made or failed", e.Seq, id)
			}
		}
		if len(b.Completed)+len(b.Reopened) == 0 {
			v.t.Fatalf("record %d: nothing follows from the checks", e.Seq)
		}
	}
}

// TestAnyRunInASharedDirectory runs plans whose tasks break each other's work, and cuts some of the runs. No task is
// lost, none is completed without its check, no dependent starts early, and every run ends.
func TestAnyRunInASharedDirectory(t *testing.T) {
	t.Parallel()
	var integrations, reopened int
	rapid.Check(t, func(t *rapid.T) {
		p, c := genPlan(t), genConfig(t)
		c.Limits = budget.Limits{NoUSD: true, NoIterations: true}
		c.SameError, c.SameUnmet, c.SameFile = 0, 0, 0
		c.Review, c.AcceptAssumptions = event.ReviewOff, true
		w := &sharedWorld{seed: rapid.Uint64().Draw(t, "seed"), broken: map[string]bool{}}
		var lines []string
		for i := range p.Tasks {
			id := p.Tasks[i].ID
			w.tasks = append(w.tasks, id)
			var by []string
			for _, j := range p.Graph.Blockers(i) {
				by = append(by, p.Tasks[j].ID)
			}
			lines = append(lines, checked(id, fmt.Sprintf(`"look %s"`, id), by...)) // distinct checks
		}
		text := planText(lines...)
		if rapid.Bool().Draw(t, "sequential") {
			text = `{"waves":[{"wave":1,"parallel":false},{"wave":2,"parallel":false}],` + text[1:]
		}
		p = mustPlan(t, text)
		join := func(l *Loop) {
			l.Runner, l.Panel, l.Verify, l.Views = w, randomRunner{}, w.verify, []View{sharedView{t, w}}
		}
		_, events, end := runSession(t, p, c, nil, join)
		if rapid.Bool().Draw(t, "killed") {
			cut := rapid.IntRange(1, len(events)).Draw(t, "cut")
			_, events, end = runSession(t, p, c, slices.Clone(events[:cut]), join)
		}
		if end.Tasks.Pending > 0 || strings.Contains(end.Reason, "can start") || len(w.faults) > 0 {
			t.Fatalf("ended as %+v, %v", end, w.faults)
		}
		for _, e := range events {
			if b, ok := e.Body.(event.IntegrationEnded); ok {
				integrations, reopened = integrations+1, reopened+len(b.Reopened)
			}
		}
	})
	t.Logf("%d integrations, %d reopened", integrations, reopened)
	if integrations == 0 || reopened == 0 {
		t.Errorf("%d integrations with %d culprits try nothing", integrations, reopened)
	}
}

// chance returns a number in [0, 1) that is a function of the attempt.
func chance(run, task string, attempt int) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%s/%d", run, task, attempt)
	return float64(h.Sum64()>>11) / (1 << 53)
}
