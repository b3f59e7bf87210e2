package request

// This file asks a question that costs money. It reserves the money before, records the answer
// after, and never asks a question again that has an answer.

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/runner"
)

// NotReadyError means that a request is too vague to plan, and has the questions that would make it
// clearer.
type NotReadyError struct {
	Score     Score
	Questions []counsel.ClarifyQuestion
}

func (e *NotReadyError) Error() string {
	return fmt.Sprintf("the request is not ready: %s, at least %d are needed", e.Score, MinReady)
}

// TooLargeError means that a request needs more than one plan, and proposes the plans.
type TooLargeError struct{ Proposals []Proposal }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the request is more than %d tasks; it should be %d plans", maxTasks, len(e.Proposals))
}

// CallError means that a question got no answer.
type CallError struct {
	Step     string
	Outcome  runner.Outcome
	Reason   string
	ResetsAt time.Time // of a usage limit
}

func (e *CallError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("%s: %s: %s", e.Step, e.Outcome, e.Reason), ": ")
}

// The maximum cost of one question. It is lower if less money is left.
const (
	scoreCap   = budget.Dollar / 2
	clarifyCap = budget.Dollar
	shapeCap   = 2 * budget.Dollar
	phaseCap   = 2 * budget.Dollar
	planCap    = 4 * budget.Dollar
)

// maxTries is the number of times that a question is asked if its failure may be temporary.
const maxTries = 2

// askOnce returns the answer to a step, from the record or from ask, which gets its cap and its log
// folder. Only an answer with the outcome done is final; the next session asks again after any
// other.
func (m *Machine) askOnce(ctx context.Context, step string, most budget.USD,
	ask func(ctx context.Context, limit budget.USD, logDir string) runner.Answer) (json.RawMessage, error) {
	if done, ok := m.state.answers[step]; ok && done.Outcome == runner.Done {
		return done.Answer, nil
	}
	for n := 1; ; n++ {
		limit, ok := m.state.ledger.Share(1, most)
		if !ok {
			return nil, m.state.ledger.Shortage()
		}
		try := m.state.tries[step] + 1
		if err := m.emit(event.CallStarted{Step: step, Try: try, Mark: m.Mark, Cap: limit}); err != nil {
			return nil, err
		}
		a := ask(ctx, limit, m.logDir(step, try))
		end := event.CallEnded{Step: step, Try: try, Outcome: a.Outcome, Reason: a.Reason, Cost: max(0, a.Cost),
			ResetsAt: a.ResetsAt}
		if a.Outcome == runner.Done {
			if end.Answer = a.Structured; len(end.Answer) == 0 {
				text, err := json.Marshal(a.Text)
				if err != nil {
					return nil, fmt.Errorf("keeping the answer of %s: %w", step, err)
				}
				end.Answer = text
			}
		}
		if err := m.emit(end); err != nil {
			return nil, err
		}
		if a.Outcome == runner.Done {
			// Use the recorded answer, from which secrets may have been removed.
			return m.state.answers[step].Answer, nil
		}
		if n == maxTries || ctx.Err() != nil || !slices.Contains(retryable, a.Outcome) {
			return nil, &CallError{Step: step, Outcome: a.Outcome, Reason: a.Reason, ResetsAt: a.ResetsAt}
		}
	}
}

// retryable lists failures that may be temporary.
var retryable = []runner.Outcome{runner.Wrong, runner.Truncated, runner.TimedOut, runner.Stalled, runner.Throttled}

// readOnly lists the tools for a question about the repository.
var readOnly = []string{"Read", "Grep", "Glob"}

// ask asks the agent one question. An answer that usable rejects counts as wrong, like one that
// violates the schema, and is not kept. With usable nil every answer is accepted.
func (m *Machine) ask(ctx context.Context, step string, most budget.USD, q runner.Question,
	usable func(json.RawMessage) error) (json.RawMessage, error) {
	q.Name, q.Dir, q.Model = step, m.Dir, m.Model
	if len(q.Tools) > 0 {
		q.Timeout = 15 * time.Minute
	}
	if !m.Rehearsal {
		q.Rehearse = nil
	}
	return m.askOnce(ctx, step, most, func(ctx context.Context, limit budget.USD, logDir string) runner.Answer {
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

// rehearsalAnswer returns the answer of the rehearsal agent if a scenario has no other.
func rehearsalAnswer(v any) json.RawMessage {
	b, err := json.Marshal(map[string]any{"structured": v, "duration": "0s"})
	if err != nil {
		return nil
	}
	return b
}
