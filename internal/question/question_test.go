package question_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"wavex/internal/policy"
	"wavex/internal/question"
	"wavex/internal/testrepo"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var push = policy.Question{Task: "T-001", Attempt: 2, Tool: "Bash", Target: "git push origin", Pattern: "git push"}

// says returns a person who gives one answer each time, and counts the questions.
func says(c question.Choice, asked *int) question.Terminal {
	return func(context.Context, question.Question) (question.Choice, error) {
		*asked++
		return c, nil
	}
}

// Each choice decides on the call, and those for longer also on later ones, in a later session too.
func TestChoices(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		choice        question.Choice
		allowed       bool
		why           string
		asked, always int // after two calls
		later         bool
	}{
		{question.Once, true, "", 2, 0, false}, {question.Run, true, "", 1, 0, true}, {question.Always, true, "", 1, 1, true},
		{question.No, false, "a person said no", 2, 0, false},
	} {
		dir, asked, always := question.Dir(t.TempDir()+"/questions"), 0, 0
		desk := question.NewDesk(dir, says(tc.choice, &asked), nil, func(p string) { always++ })
		for range 2 {
			if ok, why := desk.Decide(t.Context(), push, time.Minute); ok != tc.allowed || !strings.Contains(why, tc.why) {
				t.Errorf("%s: allowed %v, %q", tc.choice, ok, why)
			}
		}
		if asked != tc.asked || always != tc.always {
			t.Errorf("%s: asked %d times, %d for good", tc.choice, asked, always)
		}
		later, _ := question.NewDesk(dir, nil, nil, nil).Decide(t.Context(), push, time.Minute)
		if later != tc.later {
			t.Errorf("%s: a later session allows it: %v", tc.choice, later)
		}
		if open, err := dir.Open(time.Now()); err != nil || len(open) > 0 {
			t.Errorf("%s: open %v, %v", tc.choice, open, err)
		}
	}
}

// Each pattern that matches a call must be allowed. An answer counts for the whole call, and later for its pattern.
func TestSeveralPatterns(t *testing.T) {
	t.Parallel()
	both := push
	both.Others = "curl\nmake"
	var asked []string
	terminal := func(_ context.Context, q question.Question) (question.Choice, error) {
		asked = append(asked, q.Pattern)
		return question.Run, nil
	}
	desk := question.NewDesk(question.Dir(t.TempDir()), terminal, []string{"git push"}, nil)
	for range 3 {
		if ok, why := desk.Decide(t.Context(), both, time.Minute); !ok {
			t.Errorf("denied: %s", why)
		}
	}
	if !slices.Equal(asked, []string{"curl", "make"}) {
		t.Errorf("asked about %v", asked)
	}
	if ok, _ := question.NewDesk(question.Dir(t.TempDir()), nil, []string{"git push", "make"}, nil).Decide(t.Context(),
		both, time.Minute); ok {
		t.Error("a call runs of which a part is allowed")
	}
}

// If no person is there, a call is denied at once. A pattern of the user's own settings needs no person.
func TestUnattended(t *testing.T) {
	t.Parallel()
	dir := question.Dir(t.TempDir())
	if ok, why := question.NewDesk(dir, nil, nil, nil).Decide(t.Context(), push, time.Hour); ok ||
		!strings.Contains(why, "none is there") {
		t.Errorf("%v, %q", ok, why)
	}
	if ok, _ := question.NewDesk(dir, nil, []string{"git push"}, nil).Decide(t.Context(), push, time.Hour); !ok {
		t.Error("a pattern that is allowed for good is denied")
	}
}

// A question without an answer ends at its deadline, and one that the caller gives up ends then.
func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := question.Dir(t.TempDir())
		silent := func(ctx context.Context, _ question.Question) (question.Choice, error) {
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
		desk, began := question.NewDesk(dir, silent, nil, nil), time.Now()
		ok, why := desk.Decide(t.Context(), push, 5*time.Minute)
		if took := time.Since(began); ok || !strings.Contains(why, "no answer came within 5m0s") || took != 5*time.Minute {
			t.Errorf("%v, %q after %s", ok, why, took)
		}
		if err := dir.Answer("q1", question.Answer{Choice: question.Once}, time.Now()); !errors.Is(err, question.ErrClosed) {
			t.Errorf("answered late: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if ok, _ := desk.Decide(ctx, push, time.Hour); ok || time.Since(began) != 5*time.Minute {
			t.Errorf("given up: %v after %s", ok, time.Since(began))
		}
	})
}

// Another process finds the open questions and answers them. The first answer counts, the terminal's or its.
func TestAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	dir := question.Dir(t.TempDir())
	release, err := dir.Watch()
	testrepo.Must(t, err)
	defer release()
	terminal := func(ctx context.Context, q question.Question) (question.Choice, error) {
		open, err := dir.Open(time.Now())
		if err != nil || len(open) != 1 || open[0].Question != push || open[0].ID != q.ID {
			t.Errorf("open %+v, %v", open, err)
		}
		if err := dir.Answer(q.ID, question.Answer{Choice: "maybe"}, time.Now()); err == nil {
			t.Error("maybe is an answer")
		}
		if err := dir.Answer(q.ID, question.Answer{Choice: question.No, By: "mcp"}, time.Now()); err != nil {
			t.Error(err)
		}
		if err := dir.Answer(q.ID, question.Answer{Choice: question.Once}, time.Now()); !errors.Is(err, question.ErrClosed) {
			t.Errorf("answered twice: %v", err)
		}
		return question.Always, nil
	}
	if ok, why := question.NewDesk(dir, terminal, nil, nil).Decide(t.Context(), push, time.Hour); ok ||
		!strings.Contains(why, "said no") {
		t.Errorf("%v, %q", ok, why)
	}
}

// One of several answers at the same time counts, and a reader sees it whole or not at all. Half an answer, which a
// full disk or the end of its writer left, does not count.
func TestAnswersAreWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "q1.answer.json")
	ctx, cancel := context.WithCancel(t.Context())
	terminal := func(_ context.Context, q question.Question) (question.Choice, error) {
		defer cancel()
		if err := os.WriteFile(file, []byte(`{"choice":"on`), 0o600); err != nil {
			t.Error(err)
		}
		if open, err := question.Dir(dir).Open(time.Now()); err != nil || len(open) != 1 {
			t.Errorf("half an answer closes a question: %v, %v", open, err)
		}
		var won atomic.Int32
		var writers sync.WaitGroup
		for range 20 {
			for _, c := range question.Choices {
				writers.Go(func() {
					err := question.Dir(dir).Answer(q.ID, question.Answer{Choice: c}, time.Now())
					if err == nil {
						won.Add(1)
					} else if !errors.Is(err, question.ErrClosed) {
						t.Error(err)
					}
					if text, readErr := os.ReadFile(file); readErr != nil || !bytes.HasSuffix(text, []byte("\"}\n")) {
						t.Errorf("after an answer (%v): %q, %v", err, text, readErr)
					}
				})
			}
		}
		if writers.Wait(); won.Load() != 1 {
			t.Errorf("%d answers count", won.Load())
		}
		return "", errors.New("no terminal")
	}
	question.NewDesk(question.Dir(dir), terminal, nil, func(string) {}).Decide(ctx, push, time.Hour)
}

// Without a terminal, a process that watches is enough. Its answer counts until the deadline.
func TestAnsweredByAWatcher(t *testing.T) {
	t.Parallel()
	const limit = time.Minute + 50*time.Millisecond // between two looks for the answer
	for _, early := range []time.Duration{time.Second, time.Nanosecond} {
		synctest.Test(t, func(t *testing.T) {
			dir := question.Dir(t.TempDir())
			release, err := dir.Watch()
			testrepo.Must(t, err)
			defer release()
			done := make(chan bool)
			go func() {
				ok, _ := question.NewDesk(dir, nil, nil, nil).Decide(t.Context(), push, limit)
				done <- ok
			}()
			time.Sleep(limit - early) // virtual time
			synctest.Wait()
			if err := dir.Answer("q1", question.Answer{Choice: question.Run}, time.Now()); err != nil {
				t.Error(err)
			}
			if !<-done {
				t.Errorf("answered %s before the deadline, and denied", early)
			}
		})
	}
}

// A person at the terminal is told the answer that came from elsewhere while the terminal asked.
func TestTerminalIsTold(t *testing.T) {
	t.Parallel()
	dir := question.Dir(t.TempDir())
	told := make(chan error, 1)
	terminal := func(ctx context.Context, q question.Question) (question.Choice, error) {
		if err := dir.Answer(q.ID, question.Answer{Choice: question.Once, By: "page"}, time.Now()); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		told <- context.Cause(ctx)
		return "", context.Cause(ctx)
	}
	if ok, why := question.NewDesk(dir, terminal, nil, nil).Decide(t.Context(), push, time.Hour); !ok {
		t.Errorf("denied: %q", why)
	}
	var a *question.AnsweredError
	if err := <-told; !errors.As(err, &a) || a.Error() != "the answer is once, by page" {
		t.Errorf("the terminal is told %v", err)
	}
}

// Several questions wait one after the other. An answer for the run decides on those that wait.
func TestOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		busy := false
		terminal := func(_ context.Context, q question.Question) (question.Choice, error) {
			if busy {
				t.Error("two questions at once")
			}
			busy = true
			time.Sleep(time.Second) // a person thinks, in virtual time
			busy = false
			asked = append(asked, q.Pattern)
			return question.Run, nil
		}
		desk := question.NewDesk(question.Dir(t.TempDir()), terminal, nil, nil)
		done := make(chan bool)
		for _, pattern := range []string{"git push", "git push", "curl"} {
			go func() {
				ok, _ := desk.Decide(t.Context(), policy.Question{Tool: "Bash", Pattern: pattern}, time.Minute)
				done <- ok
			}()
		}
		for range 3 {
			if !<-done {
				t.Error("denied")
			}
		}
		if slices.Sort(asked); !slices.Equal(asked, []string{"curl", "git push"}) {
			t.Errorf("asked about %v", asked)
		}
	})
}
