package scheduler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
)

// This file gives the journals of simulated runs to tests outside of this package.

// RandomRun returns the plan and the journal of a random run of one or two sessions. The first session of two was cut
// anywhere or reached a limit. The events have made-up times.
func RandomRun(t *rapid.T) (*plan.Plan, []event.Event) {
	p, c := genPlanOf(t, 4, true), genConfig(t)
	if rapid.Bool().Draw(t, "isolated") {
		c.Isolation = event.Isolated
	}
	seed := rapid.Uint64().Draw(t, "seed")
	d, w := randomRunner{seed: seed}, randomIntegrator{seed}
	join := func(l *Loop) {
		l.Runner, l.Panel, l.Integrator, l.Review, l.Verify = d, d, w, d.review, d.verify
	}
	_, events, _ := runSession(t, p, c, nil, join)
	if rapid.Bool().Draw(t, "resumed") {
		cut := rapid.IntRange(1, len(events)).Draw(t, "cut")
		c.Limits = budget.Limits{NoUSD: true, NoIterations: true}
		_, events, _ = runSession(t, p, c, slices.Clone(events[:cut]), join)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i := range events {
		if i > 0 {
			at = at.Add(time.Duration(rapid.IntRange(0, 90_000).Draw(t, "gap")) * time.Millisecond)
		}
		events[i].Time = at
		if b, ok := events[i].Body.(event.AttemptEnded); ok {
			b.Result.Duration = time.Duration(rapid.IntRange(0, 600_000).Draw(t, "took")) * time.Millisecond
			events[i].Body = b
		}
	}
	return p, events
}

// randomIntegrator sometimes finds a culprit.
type randomIntegrator struct{ seed uint64 }

func (w randomIntegrator) Integrate(_ context.Context, wave int, tasks []string) (Integrated, error) {
	r := Integrated{Commit: fmt.Sprint("c", wave), Commits: map[string]string{}}
	for n, id := range tasks {
		if n == 0 && chance(fmt.Sprint(w.seed), id, 200+len(tasks)) < 0.2 {
			r.Culprits = append(r.Culprits, Culprit{Task: id, Kind: "conflict", Reason: "a.go"})
			continue
		}
		r.Completed, r.Commits[id] = append(r.Completed, id), "c-"+id
	}
	return r, nil
}

func (w randomIntegrator) Deliver(context.Context, bool) (event.DeliveryEnded, error) {
	return event.DeliveryEnded{How: "branch", Ref: "wavex/run-1"}, nil
}
