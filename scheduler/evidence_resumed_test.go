package scheduler

import (
	"slices"
	"testing"
	"time"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/runner"
)

const ownCriterion = `{"id":"a","subject":"A","criteria":[{"text":"c","verify":"x"}]}`

// meetAfter makes the criteria of a fixture true once its task a has run.
func (b *fixture) meetAfter() {
	b.meetIf(func() bool { return slices.Contains(b.runner.order(), "a") })
}

func (b *fixture) meetIf(met func() bool) {
	b.Verify = func(s *State, e event.CriteriaStarted) verification {
		v := Verification{Rechecks: slices.Repeat([]RecheckResult{{Passed: true}}, len(e.Rechecks))}
		for _, k := range s.Assessment.Criteria {
			if e.Wave == 0 && !e.Before || slices.Contains(e.Only, k.ID) {
				k.Met, k.Check, k.Verification = met(), "x", event.ExecutionOutput
				v.Criteria = append(v.Criteria, k)
			}
		}
		return verified(v, nil)
	}
}

func resumed(t *testing.T, plan string, cfg event.Config, events []event.Event) *fixture {
	t.Helper()
	b := nextSession(t, mustPlan(t, plan), cfg, events)
	b.meetAfter()
	return b
}

// A rollback does not forget that a criterion was unmet before the work.
func TestEvidenceAfterRollback(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Review = event.ReviewOff
	plan := `{"tasks":[` + ownCriterion + `]}`
	b := newFixture(t, mustPlan(t, plan), cfg)
	b.meetAfter()
	if end := b.run(t); end.ExitCode != 0 {
		t.Fatalf("ended as %+v", end)
	}
	events := append(slices.Clone(b.journal.events), event.Event{Seq: int64(len(b.journal.events) + 1), Time: time.Now(),
		Body: event.RolledBack{Tasks: []string{"a"}}})
	if end := resumed(t, plan, cfg, events).run(t); end.ExitCode != 0 {
		t.Errorf("resumed, it ended as %+v", end)
	}
}

// A criterion that joins the plan between sessions is measured before its work.
func TestEvidenceOfAGrownPlan(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Review, cfg.MaxRetries = event.ReviewOff, 0
	const first = `{"id":"z","subject":"Z","verify":["x"]}`
	b := newFixture(t, mustPlan(t, `{"tasks":[`+first+`]}`), cfg)
	b.runner.results["z"] = []runner.Result{wrong("no")}
	b.run(t)
	cfg.Only = []string{"z", "a"}
	if end := resumed(t, `{"tasks":[`+first+`,`+ownCriterion+`]}`, cfg, b.journal.events).run(t); end.ExitCode != 0 {
		t.Errorf("resumed, it ended as %+v", end)
	}
}

// An edit of an earlier attempt counts, although the last one found nothing to do.
func TestEvidenceOfAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Review = event.ReviewThorough
	b := newFixture(t, mustPlan(t, `{"tasks":[{"id":"a","subject":"A"}]}`), cfg)
	late := wrong("late")
	late.Outcome, late.Surplus = runner.TimedOut, []string{"f"}
	b.runner.results["a"] = []runner.Result{late, outcome(runner.Done)}
	b.Review = reviewed(counsel.Review{Score: 9})
	if end := b.run(t); end.ExitCode != 0 || b.State.Assessment.Evidence[0].Basis != event.Reviewed {
		t.Errorf("ended as %+v with %+v", end, b.State.Assessment.Evidence)
	}
}

// The journal of a wavex that did not measure criteria before the work is continued by its rule.
func TestEvidenceOfAnOlderJournal(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Review = event.ReviewOff
	plan := `{"tasks":[` + ownCriterion + `,{"id":"z","subject":"Z","verify":["x"],"blockedBy":["a"]}]}`
	s := NewState(mustPlan(t, plan))
	events := []event.Event{{Seq: 1, Body: event.RunStarted{Config: cfg}},
		{Seq: 2, Body: event.WaveStarted{Wave: 1, Of: 2, Tasks: []string{"a"}}},
		{Seq: 3, Body: event.AttemptStarted{Task: "a", Key: s.Tasks[0].Key, Wave: 1, Attempt: 1, Try: 1, Cap: 1000}},
		{Seq: 4, Body: event.AttemptEnded{Task: "a", Key: s.Tasks[0].Key, Attempt: 1, Status: event.Completed,
			Result: runner.Result{Outcome: runner.Done}}}}
	b := resumed(t, plan, cfg, events)
	b.meetIf(func() bool { return true }) // by the session before
	if end := b.run(t); end.ExitCode != 0 {
		t.Errorf("ended as %+v", end)
	}
}
