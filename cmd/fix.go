package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"

	"wavex/internal/event"
	"wavex/internal/inspect"
	"wavex/internal/inspect/scan"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/report"
)

// This file closes the gaps that a verification found. It adds a task to the run for each gap,
// resumes the run, and verifies everything again.

// maxIdleRounds is the number of rounds in a row that may close no gap before fixing stops.
const maxIdleRounds = 2

func runFix(ctx context.Context, args []string, o verifyOptions, std Stdio) error {
	if o.rounds < 1 {
		return usage("--max-rounds takes a number from 1")
	}
	inner := o.run
	inner.output = "text" // stdout is for the verification
	var who *prompter
	if o.run.mode == event.Interactive && canPrompt(std) {
		in := bufio.NewReader(std.In)
		std.In, std.Terminal = in, func() bool { return true } // one reader for all questions
		who = &prompter{in: in, out: std.Err}
	}
	var before []scan.Gap
	idle := 0
	var last *invocation
	for round := 1; ; round++ {
		v, err := openVerification(args, o.from, std)
		if err != nil {
			return err
		}
		if v.State == nil {
			return usage("there is no run in %s that could get tasks; start one with: wavex run %s", loop.In(v.Dir),
				plan.ShellQuote(v.Plan.Path))
		}
		var stop error
		doc, err := v.Run(ctx, func(doc *scan.Document) error {
			if round > 1 && !anyClosed(before, doc.Gaps) {
				idle++
			} else {
				idle = 0
			}
			switch {
			case len(doc.Gaps) == 0:
				stop = errNoGaps
			case idle >= maxIdleRounds:
				fmt.Fprintf(std.Err, "wavex: %d rounds closed no gap; %s left\n", idle, report.Plural(len(doc.Gaps), "gap is",
					"gaps are"))
				stop = exitCode(exitBreaker)
			case round > o.rounds:
				fmt.Fprintf(std.Err, "wavex: %s made; %s left\n", report.Plural(o.rounds, "round was", "rounds were"),
					report.Plural(len(doc.Gaps), "gap is", "gaps are"))
				stop = exitCode(exitLimit)
			default:
				if who != nil {
					yes, err := who.Confirm(ctx, fmt.Sprintf("Verification found %s. Attempt automatic fix? (%d/%d)",
						report.Plural(len(doc.Gaps), "gap", "gaps"), round, o.rounds))
					if err != nil || !yes {
						stop = exitCode(exitFailed)
						return err
					}
				}
				return v.AddRemediation(doc, round, o.rounds)
			}
			return nil
		})
		if err != nil {
			return err
		}
		if stop != nil {
			return finishFix(v, doc, o, last, stop, std)
		}
		before = doc.Gaps
		fmt.Fprintf(std.Err, "wavex: round %d of %d: %s\n", round, o.rounds, report.Plural(len(doc.Gaps), "gap", "gaps"))
		inner.planPath = v.Plan.Path
		if last, err = fixSession(ctx, inner, std); err != nil && exitCodeOf(err) != exitFailed {
			return err // a limit, a breaker or a decision that only a person can make, as the session reported it
		}
	}
}

var errNoGaps = errors.New("no gaps")

// finishFix reports how fixing ended. A run that fixing completed ends like any other.
func finishFix(v *inspect.Inspection, doc *scan.Document, o verifyOptions, last *invocation, stop error,
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
func fixSession(ctx context.Context, o runOptions, std Stdio) (*invocation, error) {
	r, err := prepare(ctx, o, std)
	if err != nil {
		return nil, err
	}
	defer r.close(ctx)
	r.suppressCompletion = true
	return r, r.run(ctx)
}

// anyClosed reports whether any gap of before is gone.
func anyClosed(before, now []scan.Gap) bool {
	left := map[string]bool{}
	for _, g := range now {
		left[g.Key()] = true
	}
	for _, g := range before {
		if !left[g.Key()] {
			return true
		}
	}
	return false
}
