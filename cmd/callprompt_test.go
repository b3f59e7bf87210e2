package cmd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"wavex/internal/plan"
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

// A pattern that is allowed for good needs no answer in later runs, unless a variable says which do not.
func TestAllowAlways(t *testing.T) {
	s := &settingsTest{}
	if _, err := s.flags(t); err != nil { // it makes a home
		t.Fatal(err)
	}
	r := invocation{std: Stdio{Err: io.Discard}}
	r.allowAlways("git push")
	r.allowAlways("say \"hi\"")
	if err := os.WriteFile(userSettings(), []byte("policy: {allow: [curl]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for variable, want := range map[string][]string{"": {"curl", "git push", "say \"hi\""}, "wget": {"wget"}} {
		t.Setenv("WAVEX_OPT_POLICY_ALLOW", variable)
		o := newRunOptions(nil)
		var err error
		if o.settings, err = runSettings(&cobra.Command{}, o); err == nil {
			err = o.readUser()
		}
		c, resolved := resolveConfig(o, &plan.Plan{}, t.TempDir(), nil)
		if err = cmp.Or(err, resolved); err != nil || !slices.Equal(c.Policy.Allow, want) {
			t.Errorf("%q: %q, want %q; %v", variable, c.Policy.Allow, want, err)
		}
	}
}
