package cmd

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/plan"
	"wavex/internal/request"
	"wavex/internal/textfmt"
	"wavex/internal/usererr"
	"wavex/runner"
	"wavex/scheduler"
)

// This file reports why a request ended before its plan, with the command that continues, and
// returns the exit code.

// withSignalCancel returns a context that a signal cancels. stopped stops listening and returns the
// signal's exit code. Without a signal it returns 0 and does not cancel the context, which others may use.
func withSignalCancel(ctx context.Context) (_ context.Context, stopped func() int) {
	ctx, cancel := context.WithCancelCause(ctx)
	in := notifyStopSignals()
	quit, done := make(chan struct{}), make(chan int, 1)
	go func() {
		select {
		case <-quit:
			done <- 0
		case s := <-in:
			cancel(scheduler.ErrInterrupted)
			done <- int(initialSignal(s).Code)
		}
	}()
	return ctx, func() int {
		signal.Stop(in)
		close(quit)
		return <-done
	}
}

// stageError prints why the stages ended before the plan and returns the exit code.
func (q *requestCommand) stageError(err error, signalled int) error {
	var (
		vague   *request.NotReadyError
		large   *request.TooLargeError
		call    *request.CallError
		refusal *request.Refusal
		limit   *budget.LimitError
		shape   *request.ShapeError
		full    *journal.WriteError
	)
	again := "wavex start"
	if q.config.PlanOnly {
		again = "wavex plan"
	}
	out := q.std.Err
	spent := fmt.Sprintf("spent so far: %s", q.intake.Spent().Spent())
	switch {
	case signalled != 0:
		fmt.Fprintf(out, "wavex: interrupted; %s; continue with: %s\n", spent, again)
		return exitCode(signalled)
	case errors.As(err, &vague):
		q.printNotReady(vague)
		return exitCode(event.ExitBlocked)
	case errors.As(err, &large):
		fmt.Fprintf(out, "wavex: %s; nothing was started. Take them one after the other:\n", err)
		for i, p := range large.Proposals {
			fmt.Fprintf(out, "  %d. %s\n     wavex start %q\n", i+1, p.Name, p.Request)
		}
		return exitCode(event.ExitBlocked)
	case errors.As(err, &refusal):
		fmt.Fprintf(out, "wavex: the planner gave no valid plan in %d rounds (%s); nothing was started. What was wrong with the last one:\n", refusal.Rounds, spent)
		for _, p := range refusal.Problems {
			fmt.Fprintln(out, "  - "+textfmt.Line(q.secrets.String(p)))
		}
		fmt.Fprintln(out, "Word the request otherwise, or write the plan by hand: wavex schema, wavex check")
		return exitCode(event.ExitBlocked)
	case errors.As(err, &limit):
		st := "wavex: " + limit.Error()
		fmt.Fprintf(out, "%s; continue with: %s --budget %s\n", st, again, q.moreMoney())
		return exitCode(event.ExitLimit)
	case errors.As(err, &call):
		return q.callError(call, again, spent)
	case errors.As(err, &shape):
		return usererr.Blocked(fmt.Errorf("%w; fix it or remove it, then continue with: %s", err, again))
	case errors.As(err, &full):
		return &advisedError{err, continueAdvice(err) + ", then continue with: " + again}
	case errors.Is(err, errNoAnswer):
		fmt.Fprintf(out, "wavex: no answer, so nothing more was done; %s; continue with: %s\n", spent, again)
		return exitCode(event.ExitBlocked)
	}
	return err
}

// moreMoney returns the advised raise of the budget: as much again as the request has cost, at least a dollar.
func (q *requestCommand) moreMoney() string { return max(q.intake.Spent(), budget.Dollar).Raise() }

// callError maps the end of a question to an exit code, with the rules for attempts.
func (q *requestCommand) callError(c *request.CallError, again, spent string) error {
	fmt.Fprintf(q.std.Err, "wavex: %s; %s", q.secrets.String(c.Error()), spent)
	code := event.ExitBlocked
	switch c.Outcome {
	case runner.Limited, runner.Throttled:
		code = event.ExitReset
		if !c.ResetsAt.IsZero() {
			fmt.Fprintf(q.std.Err, "; resume_at: %s", c.ResetsAt.UTC().Format(time.RFC3339))
		}
	case runner.OverCap:
		code = event.ExitLimit
		again += " --budget " + q.moreMoney()
	case runner.Interrupted:
		code = event.ExitSIGINT
	}
	fmt.Fprintf(q.std.Err, "; continue with: %s\n", again)
	return exitCode(code)
}

// printNotReady prints the missing parts of a request, and for each dimension a question and two
// proposals.
func (q *requestCommand) printNotReady(e *request.NotReadyError) {
	fmt.Fprintf(q.std.Err, "wavex: %s; nothing was planned.\n", e)
	for _, a := range e.Questions {
		fmt.Fprintf(q.std.Err, "  %s: %s\n", a.Dimension, a.Question)
		for i, p := range a.Proposals {
			fmt.Fprintf(q.std.Err, "    %c) %s\n", 'a'+i, p)
		}
	}
	fmt.Fprintf(q.std.Err, "Give the request again with the answers in it; --force goes on as it is. With every first proposal it is:\n  %s\n", q.answeredCommand(e))
}

// answeredCommand returns the command with the request and the first proposal for each question.
func (q *requestCommand) answeredCommand(e *request.NotReadyError) string {
	text := q.text
	if text == "" && q.progress != nil {
		text = q.progress.Opened.Request
	}
	for _, a := range e.Questions {
		if len(a.Proposals) > 0 {
			text += "; " + a.Proposals[0]
		}
	}
	return "wavex " + q.verb() + " " + plan.ShellQuote(textfmt.Line(q.secrets.String(text)))
}

// verb returns the command that the user called.
func (q *requestCommand) verb() string {
	if q.planOnly {
		return "plan"
	}
	return "start"
}
