package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"wavex/internal/event"
	"wavex/internal/inspect"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/report"
	"wavex/internal/run"
	"wavex/internal/ui"
)

// This file closes the gaps that a verification found. It adds a task to the run for each gap,
// resumes the run, and verifies everything again.

// maxIdleRounds is the number of rounds in a row that may close no gap before fixing stops.
const maxIdleRounds = 2

func runFix(ctx context.Context, args []string, o *verifyOptions, std Stdio) error {
	if err := o.run.readUser(); err != nil { // a resume reads nothing of the project's file
		return err
	}
	_ = proc.Subreaper() // see runPlan
	inner := *o.run
	inner.output = "text" // stdout is for the verification
	f := fixer{out: std.Err}
	if o.run.want.Mode == event.Interactive && canPrompt(std) {
		std = std.buffered()
		f.who = newPrompter(std)
	}
	var last *invocation
	for round := 1; ; round++ {
		v, err := openVerification(ctx, args, o, std)
		if err != nil {
			return err
		}
		if v.State == nil {
			return usage("there is no run in %s that could get tasks; start one with: wavex run %s", loop.In(v.Dir),
				plan.ShellQuote(v.Plan.Path))
		}
		if round == 1 {
			o.readRounds(v.Dir, std)
			f.rounds = o.rounds
		}
		var stop error
		doc, err := inspectWork(ctx, v, std, func(ctx context.Context, doc *inspect.Document) (err error) {
			if stop, err = f.decide(ctx, doc.Gaps, round); err != nil {
				return err
			}
			if err = v.Record(doc, round, o.rounds, f.why); err == nil && stop == nil {
				err = v.AddRemediation(doc, round, o.rounds)
			}
			return err
		})
		if err != nil {
			return err
		}
		if stop != nil {
			return finishFix(v, doc, o, last, stop, std)
		}
		fmt.Fprintf(std.Err, "wavex: round %d of %d: %s\n", round, o.rounds, report.Plural(len(doc.Gaps), "gap", "gaps"))
		inner.planPath = v.Plan.Path
		if last, err = fixSession(ctx, &inner, std); err != nil && exitCodeOf(err) != event.ExitFailed {
			return err // a limit, a breaker or a decision that only a person can make, as the session reported it
		}
		inner.forgetUsed()
	}
}

// readRounds takes the number of rounds of the project's file: the rest of it is for new runs. A mistake in
// the file stops no resume, because an attempt may have written it.
func (o *verifyOptions) readRounds(dir string, std Stdio) {
	path := filepath.Join(dir, run.SettingsFile)
	if err := o.run.readFile(fromProject, path, dir, "max-fix-rounds"); err != nil {
		fmt.Fprintf(std.Err, "wavex: warning: %s; going on with %d rounds\n", err, o.rounds)
	}
	o.run.tell(nil, std.Err)
}

// fixer decides whether another round of fixing is made.
type fixer struct {
	rounds int       // the most that may be made
	who    *prompter // is asked before each round; nil: no question
	out    io.Writer
	before []inspect.Gap // of the last round
	idle   int           // rounds in a row that closed no gap
	why    string        // the reason why gaps stay open; "" while there is none
}

// decide returns the reason to make no round, or nil for one.
func (f *fixer) decide(ctx context.Context, gaps []inspect.Gap, round int) (stop, err error) {
	f.idle++
	closed := slices.ContainsFunc(f.before, func(was inspect.Gap) bool {
		return !slices.ContainsFunc(gaps, func(g inspect.Gap) bool { return g.Key() == was.Key() })
	})
	if round == 1 || closed {
		f.idle = 0
	}
	f.before = gaps
	switch {
	case len(gaps) == 0:
		return errNoGaps, nil
	case f.idle >= maxIdleRounds:
		return f.stop(gaps, fmt.Sprintf("%d rounds closed no gap", f.idle), event.ExitBreaker), nil
	case round > f.rounds:
		return f.stop(gaps, report.Plural(f.rounds, "round was", "rounds were")+" made", event.ExitLimit), nil
	case f.who != nil:
		yes, err := f.who.promptYesNo(ctx, ui.Prompt(fmt.Sprintf("Verification found %s. Attempt automatic fix? (%d/%d)",
			report.Plural(len(gaps), "gap", "gaps"), round, f.rounds)))
		if err != nil || !yes {
			f.why = "the fix was declined"
			return exitCode(event.ExitFailed), err
		}
	}
	return nil, nil
}

// stop reports that gaps stay open, and returns the exit code as an error.
func (f *fixer) stop(gaps []inspect.Gap, why string, code event.ExitCode) error {
	f.why = why + "; " + report.Plural(len(gaps), "gap is", "gaps are") + " left"
	fmt.Fprintf(f.out, "wavex: %s; %s\n", f.why, manualHelp)
	return exitCode(code)
}

// manualHelp is the advice when fixing stops although gaps are left.
const manualHelp = "close them by hand, or correct the plan (they are in .loop/VERIFICATION.md), then: wavex verify"

var errNoGaps = errors.New("no gaps")

// finishFix reports how fixing ended. A run that fixing completed ends like any other.
func finishFix(v *inspect.Inspection, doc *inspect.Document, o *verifyOptions, last *invocation, stop error,
	std Stdio) error {
	if err := printVerification(v, doc, o.run, std); err != nil {
		return err
	}
	if !errors.Is(stop, errNoGaps) {
		return stop
	}
	if last != nil && o.run.output == "text" {
		last.printComplete()
	}
	return nil
}

// fixSession resumes the run for one session, without its last block: it is not known yet whether
// gaps remain.
func fixSession(ctx context.Context, o *runOptions, std Stdio) (*invocation, error) {
	r, err := prepare(ctx, o, std)
	if err != nil {
		return nil, err
	}
	defer r.close(ctx)
	r.suppressCompletion = true
	return r, r.run(ctx)
}
