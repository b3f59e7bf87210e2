package review

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"testing"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/secret"
	"wavex/internal/testrepo"
	"wavex/internal/workspace"
	"wavex/runner"
	"wavex/scheduler"
)

func TestMain(m *testing.M) { testrepo.Main(m) }

// fakeCaller is a Caller that answers by the name of a question, and records all questions.
type fakeCaller struct {
	answers   map[string]any // answers, encoded as JSON; other calls fail
	mu        sync.Mutex
	questions map[string]runner.Question
}

func (a *fakeCaller) Ask(_ context.Context, q runner.Question) runner.Answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.questions == nil {
		a.questions = map[string]runner.Question{}
	}
	a.questions[q.Name] = q
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

// newCoordinator returns the coordinator of a plan in a shared directory.
func newCoordinator(t *testing.T, dir, text string, who counsel.Caller) (*Coordinator, *scheduler.State) {
	t.Helper()
	p := testrepo.Plan(t, dir, text)
	c := event.Config{Run: "r", Dir: dir, Loop: loop.In(dir), Base: HeadCommit(t.Context(), dir),
		MaxRetries: 3}
	at, err := workspace.Open(t.Context(), p, c, "", nil, nil, func(string) {}, func(error) {})
	testrepo.Must(t, err)
	t.Cleanup(func() { testrepo.Must(t, at.Close(context.WithoutCancel(t.Context()))) })
	experts, err := counsel.LoadRoster("")
	testrepo.Must(t, err)
	s := scheduler.NewState(p)
	s.Config = c
	points, err := gitwork.OpenCheckpoints(t.Context(), dir, c.Run, os.Environ())
	if err == nil {
		testrepo.Must(t, points.BeforeWave(t.Context(), 1))
	}
	return &Coordinator{opts: Options{Redactor: secret.New(nil), Plan: p, Config: c, Workspace: at, Checkpoints: points},
		panel: &counsel.Panel{Caller: who, Experts: experts}}, s
}
