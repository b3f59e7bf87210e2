package request

// This file asks a question that costs money. It reserves the money before, records the answer
// after, and never asks a question again that has an answer.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/userdata"
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

// askOnce returns the answer to a step, from the record or from put, which gets its cap and its log folder. Only an
// answer with the outcome done that read can read is final; the next session asks again after any other. The answer is
// read as it is on record, so secrets may be missing.
func askOnce[T any](ctx context.Context, m *Machine, step string, most budget.USD,
	put func(ctx context.Context, limit budget.USD, logDir string) runner.Answer,
	read func(json.RawMessage) (T, error)) (T, error) {
	var none T
	if done, ok := m.state.answers[step]; ok && done.Outcome == runner.Done {
		return read(done.Answer)
	}
	for n := 1; ; n++ {
		limit, ok := m.state.ledger.Share(1, most)
		if !ok {
			return none, m.state.ledger.Shortage()
		}
		try := m.state.answers[step].Try + 1
		if err := m.emit(event.CallStarted{Step: step, Try: try, Mark: m.Mark, Cap: limit}); err != nil {
			return none, err
		}
		a := put(ctx, limit, m.logDir(step, try))
		end := event.CallEnded{Step: step, Try: try, Outcome: a.Outcome, Reason: a.Reason, Cost: max(0, a.Cost),
			ResetsAt: a.ResetsAt}
		if a.Outcome == runner.Done {
			if end.Answer = a.Structured; len(end.Answer) == 0 {
				end.Answer, _ = json.Marshal(a.Text) // a string cannot fail
			}
			if _, err := read(end.Answer); err != nil {
				end.Outcome, end.Reason, end.Answer = runner.Wrong, err.Error(), nil
			}
		}
		if err := m.emit(end); err != nil {
			return none, err
		}
		if end.Outcome == runner.Done {
			return read(m.state.answers[step].Answer)
		}
		if n == maxTries || ctx.Err() != nil || !slices.Contains(retryable, end.Outcome) {
			return none, &CallError{Step: step, Outcome: end.Outcome, Reason: end.Reason, ResetsAt: a.ResetsAt}
		}
	}
}

// retryable lists failures that may be temporary.
var retryable = []runner.Outcome{runner.Wrong, runner.Truncated, runner.TimedOut, runner.Stalled, runner.Throttled}

// readOnly lists the tools for a question about the repository.
var readOnly = []string{"Read", "Grep", "Glob"}

// ask asks the agent one question, once.
func ask[T any](ctx context.Context, m *Machine, step string, most budget.USD, q runner.Question,
	read func(json.RawMessage) (T, error)) (T, error) {
	q.Name, q.Dir = step, m.Dir
	if len(q.Tools) > 0 {
		q.Timeout = 15 * time.Minute
	}
	if !m.Rehearsal {
		q.Rehearse = nil
	}
	return askOnce(ctx, m, step, most, func(ctx context.Context, limit budget.USD, logDir string) runner.Answer {
		q.Cap, q.LogDir = limit, filepath.Join(logDir, "call")
		return m.Caller.Ask(ctx, q)
	}, read)
}

// decode reads JSON. Its errors do not quote it.
func decode[T any](text json.RawMessage) (v T, err error) {
	if json.Unmarshal(text, &v) != nil {
		return v, errors.New("the answer is not the JSON asked for")
	}
	return v, nil
}

// rehearsalAnswer returns the answer of the rehearsal agent if a scenario has no other.
func rehearsalAnswer(v any) json.RawMessage {
	b, err := json.Marshal(map[string]any{"structured": v, "duration": "0s"})
	if err != nil {
		return nil
	}
	return b
}

// fence returns documents for a prompt, each with at most 64 KB.
func fence(notes []userdata.Note) string {
	var secs []counsel.Section
	for _, n := range notes {
		secs = append(secs, counsel.Section{Title: cleanLine(n.Title, 80), Body: n.Text, Limit: 64 << 10})
	}
	return "\n" + counsel.Fence(secs)
}
