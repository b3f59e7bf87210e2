package stage

// This file puts a question that costs money: reserved before, on record after, and
// never put again once there is an answer.

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/decompose"
	"wavex/internal/intent"
	"wavex/runner"
	"wavex/scheduler"
)

// NotReady says that a request is too vague to plan, and what would make it clearer.
type NotReady struct {
	Score intent.Score
	Asked []counsel.Asked
}

func (e *NotReady) Error() string {
	return fmt.Sprintf("the request is not ready: %s, at least %d are needed", e.Score, intent.Ready)
}

// TooLarge says that a request is more than one plan, and which it could be.
type TooLarge struct{ Proposals []decompose.Proposal }

func (e *TooLarge) Error() string {
	return fmt.Sprintf("the request is more than %d tasks; it should be %d plans", decompose.MaxTasks, len(e.Proposals))
}

// CallError says that a question has no answer.
type CallError struct {
	Step     string
	Outcome  runner.Outcome
	Reason   string
	ResetsAt time.Time // of a usage limit
}

func (e *CallError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("%s: %s: %s", e.Step, e.Outcome, e.Reason), ": ")
}

// The most that one question may cost; it gets less where less is left.
const (
	scoreCap   = budget.Dollar / 2
	clarifyCap = budget.Dollar
	shapeCap   = 2 * budget.Dollar
	phaseCap   = 2 * budget.Dollar
	planCap    = 4 * budget.Dollar
	criticCap  = 2 * budget.Dollar
)

// tries is how often a question is put before its failure counts: once more where the
// failure may not come again.
const tries = 2

// paid gives the answer to a step: from the record, or from ask, which is told its cap and its
// log folder. Only an answer with the outcome done is final; anything else is asked again
// by the next session.
func (m *Machine) paid(ctx context.Context, step string, most budget.USD, ask func(ctx context.Context, limit budget.USD, logDir string) runner.Answer) (json.RawMessage, error) {
	if done, ok := m.rec.answers[step]; ok && done.Outcome == runner.Done {
		return done.Answer, nil
	}
	for n := 1; ; n++ {
		limit, ok := m.rec.ledger.Share(1, most)
		if !ok {
			return nil, m.rec.ledger.Shortage()
		}
		try := m.rec.tries[step] + 1
		if err := m.keep(scheduler.CallStarted{Step: step, Try: try, Mark: m.Mark, Cap: limit}); err != nil {
			return nil, err
		}
		a := ask(ctx, limit, m.logDir(step, try))
		end := scheduler.CallEnded{Step: step, Try: try, Outcome: a.Outcome, Reason: a.Reason, Cost: max(0, a.Cost), ResetsAt: a.ResetsAt}
		if a.Outcome == runner.Done {
			if end.Answer = a.Structured; len(end.Answer) == 0 {
				text, err := json.Marshal(a.Text)
				if err != nil {
					return nil, fmt.Errorf("keeping the answer of %s: %w", step, err)
				}
				end.Answer = text
			}
		}
		if err := m.keep(end); err != nil {
			return nil, err
		}
		if a.Outcome == runner.Done {
			// What is on record is what counts, also where a secret was taken out of it.
			return m.rec.answers[step].Answer, nil
		}
		if n == tries || ctx.Err() != nil || !again(a.Outcome) {
			return nil, &CallError{Step: step, Outcome: a.Outcome, Reason: a.Reason, ResetsAt: a.ResetsAt}
		}
	}
}

// again tells whether a failure may be no failure the second time.
func again(o runner.Outcome) bool {
	switch o {
	case runner.Wrong, runner.Truncated, runner.TimedOut, runner.Stalled, runner.Throttled:
		return true
	}
	return false
}

// readOnly are the tools of a question about the repository.
var readOnly = []string{"Read", "Grep", "Glob"}

// ask puts one question to the agent. An answer that usable refuses is as wrong as one
// without the form asked for, and is not kept; nil takes every answer.
func (m *Machine) ask(ctx context.Context, step string, most budget.USD, q runner.Question, usable func(json.RawMessage) error) (json.RawMessage, error) {
	q.Name, q.Dir, q.Model = step, m.Dir, m.Model
	if len(q.Tools) > 0 {
		q.Timeout = 15 * time.Minute
	}
	if !m.Rehearsal {
		q.Rehearse = nil
	}
	return m.paid(ctx, step, most, func(ctx context.Context, limit budget.USD, logDir string) runner.Answer {
		q.Cap, q.LogDir = limit, filepath.Join(logDir, "call")
		a := m.Caller.Ask(ctx, q)
		if a.Outcome != runner.Done || usable == nil {
			return a
		}
		if err := usable(a.Structured); err != nil {
			a.Outcome, a.Reason = runner.Wrong, err.Error()
		}
		return a
	})
}

// stand is what the rehearsal agent answers where a scenario says nothing else.
func stand(v any) json.RawMessage {
	b, err := json.Marshal(map[string]any{"structured": v, "duration": "0s"})
	if err != nil {
		return nil
	}
	return b
}
