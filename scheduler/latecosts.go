package scheduler

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/sourcegraph/conc/panics"

	"wavex/budget"
	"wavex/internal/event"
)

// This file corrects the costs of attempts that counted at their caps, since their workers were lost. A worker that
// comes back, or whose work is salvaged, pushes the result of its attempt.

// cappedAttempt is an attempt that has ended with an unknown cost: the ledgers that paid for it, and the known part of
// its correction.
type cappedAttempt struct {
	paid       purse
	correction event.CostCorrected
}

// noteCap notes the end of an attempt at its cap. open is its open work.
func (s *State) noteCap(b event.AttemptEnded, open *openJob) {
	if b.Result.Priced == "cap" && s.Config.Workers.Engine != "" && !open.paid {
		s.atCap[open.key] = cappedAttempt{s.purse(open.job), event.CostCorrected{Task: b.Task, Key: b.Key, Attempt: b.Attempt,
			Was: b.Result.Cost}}
	}
}

// unknownCost returns the part of the cost of task i that counts at the caps of attempts.
func (s *State) unknownCost(i int) (sum budget.USD) {
	for _, a := range s.atCap {
		if a.correction.Task == s.Plan.Tasks[i].ID && a.correction.Key == s.Tasks[i].Key {
			sum += a.correction.Was
		}
	}
	return sum
}

func (s *State) applyCostCorrected(b event.CostCorrected) error {
	key := attemptKey(b.Task, b.Attempt)
	a, ok := s.atCap[key]
	if !ok || a.correction.Was != b.Was {
		return fmt.Errorf("the cost of attempt %d of %s was corrected, but it does not count at %s", b.Attempt, b.Task, b.Was)
	}
	delete(s.atCap, key)
	a.paid.correct(b.Was, b.Cost, b.Usage.Total())
	s.correctCost(b.Task, b.Cost-b.Was)
	if i, ok := s.Index(b.Task); ok && s.Tasks[i].Key == b.Key {
		t := &s.Tasks[i]
		t.Cost += b.Cost - b.Was
		t.Usage = t.Usage.Plus(b.Usage)
		if t.Last != nil && t.lastAttempt == b.Attempt {
			last := b.Correct(*t.Last)
			t.Last = &last
		}
	}
	return nil
}

// costSearch is the search for the costs that workers report late. It runs beside the other work. Only decisions to
// end, or to give up work or a panel for want of money, wait for it.
type costSearch struct {
	results  chan []event.CostCorrected
	running  bool
	cancel   context.CancelFunc // of the running one
	upToDate bool               // nothing was decided, and no work has ended, since the last one began
	end      event.Body         // the end of the session that waits for the running one; nil: none does
}

// searchCosts starts a search for costs, if there are any to search for.
func (r *running) searchCosts() {
	r.costs.upToDate = true
	if r.LateCosts == nil || len(r.s.atCap) == 0 || r.costs.running || r.kill.Err() != nil {
		return
	}
	var unknown []event.CostCorrected
	for _, key := range slices.Sorted(maps.Keys(r.s.atCap)) {
		unknown = append(unknown, r.s.atCap[key].correction)
	}
	ctx, cancel := context.WithCancel(r.kill)
	r.costs.running, r.costs.cancel = true, cancel
	r.background.Go(func() error {
		defer cancel()
		var told []event.CostCorrected
		_ = panics.Try(func() { told = r.LateCosts(ctx, unknown) }) // without an answer the caps count
		r.costs.results <- told
		return nil
	})
}

// awaitsCosts reports whether a decision must wait for a search for costs. It starts one, unless nothing else has
// happened since the last one.
func (r *running) awaitsCosts(b event.Body) bool {
	if !needsCosts(r.s, b) {
		r.costs.upToDate = false
		return false
	}
	if !r.costs.running && !r.costs.upToDate {
		r.searchCosts()
	}
	if end := (event.Event{Body: b}).End(); end != nil && r.costs.running {
		r.costs.end = *end
	}
	return r.costs.running
}

// needsCosts reports whether a decision ends the session, or gives up work or a panel for want of money. A light review
// gets only money to spare, so its absence needs no search. After a stop for want of money no cost is corrected: its
// advice counts with the costs at that time.
func needsCosts(s *State, b event.Body) bool {
	if e := (event.Event{Body: b}); e.End() == nil {
		return e.ForMoney()
	}
	return !s.Stop.ForMoney()
}

// onCosts records the corrections of a search that has ended.
func (r *running) onCosts(told []event.CostCorrected) error {
	r.costs.running = false
	for _, b := range told {
		if err := r.emit(b); err != nil {
			return err
		}
	}
	return nil
}

// onStopRequest returns the decision after a signal or a cancellation. It ends a search for costs. If the end of the
// session has only waited for that, it is the decision: nothing is left to interrupt.
func (r *running) onStopRequest(code event.ExitCode, name string) event.Body {
	r.costs.stop()
	if r.costs.end != nil {
		return r.costs.end
	}
	return onSignal(r.s, code, name)
}

// stop cancels the search if it is running.
func (c *costSearch) stop() {
	if c.running {
		c.cancel()
	}
}
