package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/sourcegraph/conc/panics"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/runner"
)

// This file starts attempts, panels, reviews and other work after their start events. Each runs on
// its own goroutine and sends one message back. It makes no decisions.

// startWork starts the work of a start event.
func (r *running) startWork(e event.Event) {
	switch b := e.Body.(type) {
	case event.AttemptStarted:
		r.runJob(r.attemptWork(b, nil))
	case event.AttemptAdopted:
		r.startAdopted(b)
	case event.TurnEnded: // it is durable
		r.turns[attemptKey(b.Task, b.Attempt)] <- r.obstacleError()
		delete(r.turns, attemptKey(b.Task, b.Attempt))
	case event.IntegrationStarted:
		r.startIntegration(b)
	case event.DeliveryStarted:
		err := r.obstacleError()
		r.runJob(func() message {
			var d event.DeliveryEnded
			if err == nil {
				d, err = r.Integrator.Deliver(r.kill, b.Complete)
			}
			if err != nil {
				d = event.DeliveryEnded{How: "none", Why: err.Error(), Failed: true}
			}
			return func() event.Body { return d }
		})
	case event.PrecheckStarted:
		r.startPrecheck(b)
	case event.CriteriaStarted:
		r.startVerification(b)
	case event.ReviewStarted:
		r.startReview(b)
	case event.Asked:
		r.askApproval(b)
	case event.CounselStarted:
		i, _ := r.s.Index(b.Task)
		c := r.Case(r.s, i, b)
		r.runJob(func() message {
			v := r.runPanel(c)
			return func() event.Body { return onPanel(r.s, b, v, r.Now(), r.Jitter()) }
		})
	}
}

// attemptWork returns the work of an attempt, and the message that ends it. turn is its turn, if that is on record:
// then only the checks remain.
func (r *running) attemptWork(b event.AttemptStarted, turn *runner.Turn) func() message {
	i, _ := r.s.Index(b.Task)
	req, err := r.Request(r.s, i, b)
	var hooks runner.Hooks
	if req.Turn = turn; b.Why == event.WhyChecks {
		req.Turn = r.s.Tasks[i].Turn
	}
	if req.Turn == nil {
		hooks.TurnEnded = r.recordTurn(b)
	}
	return func() message {
		var res runner.Result
		if err != nil {
			res = runner.CannotBegin(err)
		} else {
			res = r.runAttempt(req, hooks)
		}
		return func() event.Body {
			return onAttempt(r.s, i, r.withoutBlame(res), r.Now(), r.Jitter())
		}
	}
}

// obstacle returns the stop of Obstacle, or nil.
func (r *running) obstacle() *event.Stop {
	if r.Obstacle == nil {
		return nil
	}
	return r.Obstacle()
}

// obstacleError returns the reason of the obstacle, or nil. No task is blamed for what failed since it came.
func (r *running) obstacleError() error {
	if stop := r.obstacle(); stop != nil {
		return errors.New(stop.Reason)
	}
	return nil
}

// withoutBlame turns the result of an attempt that failed after an obstacle appeared into an interruption.
func (r *running) withoutBlame(res runner.Result) runner.Result {
	err := r.obstacleError()
	if err == nil || res.Outcome == runner.Done {
		return res
	}
	if res.Outcome != runner.Interrupted {
		res.Outcome, res.Reason, res.Signature = runner.Interrupted, "stopped: "+err.Error(), ""
	}
	res.Tampered, res.Violated = nil, nil // the files seem to be gone
	return res
}

// startAdopted waits for an attempt of an earlier session beside those of this one.
func (r *running) startAdopted(b event.AttemptAdopted) {
	o := r.s.open(attemptKey(b.Task, b.Attempt)).attempt
	work := r.attemptWork(o.AttemptStarted, o.turn)
	r.background.Go(func() error {
		r.results <- work()
		return nil
	})
}

// recordTurn returns a function that records the end of an attempt's turn. It returns when the record is
// durable, or an error if the run is stopped first, or there is an obstacle: a resume makes the checks then.
func (r *running) recordTurn(b event.AttemptStarted) func(runner.Turn) error {
	durable := make(chan error, 1)
	r.turns[attemptKey(b.Task, b.Attempt)] = durable
	return func(t runner.Turn) error {
		r.results <- func() event.Body {
			return event.TurnEnded{Task: b.Task, Key: b.Key, Attempt: b.Attempt, Turn: t}
		}
		select {
		case err := <-durable:
			return err
		case <-r.kill.Done():
			return context.Cause(r.kill)
		}
	}
}

// runJob runs f under the parallel limit and sends its message to the loop. Events are admitted within the limit, so
// the loop waits at most for a goroutine that has sent its message and is about to end.
func (r *running) runJob(f func() message) {
	r.group.Go(func() error {
		r.results <- f() // has room for all work that may run
		return nil
	})
}

// inBackground does work outside the parallel limit and sends its end to the loop, which decides what follows. If the
// work panics, failed sets its result.
func (r *running) inBackground(work func(), failed func(bug error), end message) {
	r.background.Go(func() error {
		if p := panics.Try(work); p != nil {
			failed(fmt.Errorf("a bug in wavex: %v", p.Value))
		}
		r.results <- end
		return nil
	})
}

// startIntegration integrates beside attempts.
func (r *running) startIntegration(b event.IntegrationStarted) {
	if r.s.Config.Isolation != event.Isolated {
		r.startSharedIntegration(b)
		return
	}
	var got Integrated
	var err error
	r.inBackground(func() { got, err = r.Integrator.Integrate(r.kill, b.Wave, b.Tasks) },
		func(bug error) { err = bug },
		func() event.Body {
			if moved := r.obstacleError(); moved != nil && (err != nil || len(got.Culprits) > 0) {
				got, err = Integrated{}, moved
			}
			return onIntegration(r.s, b.Wave, got, err)
		})
}

func (r *running) startVerification(b event.CriteriaStarted) {
	work := func(context.Context, func() bool) (v Verification, err error) { return v, nil }
	if r.Verify != nil {
		work = r.Verify(r.s, b)
	}
	startCtx, stopRechecks := context.WithCancel(r.kill)
	r.stopRechecks = stopRechecks
	var v Verification
	var err error
	r.inBackground(func() {
		defer stopRechecks()
		v, err = work(r.kill, func() bool { return startCtx.Err() == nil })
	}, func(bug error) {
		v = Verification{Cost: b.Cap} // criteria that were not checked stay assumptions
		if len(b.Rechecks)+len(b.Earlier) > 0 {
			err = bug
		}
	}, func() event.Body { return onVerification(r.s, b, v, cmp.Or(err, r.obstacleError())) })
}

func (r *running) startPrecheck(b event.PrecheckStarted) {
	out := counsel.Challenge{Error: "nobody is there to ask"}
	work := func(context.Context) counsel.Challenge { return out }
	if i, ok := r.s.Index(b.Task); ok && r.Precheck != nil {
		work = r.Precheck(r.s, i, b)
	}
	r.inBackground(func() { out = work(r.kill) },
		func(bug error) { out = counsel.Challenge{Error: bug.Error(), Cost: b.Cap} },
		func() event.Body { return onChallenge(r.s, b, out) })
}

func (r *running) startReview(b event.ReviewStarted) {
	out := counsel.Review{Nothing: "there are no reviewers"}
	work := func(context.Context) counsel.Review { return out }
	if r.Review != nil {
		work = r.Review(r.s, b)
	}
	r.inBackground(func() { out = work(r.kill) },
		func(bug error) { out = counsel.Review{Error: bug.Error(), Cost: b.Cap} },
		func() event.Body { return onReview(b, out) })
}

func (r *running) runAttempt(req runner.Request, hooks runner.Hooks) (res runner.Result) {
	if p := panics.Try(func() { res = r.Runner.Attempt(r.kill, req, hooks) }); p != nil {
		return runner.Result{Outcome: runner.Broken, Reason: fmt.Sprintf("a bug in wavex: %v", p.Value), Detail: p.String(),
			Cost: req.Cap, Priced: "cap"}
	}
	return res
}

func (r *running) runPanel(c counsel.Case) (v counsel.Verdict) {
	if p := panics.Try(func() { v = r.Panel.Diagnose(r.kill, c) }); p != nil {
		return counsel.Verdict{Unavailable: fmt.Sprintf("a bug in wavex: %v", p.Value), Cost: c.Cap}
	}
	return v
}
