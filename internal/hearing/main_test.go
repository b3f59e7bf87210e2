package hearing

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync"
	"testing"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/roomtest"
	"wavex/internal/site"
	"wavex/runner"
	"wavex/scheduler"
)

func TestMain(m *testing.M) { roomtest.Main(m) }

// asked is a Caller that answers by the name of a question, and records all questions.
type asked struct {
	answers map[string]any // answers, encoded as JSON; other calls fail
	mu      sync.Mutex
	got     map[string]runner.Question
}

func (a *asked) Ask(_ context.Context, q runner.Question) runner.Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.got == nil {
		a.got = map[string]runner.Question{}
	}
	a.got[q.Name] = q
	what, ok := a.answers[q.Name]
	if !ok {
		return runner.Answer{Outcome: runner.Broken, Reason: "nobody is there", Cost: 1}
	}
	text, err := json.Marshal(what)
	if err != nil {
		return runner.Answer{Outcome: runner.Broken, Reason: err.Error()}
	}
	return runner.Answer{Outcome: runner.Done, Structured: text, Cost: 1000}
}

// heard returns a hearing of a plan in a shared directory.
func heard(t *testing.T, dir, text string, who counsel.Caller) (*Hearing, *scheduler.State) {
	t.Helper()
	p := roomtest.Plan(t, dir, text)
	c := scheduler.Config{Run: "r", Dir: dir, Loop: filepath.Join(dir, ".loop"), Base: Base(t.Context(), dir),
		MaxRetries: 3}
	at, err := site.Open(t.Context(), p, c, func(string) {})
	roomtest.Must(t, err)
	t.Cleanup(func() { roomtest.Must(t, at.Close(context.WithoutCancel(t.Context()))) })
	prices, err := budget.LoadPrices(nil)
	roomtest.Must(t, err)
	s := scheduler.NewState(p)
	s.Config = c
	return &Hearing{o: Options{Plan: p, Config: c, Site: at, Prices: prices}, panel: &counsel.Panel{Caller: who}}, s
}
