package cmd

import (
	"context"
	"fmt"
	"time"

	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/textfmt"
)

// This file asks whether to resume an unfinished run. It asks only a person at a terminal; without
// one it never reads stdin.

// promptResume asks whether to resume the unfinished run: yes, fresh (start over), or status, which shows
// the run's status and asks again. If the answer is no, or the input ends without an answer, nothing is started.
func (r *invocation) promptResume(past []event.Event, last *runlog.Run, dir loop.Dir) (resume bool, err error) {
	h, err := runlog.Settled(r.plan, past, dir)
	if err != nil {
		return false, err
	}
	return r.terminalPrompter().promptUnfinished(h, last.Plan, r.opts.ascii)
}

// promptUnfinished asks whether to resume an unfinished run of the plan at path, or to start over; see promptResume.
func (p *prompter) promptUnfinished(h *runlog.History, path string, ascii bool) (resume bool, err error) {
	sum := report.Of(h.State, h.Events).At(time.Now(), false)
	fmt.Fprintf(p.out, "An unfinished run of %s is here: %s, %s spent", path, sum.Done(), sum.Cost.Spent())
	if sum.Reason != "" {
		fmt.Fprintf(p.out, " (%s)", sum.Reason)
	}
	fmt.Fprint(p.out, ".\n[Y]es resumes it, [f]resh starts over and keeps the old run aside, [n]o starts nothing.\n")
	for {
		// No run has begun, so a signal ends wavex.
		answer, err := p.promptWord(context.Background(), "Resume the run? [Y/n/fresh/status] ", "yes",
			"yes", "no", "fresh", "status")
		switch {
		case err != nil:
			return false, usage("no answer, so nothing was started; continue with: wavex resume, or start over with --fresh")
		case answer == "no":
			return false, usage("nothing was started; --fresh starts over")
		case answer != "status":
			return answer == "yes", nil
		}
		fmt.Fprint(p.out, "\n", sum.Table(0, ascii), "\n")
	}
}

// resumeOrFresh decides whether an unfinished run is resumed, by the flags or by asking the user. It
// refuses a run that is under way before it asks.
func (r *invocation) resumeOrFresh(past []event.Event, last *runlog.Run, dir string) (*event.Config, error) {
	o := r.opts
	if o.resuming || o.fresh || o.output != "text" || !canPrompt(r.std) {
		return &last.Config, nil
	}
	if err := journal.CheckLock(loop.In(dir)); err != nil {
		return nil, err
	}
	resume, err := r.promptResume(past, last, loop.In(dir))
	if err != nil {
		return nil, err
	}
	if !resume {
		r.opts.fresh = true
		return nil, nil
	}
	return &last.Config, nil
}

// unfinishedError is the usage error of a start where unfinished work is: a run, or another request.
type unfinishedError struct {
	error
	run *runlog.Run // nil: a request
}

func (e *unfinishedError) Unwrap() error { return e.error }

// offerToContinue asks a person at a terminal what to do about unfinished work. Without one it returns left. finished
// is as that of load.
func (q *requestCommand) offerToContinue(ctx context.Context, left *unfinishedError) (finished bool, err error) {
	if q.prompter == nil || q.planOnly || q.offline {
		return false, left
	}
	if err := journal.CheckLock(q.loop); err != nil {
		return false, err
	}
	if left.run == nil {
		fmt.Fprintf(q.std.Err, "Another request is under way here: %s\n", textfmt.Line(q.progress.Opened.Request))
		if yes, err := q.prompter.promptYesNo(ctx, "Continue it? [Y/n] "); err != nil || !yes {
			return false, left
		}
		q.text = ""
		return false, nil
	}
	h, err := runlog.LoadForDisplay(q.loop, "", "")
	if err == nil {
		err = h.Settle()
	}
	if err != nil {
		return false, err
	}
	resume, err := q.prompter.promptUnfinished(h, left.run.Plan, q.run.ascii)
	switch {
	case err != nil || resume:
		return resume, err
	case q.text == "":
		return false, q.noRequestError(false, nil)
	}
	q.run.fresh, q.past, q.progress = true, nil, nil
	return false, nil
}
