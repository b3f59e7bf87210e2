package crash

// This file runs one session of a run in this process: the real loop over a real journal, with a
// simulated runner and panel. Their cost is a function of the task and the attempt, so that a
// test can sum it up without the ledger.

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/plan"
	"wavex/runner"
	"wavex/scheduler"
)

// tenTasks has four waves; outcomes lists the results of some of its tasks.
const tenTasks = `{"version": 1, "tasks": [
 {"id": "a", "verify": ["true"], "subject": "a"}, {"id": "b", "verify": ["true"], "subject": "b"}, {"id": "c", "verify": ["true"], "subject": "c"},
 {"id": "d", "verify": ["true"], "subject": "d", "blockedBy": ["a"]}, {"id": "e", "verify": ["true"], "subject": "e", "blockedBy": ["a", "b"]},
 {"id": "f", "verify": ["true"], "subject": "f", "blockedBy": ["c"]}, {"id": "g", "verify": ["true"], "subject": "g", "blockedBy": ["d"]},
 {"id": "h", "verify": ["true"], "subject": "h", "blockedBy": ["e", "f"]}, {"id": "i", "verify": ["true"], "subject": "i", "blockedBy": ["g", "h"]},
 {"id": "j", "verify": ["true"], "subject": "j", "blockedBy": ["h"]}
]}`

// outcomes returns the outcomes of first attempts; all others are done.
func outcomes(task string, attempt int) runner.Outcome {
	if attempt > 1 {
		return runner.Done
	}
	switch task {
	case "b":
		return runner.OverCap // continued with more money
	case "e":
		return runner.Wrong // a panel, then a retry
	case "f":
		return runner.Throttled // repeated, without an iteration
	}
	return runner.Done
}

// attemptCost and panelCost return costs in micro-dollars, or half of them if the end was not
// seen.
func attemptCost(task string, attempt int, seen bool) budget.USD {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%d", task, attempt)
	return whole(2*budget.USD(1000+h.Sum32()%20_000), seen)
}

func panelCost(task string, panel int, seen bool) budget.USD {
	return whole(budget.USD(4000*panel+2*len(task)), seen)
}

func whole(c budget.USD, seen bool) budget.USD {
	if !seen {
		return c / 2
	}
	return c
}

// fakeRunner is a simulated Runner and Panel.
type fakeRunner struct{}

func (fakeRunner) Attempt(_ context.Context, req runner.Request, _ runner.Hooks) runner.Result {
	o := outcomes(req.Task, req.Attempt)
	r := runner.Result{Outcome: o, Session: req.Session, Turns: 1, Cost: attemptCost(req.Task, req.Attempt, true),
		Priced: "result", Surplus: []string{"done"}} // of a repair too, which has to change a file
	r.Beside = o == runner.Done && strings.Contains("aehi", req.Task) // verified, and completed later
	if o != runner.Done {
		r.Reason, r.Signature = string(o), string(o)
	}
	return r
}

func (fakeRunner) Diagnose(_ context.Context, c counsel.Case) counsel.Verdict {
	return counsel.Verdict{Analysis: "because", Fix: "do otherwise", Cost: panelCost(c.Task, 1, true)}
}

// memoryLog writes events into a journal, as wavex does.
type memoryLog struct{ log *journal.Log }

func (d memoryLog) Append(e event.Event) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return d.log.Append(b)
}

func (d memoryLog) Write() error { return d.log.Write() }

func (d memoryLog) Sync() error { return d.log.Sync() }

func parsed(t *testing.T, text string) *plan.Plan {
	t.Helper()
	p, diags := plan.Parse("plan.json", []byte(text), plan.Options{})
	if p == nil {
		t.Fatalf("the test's plan: %v", diags)
	}
	return p
}

// session runs or resumes p over the journal at path. It returns the state and the number of
// earlier records, and leaves a complete run alone. The panels of a plan have one expert each.
func session(ctx context.Context, p *plan.Plan, path string,
	now func() time.Time) (s *scheduler.State, past int, err error) {
	log, records, err := journal.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer log.Close()
	events, err := decode(records)
	if err != nil {
		return nil, 0, err
	}
	s = scheduler.NewState(p)
	if err := s.Replay(events); err != nil {
		return nil, 0, err
	}
	if s.Ended != nil && s.Ended.Status == "complete" {
		return s, len(events), nil
	}
	c := event.DefaultConfig()
	c.Run, c.Agent, c.Parallel = "run-1", "pretend", 3
	c.Limits = budget.Limits{USD: budget.Dollar, Iterations: 25, Wall: time.Hour}
	var open event.Body = event.RunStarted{Config: c, Plan: p.Path, Tasks: len(p.Tasks), Waves: s.Waves}
	if len(events) > 0 {
		open = event.RunResumed{Config: c, Plan: p.Path, Tasks: len(p.Tasks), Waves: s.Waves}
	}
	loop := &scheduler.Loop{State: s, StartEvent: open, Journal: memoryLog{log}, Runner: fakeRunner{}, Panel: fakeRunner{},
		Request: func(_ *scheduler.State, _ int, e event.AttemptStarted) (runner.Request, error) {
			return runner.Request{Run: c.Run, Task: e.Task, Attempt: e.Attempt, Session: e.Session, Resume: e.Resume,
				Cap: e.Cap}, nil
		},
		Case: func(_ *scheduler.State, _ int, e event.CounselStarted) counsel.Case {
			return counsel.Case{Task: e.Task, Attempt: e.Attempt, Cap: e.Cap}
		},
		Recover: func(context.Context) scheduler.Recovery { return halfCost{} },
		Review:  review,
		Now:     now, Jitter: func() float64 { return 0 }}
	_, err = loop.Run(ctx)
	return s, len(events), err
}

const reviewCost = 3000

// halfCost is a Recovery that finds half of the costs of work.
type halfCost struct{}

func (halfCost) Adopts(event.AttemptStarted) bool { return false }

func (halfCost) Attempt(e event.AttemptStarted) runner.Result {
	return runner.Result{Outcome: runner.Interrupted, Session: e.Session, Turns: 1,
		Cost: attemptCost(e.Task, e.Attempt, false), Priced: "stream"}
}

func (halfCost) Cost(task, _ string, _ budget.USD) budget.USD {
	if task == "" {
		return reviewCost / 2
	}
	return panelCost(task, 1, false)
}

// review finds one blocker until a task has repaired it.
func review(s *scheduler.State, e event.ReviewStarted) func(context.Context) counsel.Review {
	r := counsel.Review{Score: 7, Experts: []string{"tester"}, Cost: reviewCost}
	if e.Mode == counsel.Thorough && len(s.Assessment.Added) == 0 {
		r.Findings = []counsel.Finding{{ID: "F-1", Severity: counsel.Blocker, Text: "wrong", Expert: "tester",
			Confirmed: true}}
	}
	return func(context.Context) counsel.Review { return r }
}

func decode(records [][]byte) ([]event.Event, error) {
	events := make([]event.Event, len(records))
	for i, r := range records {
		if err := json.Unmarshal(r, &events[i]); err != nil {
			return nil, fmt.Errorf("record %d: %w", i+1, err)
		}
	}
	return events, nil
}

// audit checks the journal of a run against the costs and against its end: each attempt has one
// end and counts once, no completed task starts again, and the ledger is the sum. past is the
// number of records before the last session.
func audit(events []event.Event, past int, s *scheduler.State) error {
	type key struct {
		task string
		n    int
	}
	var (
		attempts, panels = map[key]bool{}, map[key]bool{} // true: ended
		lost             = map[key]bool{}                 // open at the start of the last session
		done             = map[string]bool{}
		sum              budget.USD
		charged          int
		passed           bool // the thorough review
	)
	for i, e := range events {
		if i == past {
			for k, over := range attempts {
				lost[k] = !over
			}
		}
		switch b := e.Body.(type) {
		case event.AttemptStarted:
			k := key{b.Task, b.Attempt}
			if _, twice := attempts[k]; twice || done[b.Task] {
				return fmt.Errorf("record %d starts attempt %d of %s, which is no new one or of a completed task", e.Seq,
					b.Attempt, b.Task)
			}
			attempts[k] = false
		case event.AttemptEnded:
			k := key{b.Task, b.Attempt}
			if over, known := attempts[k]; !known || over {
				return fmt.Errorf("record %d ends attempt %d of %s, which does not run", e.Seq, b.Attempt, b.Task)
			}
			attempts[k] = true
			seen := b.Result.Outcome != runner.Interrupted
			if i >= past && seen == lost[k] {
				return fmt.Errorf("record %d: attempt %d of %s was lost: %v; it ended as %s", e.Seq, b.Attempt, b.Task, lost[k],
					b.Result.Outcome)
			}
			sum += attemptCost(b.Task, b.Attempt, seen)
			if b.Charged {
				charged++
			}
			done[b.Task] = b.Status == event.Completed || b.Status == event.Verified
		case event.ReviewStarted:
			if passed && b.Mode == counsel.Thorough {
				return fmt.Errorf("record %d reviews what has passed", e.Seq)
			}
			panels[key{"review", b.N}] = false
		case event.ReviewEnded:
			panels[key{"review", b.N}] = true
			passed = b.Mode == counsel.Thorough && b.Passed
			if b.Review.Error == "" {
				sum += reviewCost
			} else {
				sum += reviewCost / 2
			}
		case event.CounselStarted:
			panels[key{b.Task, b.Panel}] = false
		case event.CounselEnded:
			panels[key{b.Task, b.Panel}] = true
			sum += panelCost(b.Task, 1, b.Verdict.Unavailable == "")
		}
	}
	for _, open := range []map[key]bool{attempts, panels} {
		for k, over := range open {
			if !over {
				return fmt.Errorf("number %d of %s has no end", k.n, k.task)
			}
		}
	}
	switch end := s.Ended; {
	case end == nil || end.Status != "complete" || end.Tasks.Completed != len(s.Tasks) || len(done) != len(s.Tasks):
		return fmt.Errorf("ended as %+v, stop %+v", end, s.Stop)
	case end.Cost != sum || s.Ledger.Spent() != sum || s.Ledger.Reserved() != 0:
		return fmt.Errorf("the attempts cost %s; the end says %s, the ledger %s and %s reserved", sum, end.Cost,
			s.Ledger.Spent(), s.Ledger.Reserved())
	case end.Iterations != charged:
		return fmt.Errorf("%d attempts count, the end says %d", charged, end.Iterations)
	}
	return nil
}
