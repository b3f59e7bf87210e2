package counsel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/sourcegraph/conc/panics"
	"github.com/sourcegraph/conc/pool"

	"wavex/budget"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// This file asks experts: all of them in parallel, each within its share of the cap, and reads their
// answers, which are untrusted. Every panel, review and judge asks through it.

// Panel asks experts about a case.
type Panel struct {
	Caller  Caller
	Experts *Roster
}

const (
	defaultTimeout = 5 * time.Minute
	// stopGrace is the time that a caller gets beyond Timeout to end its call by itself, which
	// yields the cost. Then the call is cancelled.
	stopGrace = 30 * time.Second
)

var (
	errTimeout       = errors.New("no answer in time")
	errShareTooSmall = errors.New("the cap cannot be shared among the experts")
)

// question returns the question to one expert. of is the common part of the questions to all
// experts: the beginning of their names, the folder of their folders, and the system prompt after the profile.
func (e Expert) question(of runner.Question) runner.Question {
	of.Name += e.Name
	of.LogDir = logDir(of.LogDir, e.Name)
	of.System = e.Body + "\n\n" + of.System
	if len(of.Tools) == 0 {
		of.System += noTools
	}
	return of
}

// askExperts puts a question to all experts. They share its cap with as many calls as come later; a cap of 0 means no
// cap. A share that rounds to 0 is an error, because it would mean no cap at all. prompts holds the prompt of each
// expert; nil: all have that of the question.
func (p *Panel) askExperts(ctx context.Context, experts []Expert, of runner.Question, later int,
	prompts []string) ([]runner.Answer, error) {
	if calls := len(experts) + later; of.Cap != 0 {
		share := of.Cap / budget.USD(calls)
		if share <= 0 {
			return nil, fmt.Errorf("%w: %s for %d calls", errShareTooSmall, of.Cap, calls)
		}
		of.Cap = share
	}
	questions := make([]runner.Question, len(experts))
	for i, e := range experts {
		if prompts != nil {
			of.Prompt = prompts[i]
		}
		questions[i] = e.question(of)
	}
	return p.askAll(ctx, questions), nil
}

// readTools returns the CLI's read-only tools.
func readTools() []string { return []string{"Read", "Grep", "Glob"} }

func logDir(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

// askAll puts the questions in parallel and waits for all answers. answers[i] belongs to qs[i].
func (p *Panel) askAll(ctx context.Context, qs []runner.Question) []runner.Answer {
	// Goroutines write by index, because the ResultPool of conc v0.3.0 returns results in the
	// order in which they end.
	answers := make([]runner.Answer, len(qs))
	panel := pool.New().WithMaxGoroutines(len(qs))
	for i, q := range qs {
		panel.Go(func() { answers[i] = p.askOne(ctx, q) })
	}
	panel.Wait()
	return answers
}

// askOne asks one question. It recovers from a panic of the caller.
func (p *Panel) askOne(ctx context.Context, q runner.Question) (answer runner.Answer) {
	q.Timeout = defaultTimeout
	if ctx.Err() != nil {
		return runner.Answer{Outcome: runner.Interrupted}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, q.Timeout+stopGrace, errTimeout)
	defer cancel()
	if caught := panics.Try(func() { answer = p.Caller.Ask(ctx, q) }); caught != nil {
		// The cost is unknown, so the cap counts, as for any call that died.
		return runner.Answer{Outcome: runner.Broken, Cost: q.Cap, Priced: "cap",
			Reason: "the call panicked: " + oneLine(fmt.Sprint(caught.Value), 200)}
	}
	if answer.Cost = max(0, answer.Cost); answer.Outcome == runner.Interrupted && context.Cause(ctx) == errTimeout {
		answer.Outcome, answer.Reason = runner.TimedOut, fmt.Sprintf("no answer within %s", q.Timeout)
	}
	return answer
}

// decode reads a structured answer. why says why an answer cannot be read. It never quotes the answer, which is
// untrusted.
func decode[T any](a runner.Answer) (v T, why string) {
	switch {
	case a.Outcome != runner.Done:
		return v, noAnswer(a)
	case len(a.Structured) == 0:
		return v, unusable("it is empty")
	case json.Unmarshal(a.Structured, &v) != nil:
		return v, unusable("it is not the JSON asked for")
	}
	return v, ""
}

func unusable(why string) string { return "unusable answer: " + why }

// failureOf returns why calls gave no result together: Interrupted if one was cut off, else the outcome that all
// answers have, or "".
func failureOf(answers []runner.Answer) runner.Outcome {
	common := answers[0].Outcome
	for _, a := range answers {
		switch {
		case a.Outcome == runner.Interrupted:
			return runner.Interrupted
		case a.Outcome != common:
			common = ""
		}
	}
	return common
}

// oneLine returns s as one clean line of at most n bytes.
func oneLine(s string, n int) string { return textfmt.OneLine(textfmt.Plain(s), n) }

// boundedText cleans a text of a model, and cuts its middle if it is long.
func boundedText(s string) string {
	return textfmt.HeadTail(strings.TrimSpace(textfmt.Plain(s)), maxText)
}

// noAnswer returns why a call has no answer, with at most 300 bytes of its reason.
func noAnswer(a runner.Answer) string {
	return strings.TrimSuffix(cmp.Or(string(a.Outcome), "no outcome")+": "+oneLine(a.Reason, 300), ": ")
}
