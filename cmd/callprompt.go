package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"wavex/internal/event"
	"wavex/internal/question"
	"wavex/internal/textfmt"
	"wavex/internal/ui"
	"wavex/internal/userdata"
	"wavex/runner"
)

// This file asks the person at the terminal about tool calls, and remembers the patterns that the person allows for
// good.

// isAttended reports whether a person at a terminal can be asked and did not forbid questions.
func (r *invocation) isAttended() bool {
	return !r.opts.yes && r.opts.output == "text" && canPrompt(r.std)
}

// decidesCalls reports whether a person at the terminal is asked about tool calls.
func (r *invocation) decidesCalls() bool {
	if !r.isAttended() {
		return false
	}
	for i := range r.plan.Tasks {
		if len(r.plan.Settings(i).PolicyAsk) > 0 {
			return true
		}
	}
	return len(r.config.Policy.Ask) > 0
}

// callPrompter returns the person who decides on tool calls, or nil.
func (r *invocation) callPrompter(view ui.View) question.Terminal {
	if !r.decidesCalls() {
		return nil
	}
	return askCall(r.terminalPrompter(), view)
}

// askCall returns a Terminal whose questions appear in the view.
func askCall(p *prompter, view ui.View) question.Terminal {
	return func(ctx context.Context, q question.Question) (question.Choice, error) {
		if p.turn.Acquire(ctx, 1) != nil {
			return "", context.Cause(ctx)
		}
		defer p.turn.Release(1)
		prompt := fmt.Sprintf("\nTask %s asks for a call of %s: %s\n(the policy asks about %s until %s)\n"+
			"[o]nce, in this [r]un, [a]lways, [N]o? ", textfmt.Line(q.Task), textfmt.Line(q.Tool), textfmt.Line(q.Target),
			textfmt.Line(q.Pattern), q.Deadline.Local().Format("15:04:05"))
		view.Observe(runner.Observation{Task: q.Task, Attempt: q.Attempt, Kind: "asked", Text: prompt})
		defer view.Observe(runner.Observation{Task: q.Task, Attempt: q.Attempt, Kind: "answered"})
		answer, err := p.awaitWord(ctx, prompt, "no", "once", "run", "always", "no")
		var a *question.AnsweredError
		if errors.As(err, &a) {
			fmt.Fprintln(p.out, textfmt.Line(a.Error()))
		}
		return question.Choice(answer), err
	}
}

// allowedCalls is the file of the calls that the user has allowed for good. It is beside the user's settings file, in a
// folder that a wall closes.
func allowedCalls() userdata.Agreed {
	if userSettings() == "" {
		return ""
	}
	return userdata.Agreed(filepath.Join(filepath.Dir(userSettings()), "allowed"))
}

// allowAlways remembers a pattern that the user has allowed for good.
func (r *invocation) allowAlways(pattern string) {
	if err := allowedCalls().Add(pattern); err != nil {
		fmt.Fprintf(r.std.Err, "wavex: warning: %v\nto allow %s for good, add it to policy.allow of %s\n", err,
			textfmt.Line(pattern), cmp.Or(userSettings(), "your settings file"))
	}
}

// addAllowed adds the calls that the user has allowed for good to those of a new run.
func addAllowed(to *event.Policy) error {
	list, err := allowedCalls().All()
	if err != nil {
		return usage("reading the calls that are allowed for good: %s", err)
	}
	to.Allow = append(to.Allow, list...)
	return nil
}
