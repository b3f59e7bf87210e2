package cmd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wavex/internal/question"
	"wavex/internal/ui"
	"wavex/runner"
)

// While one question of a run has the terminal, the others wait, and each ends with its own time.
func TestQuestionsEndWhileTheyWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPrompter(Stdio{In: strings.NewReader("")})
		p.turn.TryAcquire(1)
		late := errors.New("late")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, late)
		defer cancel()
		if c, err := askCall(p, nil)(ctx, question.Question{}); c != "" || err != late {
			t.Errorf("a call: %q, %v", c, err)
		}
		if yes, err := (gatePrompter{p}).Confirm(ctx, "?"); yes || err != late {
			t.Errorf("a gate: %v, %v", yes, err)
		}
	})
}

// onAsked is a view that calls asked when a question is shown.
type onAsked struct {
	ui.View
	asked func()
}

func (v onAsked) Observe(o runner.Observation) {
	if o.Kind == "asked" {
		v.asked()
	}
}

// The terminal says which answer came from elsewhere.
func TestAnsweredElsewhereIsTold(t *testing.T) {
	t.Parallel()
	in, end := io.Pipe()
	var out bytes.Buffer
	p := newPrompter(Stdio{In: in, Err: &out})
	ctx, cancel := context.WithCancelCause(t.Context())
	answer := &question.AnsweredError{Answer: question.Answer{Choice: question.Once, By: "page"}}
	view := onAsked{asked: func() { cancel(answer) }}
	if c, err := askCall(p, view)(ctx, question.Question{}); c != "" || err != answer {
		t.Errorf("%q, %v", c, err)
	}
	if got := out.String(); got != "\nthe answer is once, by page\n" {
		t.Errorf("the terminal shows %q", got)
	}
	if err := end.Close(); err != nil { // the read of the terminal ends
		t.Error(err)
	}
}

// A pattern that is allowed for good needs no answer in later runs.
func TestAllowAlways(t *testing.T) {
	t.Setenv("WAVEX_DATA", filepath.Join(t.TempDir(), "data"))
	r := invocation{std: Stdio{Err: io.Discard}}
	r.config.Policy.Allow = []string{"curl"}
	r.allowAlways("git push")
	r.allowAlways("say \"hi\"\n")
	if got := r.allowedCalls(); !slices.Equal(got, []string{"git push", "say \"hi\"\n", "curl"}) {
		t.Errorf("%q", got)
	}
}
