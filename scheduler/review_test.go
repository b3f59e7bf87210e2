package scheduler

import (
	"context"
	"slices"
	"testing"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/runner"
)

// TestACutReviewKeepsItsBlocker ends a run after each record from its review on, and interrupts it in the review after
// the blocker was confirmed. The resumed run mends the blocker, and makes no review again that has ended.
func TestACutReviewKeepsItsBlocker(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Review, cfg.Limits.NoUSD = event.ReviewThorough, true
	blocker := counsel.Finding{ID: "F-1", Severity: counsel.Blocker, Text: "odd", Confirmed: true}
	fixed := func(first counsel.Review) *fixture {
		b := newFixture(t, mustPlan(t, planText(task("a"))), cfg)
		b.Review = func(s *State, _ event.ReviewStarted) func(context.Context) counsel.Review {
			return func(context.Context) counsel.Review {
				if len(s.Plan.Tasks) > 1 { // mended
					return counsel.Review{Score: 9}
				}
				return first
			}
		}
		return b
	}
	for name, first := range map[string]counsel.Review{
		"it ended": {Findings: []counsel.Finding{blocker}},
		"it was interrupted with another blocker open": {Failure: runner.Interrupted,
			Findings: []counsel.Finding{blocker, {ID: "F-2", Severity: counsel.Blocker, Text: "open"}}},
	} {
		b := fixed(first)
		if end := b.run(t); end.Status != event.RunComplete {
			t.Fatalf("%s: ended as %+v", name, end)
		}
		all := b.journal.events
		from := slices.IndexFunc(all, func(e event.Event) bool { return e.Body.Type() == "review_started" })
		for cut := from + 1; cut < len(all); cut++ {
			again := fixed(first)
			if err := again.State.Replay(all[:cut]); err != nil {
				t.Fatal(err)
			}
			again.StartEvent = event.RunResumed{Config: cfg}
			again.journal.events = slices.Clone(all[:cut])
			end := again.run(t)
			reviews, added := len(of[event.ReviewEnded](again.journal)), len(of[event.TasksAdded](again.journal))
			most := 2
			if all[cut-1].Body.Type() == "review_started" { // it has not ended
				most = 3
			}
			if end.Status != event.RunComplete || added != 1 || reviews > most {
				t.Errorf("%s, cut after %s: %d reviews, tasks added %d times, %+v", name, all[cut-1].Body.Type(),
					reviews, added, end)
			}
		}
	}
}
