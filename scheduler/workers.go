package scheduler

import (
	"context"
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
		i, _ := r.s.Index(b.Task)
		req, err := r.Request(r.s, i, b)
		release := r.assignSpare(b, &req)
		r.runJob(i, func() message {
			defer release()
			if err != nil {
				return message{attempt: &runner.Result{Outcome: runner.Broken, Reason: err.Error()}}
			}
			res := r.runAttempt(req)
			return message{attempt: &res}
		})
	case event.SpareStarted:
		r.startSpare(b)
	case event.IntegrationStarted:
		r.runJob(0, func() message {
			got, err := r.Integrator.Integrate(r.kill, b.Wave, b.Tasks)
			return message{integration: &integrationResult{b.Wave, got, err}}
		})
	case event.DeliveryStarted:
		r.runJob(0, func() message {
			d, err := r.Integrator.Deliver(r.kill, b.Complete)
			if err != nil {
				d = event.DeliveryEnded{How: "none", Why: err.Error(), Failed: true}
			}
			return message{event: d}
		})
	case event.PrecheckStarted:
		r.startPrecheck(b)
	case event.CriteriaStarted:
		r.startVerification(b)
	case event.ReviewStarted:
		r.runBackground(r.reviewJob(b))
	case event.Asked:
		r.askApproval(b)
	case event.CounselStarted:
		i, _ := r.s.Index(b.Task)
		c := r.Case(r.s, i, b)
		r.runJob(i, func() message {
			v := r.runPanel(c)
			return message{verdict: &v, panel: b.Panel}
		})
	}
}

// runJob runs f under the parallel limit and sends its message to the loop. Workers are reused, with
// the stack that they have grown. Events are admitted within the limit, so the loop waits at most
// for a worker that has sent its message and is about to become idle.
func (r *running) runJob(task int, f func() message) {
	job := func() {
		m := f()
		m.task = task
		r.results <- m // has room for all work that may run
	}
	select {
	case r.jobs <- job:
		return
	default:
	}
	worker := func() error {
		job()
		for next := range r.jobs {
			next()
		}
		return nil
	}
	if !r.group.TryGo(worker) {
		r.jobs <- job
	}
}

// runBackground runs f outside the parallel limit.
func (r *running) runBackground(f func() event.Body) {
	r.background.Go(func() error {
		r.results <- message{event: f()}
		return nil
	})
}

// startVerification runs a verification outside the parallel limit; the loop decides what follows.
func (r *running) startVerification(b event.CriteriaStarted) {
	work := func(context.Context, func() bool) (v Verification, err error) { return v, nil }
	if r.Verify != nil {
		work = r.Verify(r.s, b)
	}
	var startCtx context.Context
	startCtx, r.stopRechecks = context.WithCancel(r.kill)
	stopRechecks := r.stopRechecks
	r.background.Go(func() error {
		defer stopRechecks()
		v := verificationResult{started: b}
		if p := panics.Try(func() { v.got, v.err = work(r.kill, func() bool { return startCtx.Err() == nil }) }); p != nil {
			v.got = Verification{Cost: b.Cap} // criteria that were not checked stay assumptions
			if len(b.Rechecks) > 0 {
				v.err = fmt.Errorf("a bug in wavex: %v", p.Value)
			}
		}
		r.results <- message{verification: &v}
		return nil
	})
}

// startPrecheck asks the panel outside the parallel limit; the loop decides what follows.
func (r *running) startPrecheck(b event.PrecheckStarted) {
	out := counsel.Challenge{Error: "nobody is there to ask"}
	work := func(context.Context) counsel.Challenge { return out }
	if i, ok := r.s.Index(b.Task); ok && r.Precheck != nil {
		work = r.Precheck(r.s, i, b)
	}
	r.background.Go(func() error {
		if p := panics.Try(func() { out = work(r.kill) }); p != nil {
			out = counsel.Challenge{Error: fmt.Sprintf("a bug in wavex: %v", p.Value), Cost: b.Cap}
		}
		r.results <- message{challenge: &challengeResult{b, out}}
		return nil
	})
}

func (r *running) reviewJob(b event.ReviewStarted) func() event.Body {
	if r.Review == nil {
		return func() event.Body { return onReview(b, counsel.Review{Nothing: "there are no reviewers"}) }
	}
	work := r.Review(r.s, b)
	return func() event.Body {
		var out counsel.Review
		if p := panics.Try(func() { out = work(r.kill) }); p != nil {
			out = counsel.Review{Error: fmt.Sprintf("a bug in wavex: %v", p.Value), Cost: b.Cap}
		}
		return onReview(b, out)
	}
}

func (r *running) runAttempt(req runner.Request) (res runner.Result) {
	if p := panics.Try(func() { res = r.Runner.Attempt(r.kill, req) }); p != nil {
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
