package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/report"
	"wavex/internal/runlog"
)

// This file asks whether to resume an unfinished run. It asks only a person at a terminal; without
// one it never reads stdin.

// promptResume asks whether to resume the unfinished run: yes, fresh (start over), or status, which shows
// the run's status and asks again. With no, or if the input ends without an answer, nothing is started.
func (r *invocation) promptResume(past []event.Event, last *runlog.Run, dir loop.Dir) (resume bool, err error) {
	h, err := runlog.Settled(r.plan, past, dir)
	if err != nil {
		return false, err
	}
	sum := report.Of(h.State, h.Events).At(time.Now(), false)
	fmt.Fprintf(r.std.Err, "An unfinished run of %s is here: %s, %s spent", last.Plan, sum.Done(), sum.Cost.Spent())
	if sum.Reason != "" {
		fmt.Fprintf(r.std.Err, " (%s)", sum.Reason)
	}
	fmt.Fprint(r.std.Err, ".\n[Y]es resumes it, [f]resh starts over and keeps the old run aside, [n]o starts nothing.\n")
	for {
		// No run has begun, so a signal ends wavex.
		line, err := r.terminalPrompter().promptLine(context.Background(), "Resume the run? [Y/n/fresh/status] ")
		if err != nil {
			return false, usage("no answer, so nothing was started; --resume or --fresh answers beforehand")
		}
		switch strings.ToLower(line) {
		case "", "y", "yes", "r", "resume":
			return true, nil
		case "n", "no":
			return false, usage("nothing was started; wavex run --fresh starts over")
		case "f", "fresh":
			return false, nil
		case "s", "status":
			fmt.Fprint(r.std.Err, "\n", sum.Table(0, r.opts.ascii), "\n")
		default:
			fmt.Fprintln(r.std.Err, "Please answer yes, no, fresh or status.")
		}
	}
}

// resumeOrFresh decides whether an unfinished run is resumed, by the flags or by asking the user. It
// refuses a run that is under way before it asks.
func (r *invocation) resumeOrFresh(past []event.Event, last *runlog.Run, dir string) (*event.Config, error) {
	o := r.opts
	answered := o.resuming || o.resume || o.fresh || o.given("if-unfinished")
	if answered || o.output != "text" || !canPrompt(r.std) {
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
