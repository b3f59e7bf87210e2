package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/testrepo"
	"wavex/runner"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mustPlan parses a plan of a test.
func mustPlan(t rapid.TB, text string) *plan.Plan {
	t.Helper()
	p, diags := plan.Parse("plan.json", []byte(text), plan.Options{})
	if p == nil {
		t.Fatalf("the test's plan: %v", diags)
	}
	return p
}

// task returns a task in JSON.
func task(id string, blockedBy ...string) string {
	b, _ := json.Marshal(append([]string{}, blockedBy...))
	return fmt.Sprintf(`{"id":%q,"subject":"do %s","verify":["true"],"blockedBy":%s}`, id, id, b)
}

func planText(tasks ...string) string {
	out := `{"version":1,"tasks":[`
	for i, t := range tasks {
		if i > 0 {
			out += ","
		}
		out += t
	}
	return out + "]}"
}

// mustApply applies events to a state, one after the other.
func mustApply(t rapid.TB, s *State, bodies ...event.Body) {
	t.Helper()
	for _, b := range bodies {
		if err := s.apply(event.Event{Seq: s.Seq + 1, Time: epoch, Body: b}); err != nil {
			t.Fatalf("%+v: %v", b, err)
		}
	}
}

// replayed returns the state of a plan after events.
func replayed(t rapid.TB, p *plan.Plan, events []event.Event) *State {
	t.Helper()
	s := NewState(p)
	if err := s.Replay(events); err != nil {
		t.Fatal(err)
	}
	return s
}

// mustReplayAs fails unless a replay of the events of a plan leads to the same state.
func mustReplayAs(t rapid.TB, s *State, p *plan.Plan, events []event.Event) {
	t.Helper()
	if again := replayed(t, p, events); !reflect.DeepEqual(visible(again), visible(s)) {
		t.Fatalf("the replay differs:\n%+v\n%+v", visible(again), visible(s))
	}
}

// memJournal is a journal that keeps all events and can fail.
type memJournal struct {
	mu      sync.Mutex // guards events and pending, which runners read in some tests
	events  []event.Event
	written int // number of pending events that survive a kill
	pending []event.Event
	fail    error
	failAt  int64
	failIn  string // "Append" or "Write"; "": Sync
}

// failure returns the error of a method that meets the record from which it fails, once.
func (m *memJournal) failure(method string, seq int64) (err error) {
	if m.failIn == method && seq >= m.failAt {
		err, m.fail = m.fail, nil
	}
	return err
}

func (m *memJournal) Append(e event.Event) error {
	// Encode and decode as on disk, so that fields that are not in the journal are lost here too.
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	var back event.Event
	if err := json.Unmarshal(b, &back); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending = append(m.pending, back)
	return m.failure("Append", e.Seq)
}

func (m *memJournal) Write() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failure("Write", m.pending[len(m.pending)-1].Seq); err != nil {
		return err
	}
	m.written = len(m.pending)
	return nil
}

func (m *memJournal) Sync() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.failure("", m.pending[len(m.pending)-1].Seq); err != nil {
		return err
	}
	m.events = append(m.events, m.pending...)
	m.pending, m.written = nil, 0
	return nil
}

// scriptedRunner is a Runner with scripted results by task; the last one repeats. A gate holds an attempt
// until the test opens it.
type scriptedRunner struct {
	mu      sync.Mutex
	results map[string][]runner.Result
	gates   map[string]chan struct{}
	started chan string // receives every start; may be nil
	calls   []runner.Request
}

func (s *scriptedRunner) Attempt(ctx context.Context, req runner.Request, _ runner.Hooks) runner.Result {
	s.mu.Lock()
	s.calls = append(s.calls, req)
	gate := s.gates[req.Task]
	res := runner.Result{Outcome: runner.Done, Session: req.Session, Cost: 1000, Priced: "result", Turns: 1}
	if list := s.results[req.Task]; len(list) > 0 {
		res = list[0]
		if len(list) > 1 {
			s.results[req.Task] = list[1:]
		}
	}
	s.mu.Unlock()
	if s.started != nil {
		s.started <- req.Task
	}
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			res = runner.Result{Outcome: runner.Interrupted, Session: req.Session, Cost: 500}
		}
	}
	return res
}

func (s *scriptedRunner) order() []string {
	var out []string
	for _, c := range s.calls {
		out = append(out, c.Task)
	}
	return out
}

// fakePanel is a panel that always gives the same advice.
type fakePanel struct {
	mu    sync.Mutex
	cases []counsel.Case
	v     counsel.Verdict
}

func (a *fakePanel) Diagnose(_ context.Context, c counsel.Case) counsel.Verdict {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cases = append(a.cases, c)
	return a.v
}

// fixture holds a loop with all its fakes.
type fixture struct {
	*Loop
	journal *memJournal
	runner  *scriptedRunner
	panel   *fakePanel
	signals chan Signal
}

func testConfig() event.Config {
	c := event.DefaultConfig()
	c.Parallel = 4
	c.Run, c.Agent = "run-1", "fake"
	c.Limits = budget.Limits{USD: 25 * budget.Dollar, Iterations: 100}
	c.SameError = 0 // tests of breakers enable it
	c.SameUnmet = 0
	return c
}

func newFixture(t rapid.TB, p *plan.Plan, c event.Config) *fixture {
	t.Helper()
	s := NewState(p)
	b := &fixture{journal: &memJournal{}, runner: &scriptedRunner{results: map[string][]runner.Result{},
		gates: map[string]chan struct{}{}},
		panel:   &fakePanel{v: counsel.Verdict{Analysis: "because", Fix: "do otherwise", Cost: 100}},
		signals: make(chan Signal)}
	b.Loop = &Loop{State: s, StartEvent: event.RunStarted{Config: c, Plan: p.Path, Tasks: len(p.Tasks), Waves: s.Waves},
		Journal: b.journal, Runner: b.runner, Panel: b.panel, Signals: b.signals,
		Request: func(s *State, i int, e event.AttemptStarted) (runner.Request, error) {
			return runner.Request{Run: c.Run, Task: e.Task, Attempt: e.Attempt, Session: e.Session, Resume: e.Resume, Cap: e.Cap,
				Slot: e.Slot}, nil
		},
		Case: func(s *State, i int, e event.CounselStarted) counsel.Case {
			return counsel.Case{Task: e.Task, Attempt: e.Attempt, Cap: e.Cap, Thorough: e.Thorough}
		},
		Now: time.Now, Jitter: func() float64 { return 0.5 },
	}
	return b
}

// nextSession returns the next session of a run over its events.
func nextSession(t rapid.TB, p *plan.Plan, c event.Config, events []event.Event) *fixture {
	t.Helper()
	b := newFixture(t, p, c)
	b.State = replayed(t, p, events)
	b.StartEvent, b.journal.events = event.RunResumed{Config: c}, slices.Clone(events)
	return b
}

func (b *fixture) run(t testing.TB) event.RunEnded {
	t.Helper()
	end, err := b.Run(t.Context())
	testrepo.Must(t, err)
	return end
}

// of returns the bodies of one type from the journal.
func of[T event.Body](m *memJournal) []T {
	var out []T
	for _, e := range m.events {
		if b, ok := e.Body.(T); ok {
			out = append(out, b)
		}
	}
	return out
}

// start runs a fixture beside the test, and returns the channel of its end.
func (b *fixture) start(t testing.TB) <-chan event.RunEnded {
	done := make(chan event.RunEnded, 1)
	go func() { done <- b.run(t) }()
	return done
}

// afterEnd calls a function after the first attempt at a task.
func (b *fixture) afterEnd(task string, do func()) {
	b.Views = append(b.Views, viewFunc(func(e event.Event, _ *State) {
		if end, ok := e.Body.(event.AttemptEnded); ok && end.Task == task && end.Attempt == 1 {
			do()
		}
	}))
}

// reviewed answers each review.
func reviewed(r counsel.Review) func(*State, event.ReviewStarted) func(context.Context) counsel.Review {
	return func(*State, event.ReviewStarted) func(context.Context) counsel.Review {
		return func(context.Context) counsel.Review { return r }
	}
}

// verification is the work of a verification.
type verification = func(ctx context.Context, more func() bool) (Verification, error)

// verified returns a verification whose answer is known.
func verified(v Verification, err error) verification {
	return func(context.Context, func() bool) (Verification, error) { return v, err }
}

func wrong(reason string) runner.Result {
	return runner.Result{Outcome: runner.Wrong, Reason: reason, Signature: reason, Session: "s", Cost: 2000,
		Priced: "result", Turns: 1}
}

func outcome(o runner.Outcome) runner.Result {
	return runner.Result{Outcome: o, Reason: string(o), Session: "s", Cost: 300, Priced: "result", Contained: true}
}
