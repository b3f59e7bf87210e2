package request

import (
	"wavex/internal/userdata"

	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
	"wavex/runner"
)

func TestMain(m *testing.M) { testrepo.Main(m) }

// memoryJournal is a journal in memory. With room set it returns errors after that many records, as after a
// kill.
type memoryJournal struct {
	events []event.Event
	limit  int // 0: no limit
}

func (b *memoryJournal) Close() {}

var errKilled = errors.New("killed")

func (b *memoryJournal) Append(e event.Event) error {
	if b.limit > 0 && len(b.events) == b.limit {
		return errKilled
	}
	// Encode and decode the event, as a later session would read it.
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	var back event.Event
	if err := json.Unmarshal(line, &back); err != nil {
		return err
	}
	b.events = append(b.events, back)
	return nil
}

func (b *memoryJournal) Sync() error { return nil }

// fixture answers the machine's questions by step, and records them.
type fixture struct {
	t       *testing.T
	mu      sync.Mutex
	asked   []string
	answers map[string]runner.Answer
	dir     string
}

func newFixture(t *testing.T) *fixture {
	w := &fixture{t: t, dir: t.TempDir(), answers: map[string]runner.Answer{}}
	w.answer("score/1", `{"outcome":{"points":1,"reason":"r"},"scope":{"points":1,"reason":"r"},"constraints":{"points":2,"reason":"r"},"success":{"points":2,"reason":"r"},"done":{"points":2,"reason":"r"}}`)
	w.answer("shape/1", `{"criteria":[{"text":"tests pass","verification":"execution output","run":"true"}],"mustNot":[{"text":"a dependency is added"}]}`)
	w.answers["phase/plan"] = runner.Answer{Outcome: runner.Done, Text: "# The code", Cost: 1000}
	w.answer("decompose/1", `{"name":"x","tasks":[{"id":"T-1","subject":"Do it","description":"d","verify":[{"run":"true"}]}]}`)
	return w
}

func (w *fixture) answer(step, structured string) {
	w.answers[step] = runner.Answer{Outcome: runner.Done, Structured: json.RawMessage(structured), Cost: 1000}
}

func (w *fixture) Ask(_ context.Context, q runner.Question) runner.Answer {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, q.Name)
	a, ok := w.answers[q.Name]
	if !ok {
		w.t.Errorf("nobody answers %s", q.Name)
		return runner.Answer{Outcome: runner.Broken}
	}
	if q.Cap <= 0 || q.LogDir == "" || q.Dir != w.dir {
		w.t.Errorf("%s: cap %d, logs %q, dir %q", q.Name, q.Cap, q.LogDir, q.Dir)
	}
	return a
}

const testRequest = "Write the packages; only the standard library; all tests pass and vet is clean; done when they pass"

// machine returns a session over the journal's events.
func (w *fixture) machine(b *memoryJournal) *Machine {
	if err := os.MkdirAll(string(loop.In(w.dir)), 0o700); err != nil {
		w.t.Fatal(err)
	}
	experts, err := counsel.LoadRoster("")
	if err != nil {
		w.t.Fatal(err)
	}
	return &Machine{Journal: b, Events: slices.Clone(b.events),
		Now:    func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
		Caller: w, Panel: &counsel.Panel{Caller: w, Experts: experts},
		Options: Options{Dir: w.dir, Loop: loop.In(w.dir), Config: event.RequestConfig{Limits: limits()},
			View: func(event.Event) {}, Notify: func(string) {}},
		RecoverCost: func(_ context.Context, c event.CallStarted, _ string) budget.USD { return min(c.Cap, 77) },
		Redact:      func(b event.Body) event.Body { return b },
		Learnings:   func() ([]userdata.Learning, error) { return nil, nil },
		Maxims:      func() ([]userdata.Note, error) { return []userdata.Note{}, nil }}
}

func limits() budget.Limits { return budget.Limits{USD: 5 * budget.Dollar, NoIterations: true} }

// finish handles the request to its end.
func (w *fixture) finish(t *testing.T, m *Machine) Result {
	t.Helper()
	testrepo.Must(t, m.open(w.opened()))
	res, err := m.stages(t.Context())
	testrepo.Must(t, err)
	return res
}

func (w *fixture) opened() event.RequestOpened {
	return event.RequestOpened{Run: "r1", Request: testRequest, Config: event.RequestConfig{Limits: limits(),
		Plan: filepath.Join(w.dir, "plan.json")}}
}

// A given score is not asked for. A score that is too low stops nothing if it is forced, at once or
// after the decision was recorded. The score does not change.
func TestForced(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]bool{"at once": false, "later": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.answers["phase/requirements"], w.answers["phase/design"] = w.answers["phase/plan"], w.answers["phase/plan"]
			o := w.opened()
			o.Config.SpecScore, o.Config.Force = []int{1, 0, 0, 0, 0}, !later
			var b memoryJournal
			m := w.machine(&b)
			m.Panel = nil
			testrepo.Must(t, m.open(o))
			res, err := m.stages(t.Context())
			if later {
				var vague *NotReadyError
				if !errors.As(err, &vague) || len(w.asked) != 0 {
					t.Fatalf("%v, asked %v", err, w.asked)
				}
				m = w.machine(&b)
				m.Force = true
				res, err = m.stages(t.Context())
			}
			testrepo.Must(t, err)
			if d := res.Intent.Decision; !d.Forced || d.Spec != 1 || d.Fit != 5 || d.Shape != Colleague ||
				res.Intent.Score.Source != fromUser {
				t.Errorf("%+v, %+v", d, res.Intent.Score)
			}
			if got := strings.Join(w.asked, " "); got != "shape/1 phase/plan phase/requirements phase/design decompose/1" {
				t.Errorf("asked %s", got)
			}
			s, err := ReadProgress(b.events)
			if err != nil || s.NotReady || s.Origin.Shape != "colleague" || s.Origin.SpecScore != 1 {
				t.Errorf("%+v, %v", s, err)
			}
			// A resume needs no flag.
			if again, err := w.machine(&b).Run(t.Context()); err != nil || again.Path != res.Path {
				t.Errorf("%+v, %v", again, err)
			}
		})
	}
}

// Work of six or more tasks gets the requirements phase, even if the request is clear.
func TestLargeWork(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.answer("shape/1", `{"criteria":[{"text":"tests pass","verification":"execution output","run":"true"}],"mustNot":[],"tasks":6}`)
	w.answers["phase/requirements"] = runner.Answer{Outcome: runner.Done, Text: "# What is wanted", Cost: 1000}
	var b memoryJournal
	m := w.machine(&b)
	res := w.finish(t, m)
	if got := strings.Join(w.asked, " "); got != "score/1 shape/1 phase/plan phase/requirements decompose/1" {
		t.Errorf("asked %s", got)
	}
	if _, err := os.Stat(filepath.Join(w.dir, ".loop", "requirements.md")); err != nil {
		t.Error(err)
	}
	if again, err := w.machine(&b).Run(t.Context()); err != nil || again.Path != res.Path || len(w.asked) != 5 {
		t.Errorf("%v, asked %v", err, w.asked)
	}
}

// After a kill at any record the next session repeats no answered question, and the result is the
// same.
func TestKilledAfterEveryEvent(t *testing.T) {
	t.Parallel()
	whole := newFixture(t)
	var all memoryJournal
	m := whole.machine(&all)
	testrepo.Must(t, m.open(whole.opened()))
	want, err := m.stages(t.Context())
	testrepo.Must(t, err)
	if got := strings.Join(whole.asked, " "); got != "score/1 shape/1 phase/plan decompose/1" {
		t.Fatalf("asked %s", got)
	}
	for n := range all.events { // a journal whose beginning is missing
		if s, err := ReadProgress(all.events[n:]); err != nil || (s != nil) != (n == 0) {
			t.Errorf("without %d records it stands at %+v, %v", n, s, err)
		}
	}
	if want.Origin.Spent != 4000 || want.Origin.SpecScore != 8 || want.Origin.FitScore != 55 ||
		want.Origin.Shape != "tool" {
		t.Errorf("%+v", want.Origin)
	}
	for n := 1; n <= len(all.events); n++ {
		w := newFixture(t)
		b := &memoryJournal{limit: n}
		first := w.machine(b)
		testrepo.Must(t, first.open(w.opened()))
		_, err := first.stages(t.Context())
		if n < len(all.events) && !errors.Is(err, errKilled) {
			t.Fatalf("after %d records: %v", n, err)
		}
		done := map[string]bool{}
		for _, e := range b.events {
			if c, ok := e.Body.(event.CallEnded); ok {
				done[c.Step] = true
			}
		}
		lost := 0 // calls that were made and have no end on record
		for _, step := range w.asked {
			if !done[step] {
				lost++
			}
		}
		w.asked = nil
		b.limit = 0
		second := w.machine(b)
		got, err := second.stages(t.Context())
		if err != nil {
			t.Fatalf("continued after %d records: %v", n, err)
		}
		for _, step := range w.asked {
			if done[step] {
				t.Errorf("after %d records: %s is asked again", n, step)
			}
		}
		if lost > 1 || got.Origin.Spent != want.Origin.Spent+budget.USD(lost)*77 {
			t.Errorf("after %d records: %d spent, want %d and %d for %d lost", n, got.Origin.Spent, want.Origin.Spent,
				77*lost, lost)
		}
		got.Origin.Spent = want.Origin.Spent
		got.Path = strings.Replace(got.Path, w.dir, whole.dir, 1)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("after %d records: %+v, want %+v", n, got, want)
		}
		if s, err := ReadProgress(b.events); err != nil || !s.Planned || s.Origin == nil || s.Stage != "executing" {
			t.Errorf("after %d records it stands at %+v, %v", n, s, err)
		}
	}
}

// A person's changes of SHAPE.md and plan.json between two sessions have precedence.
func TestEditedFilesWin(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	own := filepath.Join(w.dir, ".loop", "shape", "SHAPE.md")
	testrepo.Must(t, os.MkdirAll(filepath.Dir(own), 0o755))
	testrepo.Must(t, os.WriteFile(own, []byte("```yaml\ncriteria: [my own criterion]\n```\n"), 0o600))
	delete(w.answers, "shape/1") // read from the file, not asked for
	b := &memoryJournal{}
	m := w.machine(b)
	testrepo.Must(t, m.open(w.opened()))
	res, err := m.stages(t.Context())
	if err != nil || len(res.Shape.Criteria) != 1 || !strings.Contains(string(res.Plan.File), "my own criterion") {
		t.Fatalf("%+v, %v", res, err)
	}
	testrepo.Must(t, os.WriteFile(res.Path, []byte("mine"), 0o600))
	if _, err := w.machine(b).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(res.Path); err != nil || string(got) != "mine" {
		t.Errorf("the plan is %q, %v", got, err)
	}
	// A further request moves the files of this one aside, but not a person's own shape.
	m = w.machine(b)
	testrepo.Must(t, m.open(w.opened()))
	if _, err := os.Stat(filepath.Join(w.dir, ".loop", "plan.md")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("plan.md of the request before: %v", err)
	}
}

// A SHAPE.md that a person has edited for one request is not that of the next one.
func TestEditedShapeStaysWithItsRequest(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	shape := filepath.Join(w.dir, ".loop", "shape", "SHAPE.md")
	for name, edit := range map[string]func(text string) string{
		"edited":     func(text string) string { return strings.Replace(text, "text: tests", "text: my tests", 1) },
		"unreadable": func(text string) string { return strings.Replace(text, "criteria:", "criteria", 1) },
	} {
		b := &memoryJournal{}
		first := w.machine(b)
		w.finish(t, first)
		text, err := os.ReadFile(shape)
		testrepo.Must(t, err)
		mine := edit(string(text))
		if err := os.WriteFile(shape, []byte(mine), 0o600); err != nil || mine == string(text) {
			t.Fatal(err)
		}
		next := w.opened()
		next.Run, next.Request = "r2", "Something else; "+next.Request
		second := w.machine(b)
		testrepo.Must(t, second.open(next))
		kept, err := os.ReadFile(first.Loop.Run("r1", loop.Request, "SHAPE.md"))
		if err != nil || string(kept) != mine {
			t.Errorf("%s: the shape of the first request is now %q, %v", name, kept, err)
		}
		res, err := second.stages(t.Context())
		if err != nil || res.Shape.Criteria[0].Text != "tests pass" {
			t.Errorf("%s: the second request has %+v, %v", name, res.Shape, err)
		}
		_ = os.RemoveAll(filepath.Join(w.dir, ".loop"))
	}
}

// This Person answers once and then gives up.
type fakePrompter struct {
	t        *testing.T
	answers  []map[string]string
	recalled int
}

func (p *fakePrompter) DismissLearnings(_ context.Context, list []userdata.Learning) ([]string, error) {
	p.recalled++
	return []string{list[0].ID}, nil
}

func (p *fakePrompter) Clarify(_ context.Context, s Score,
	asked []counsel.ClarifyQuestion) (map[string]string, error) {
	if s.Total() >= MinReady || len(asked) != len(s.missing()) {
		p.t.Errorf("asked %d questions at %s", len(asked), s)
	}
	for _, a := range asked {
		if a.Question == "" || len(a.Proposals) != 2 {
			p.t.Errorf("%+v", a)
		}
	}
	if len(p.answers) == 0 {
		return nil, nil
	}
	a := p.answers[0]
	p.answers = p.answers[1:]
	return a, nil
}

// A vague request is clarified, the answers are scored, and both are recorded; dismissed learnings
// do not come back.
func TestClarify(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.answers["score/2"] = w.answers["score/1"]
	w.answer("score/1", `{"outcome":{"points":0,"reason":"r"},"scope":{"points":0,"reason":"r"},"constraints":{"points":2,"reason":"r"},"success":{"points":0,"reason":"r"},"done":{"points":0,"reason":"r"}}`)
	w.answer("clarify/domain-modeller", `{"items":[{"dimension":"outcome","question":"How fast?","proposals":["1 s","2 s"]}]}`)
	w.answers["clarify/tester"] = runner.Answer{Outcome: runner.Throttled, Cost: 5}
	w.answers["clarify/delivery-manager"] = runner.Answer{Outcome: runner.Wrong}
	b := &memoryJournal{}
	m := w.machine(b)
	p := &fakePrompter{t: t, answers: []map[string]string{{"scope": "only cmd/", "outcome": "1 s"}}}
	m.Prompter = p
	looked := 0
	m.Learnings = func() ([]userdata.Learning, error) {
		looked++
		return []userdata.Learning{
			userdata.Learning{Context: "packages of the standard library", Failure: "vet was not clean"}.Clean(),
			userdata.Learning{Context: "write packages so that vet is clean"}.Clean()}, nil
	}
	res := w.finish(t, m)
	if want := testRequest + "\nOutcome: 1 s\nScope: only cmd/"; res.Intent.Request != want {
		t.Errorf("the request is now %q, want %q", res.Intent.Request, want)
	}
	if len(res.Intent.Recall) != 1 || p.recalled != 1 || looked != 1 || res.Intent.Familiarity == 0 {
		t.Errorf("%d looks, %d questions, recall %q, familiarity %d", looked, p.recalled, res.Intent.Recall,
			res.Intent.Familiarity)
	}
	again := w.machine(b)
	again.Learnings = m.Learnings
	again.Prompter = p
	asked := len(w.asked)
	if got, err := again.stages(t.Context()); err != nil || !reflect.DeepEqual(got.Intent, res.Intent) || looked != 1 ||
		p.recalled != 1 || len(w.asked) != asked {
		t.Errorf("again: %+v, %v, %d looks, %v", got.Intent, err, looked, w.asked[asked:])
	}
}

func TestNotReadyWithoutPrompter(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.answer("score/1", `{"outcome":{"points":1,"reason":"r"},"scope":{"points":1,"reason":"r"},"constraints":{"points":1,"reason":"r"},"success":{"points":1,"reason":"r"},"done":{"points":0,"reason":"r"}}`)
	for _, e := range []string{"domain-modeller", "tester", "delivery-manager"} {
		w.answers["clarify/"+e] = runner.Answer{Outcome: runner.Wrong}
	}
	b := &memoryJournal{}
	m := w.machine(b)
	testrepo.Must(t, m.open(w.opened()))
	_, err := m.stages(t.Context())
	var vague *NotReadyError
	if !errors.As(err, &vague) || len(vague.Questions) != 5 || vague.Questions[0].Dimension != "done" {
		t.Fatalf("%v", err)
	}
	if s, err := ReadProgress(b.events); err != nil || !s.NotReady {
		t.Errorf("%+v, %v", s, err)
	}
}

// A temporary failure is tried twice, another one once; an answer out of range is a failure; and
// the limit stops a call before the money is spent.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer runner.Answer
		asked  int
		want   runner.Outcome
	}{
		"throttled":    {runner.Answer{Outcome: runner.Throttled}, 2, runner.Throttled},
		"limited":      {runner.Answer{Outcome: runner.Limited}, 1, runner.Limited},
		"unauthorised": {runner.Answer{Outcome: runner.Unauthorised}, 1, runner.Unauthorised},
		"nonsense": {runner.Answer{Outcome: runner.Done,
			Structured: json.RawMessage(`{"outcome":{"points":9,"reason":""}}`)}, 2, runner.Wrong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			good := w.answers["score/1"]
			w.answers["score/1"] = c.answer
			b := &memoryJournal{}
			m := w.machine(b)
			testrepo.Must(t, m.open(w.opened()))
			_, err := m.stages(t.Context())
			var call *CallError
			if !errors.As(err, &call) || call.Outcome != c.want || len(w.asked) != c.asked {
				t.Errorf("%v after %v", err, w.asked)
			}
			w.answers["score/1"] = good
			if _, err := w.machine(b).Run(t.Context()); err != nil {
				t.Errorf("later: %v", err)
			}
		})
	}
	w := newFixture(t)
	b := &memoryJournal{}
	m := w.machine(b)
	o := w.opened()
	o.Config.Limits.USD = budget.MinReservation + 500
	m.Config.Limits = o.Config.Limits
	testrepo.Must(t, m.open(o))
	var limit *budget.LimitError
	if _, err := m.stages(t.Context()); !errors.As(err, &limit) || len(w.asked) != 1 {
		t.Errorf("%v after %v", err, w.asked)
	}
	if _, err := w.machine(b).Run(t.Context()); err != nil { // with a higher limit
		t.Errorf("%v", err)
	}
	if n := len(w.asked); n != 4 {
		t.Errorf("%d questions: %v", n, w.asked)
	}
}

// Maxims are loaded before the planning, and an error of loading them stops it.
func TestMaxims(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	m := w.machine(&memoryJournal{})
	m.Maxims = func() ([]userdata.Note, error) { return nil, errors.New("unreadable") }
	testrepo.Must(t, m.open(w.opened()))
	_, err := m.stages(t.Context())
	if err == nil || err.Error() != "unreadable" || slices.Contains(w.asked, "decompose/1") {
		t.Errorf("%v after %v", err, w.asked)
	}
}

// Before a change that cannot be undone, an adversary checks it.
func TestIrreversible(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.answer("precheck/1", `{"criteria":[{"text":"a copy was restored","verification":"observation"}],"mustNot":[{"text":"rows are lost"}]}`)
	w.answers["phase/design"] = w.answers["phase/plan"]
	b := &memoryJournal{}
	m := w.machine(b)
	o := w.opened()
	o.Request += "; change the database schema"
	testrepo.Must(t, m.open(o))
	res, err := m.stages(t.Context())
	if err != nil || res.Intent.Reversibility.Class != Irreversible {
		t.Fatalf("%+v, %v", res.Intent, err)
	}
	if got := fmt.Sprint(len(res.Shape.Criteria), len(res.Shape.MustNot)); got != "2 2" ||
		!strings.Contains(string(res.Plan.File), "rows are lost") {
		t.Errorf("%s: %s", got, res.Plan.File)
	}
	// Earlier versions recorded the result of the check too. After such a record nothing is asked again.
	asked := len(w.asked)
	last := b.events[len(b.events)-1].Seq
	old := event.StageEnded{Stage: "precheck", Result: []byte(`{}`)}
	testrepo.Must(t, b.Append(event.Event{Seq: last + 1, Body: old}))
	if again, err := w.machine(b).stages(t.Context()); err != nil || !reflect.DeepEqual(again.Shape, res.Shape) ||
		len(w.asked) != asked {
		t.Errorf("%+v, %v, asked %v", again.Shape, err, w.asked[asked:])
	}
}

// A session that is stopped before it has settled an earlier session's call leaves that call to the
// next session.
func TestStoppedWhileAnEarlierCallIsEnded(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	b := &memoryJournal{}
	first := w.machine(b)
	w.finish(t, first)
	left := 1 + slices.IndexFunc(b.events, func(e event.Event) bool { return e.Body.Type() == event.CallStarted{}.Type() })
	b.events = b.events[:left] // killed when the first call had begun
	ctx, cancel := context.WithCancelCause(t.Context())
	second := w.machine(b)
	second.RecoverCost = func(own context.Context, c event.CallStarted, _ string) budget.USD {
		cancel(errors.New("enough"))
		<-own.Done()
		return c.Cap
	}
	var call *CallError
	_, err := second.stages(ctx)
	if !errors.As(err, &call) || call.Outcome != runner.Interrupted || len(b.events) != left {
		t.Fatalf("%v; %d records after %d", err, len(b.events), left)
	}
	if _, err := w.machine(b).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c, ok := b.events[left].Body.(event.CallEnded); !ok || c.Cost != 77 {
		t.Errorf("the call was not ended then: %+v", b.events[left])
	}
}
