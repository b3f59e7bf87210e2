package run

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"wavex/budget"
	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/runlog"
	"wavex/internal/secret"
	"wavex/internal/testrepo"
	"wavex/runner"
	"wavex/scheduler"
)

// recordingView is a view that records its events.
type recordingView struct {
	mu         sync.Mutex
	events     []event.Event
	eventTypes chan string // receives the type of each event; nil: not used
	after      func(n int) // called with the number of events; nil: not used
	closed     int
}

func (b *recordingView) Event(e event.Event, _ *scheduler.State) {
	b.mu.Lock()
	b.events = append(b.events, e)
	n := len(b.events)
	b.mu.Unlock()
	if b.after != nil {
		b.after(n)
	}
	if b.eventTypes != nil {
		b.eventTypes <- e.Body.Type()
	}
}
func (b *recordingView) Observe(runner.Observation) {}
func (b *recordingView) Close() error               { b.closed++; return nil }

// syncBuffer collects the output of a session.
type syncBuffer struct {
	mu  sync.Mutex
	all strings.Builder
}

func (e *syncBuffer) Write(b []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all.Write(b)
}

func (e *syncBuffer) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all.String()
}

// options returns options of a run of commands, without agents. The id is unique, because the run
// ends every process with its mark, including those of other tests.
func options(t *testing.T, dir, text string) (Options, *syncBuffer) {
	t.Helper()
	testrepo.Files{"plan.json": text}.Write(t, dir)
	c := event.DefaultConfig()
	c.Parallel = 4
	c.Run, c.Dir, c.Loop, c.Agent, c.Isolation = runlog.NewID(time.Now()), dir, loop.In(dir),
		agent.Rehearsal, "shared"
	c.Counsel, c.Review, c.Judge, c.MaxRetries = false, "off", false, 0
	c.Limits = budget.Limits{NoUSD: true, NoIterations: true}
	prices, err := budget.LoadPrices(nil)
	testrepo.Must(t, err)
	said := &syncBuffer{}
	return Options{Plan: testrepo.Plan(t, dir, text), Config: c, Agent: agent.Agent{Name: agent.Rehearsal}, Prices: prices,
		Redactor: secret.New(os.Environ()), Err: said, Notices: true}, said
}

// run opens a session, runs it and closes it. A process runs one session at a time, since its
// children carry the run of that session, so these tests are not parallel.
func run(t *testing.T, o Options) (Result, *recordingView) {
	t.Helper()
	s, err := Open(t.Context(), o)
	testrepo.Must(t, err)
	defer s.Close(t.Context())
	b := &recordingView{}
	out, err := s.Run(t.Context(), Console{View: b})
	testrepo.Must(t, err)
	return out, b
}

// A run of commands ends with everything on record and in the files, releases everything, and
// resumes where it stopped.
func TestRunAndResume(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b\n'ü\"$x")
	const text = `{"name":"three","tasks":[{"id":"a","subject":"A","command":"echo once >> a"},{"id":"b","subject":"B","command":"test -e fixed"},{"id":"c","subject":"C","blockedBy":["b"],"command":"touch c"}]}`
	o, said := options(t, dir, text)
	out, b := run(t, o)
	if out.End.Status != "failed" || out.End.ExitCode != 1 || out.State == nil || out.AbortCode != 0 ||
		out.End.Tasks != (event.Counts{Completed: 1, Failed: 1, Blocked: 1}) {
		t.Fatalf("%+v\n%s", out.End, said)
	}
	events, err := runlog.Read(o.Config.Loop)
	if err != nil || len(events) != len(b.events) || b.closed != 1 {
		t.Errorf("%d events on record, %d told, closed %d times, %v", len(events), len(b.events), b.closed, err)
	}
	if journal.Locked(o.Config.Loop) {
		t.Error("the lock is still held")
	}
	testrepo.Files{"fixed": "", ".loop/outputs/.next-1": "of a wavex that was killed"}.Write(t, dir)
	o.Resume, o.JournalLen, o.Config.Only = true, len(events), []string{"b", "c"}
	out, _ = run(t, o)
	if out.End.Status != "complete" || out.End.ExitCode != 0 {
		t.Fatalf("%+v\n%s", out.End, said)
	}
	for name, want := range map[string]string{"a": "once\n", "c": ""} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s has %q, %v", name, got, err)
		}
	}
	if _, err := os.Lstat(o.Config.Loop.Path("outputs/.next-1")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an unfinished output: %v", err)
	}
	past, err := runlog.Load(o.Config.Loop, "", o.Config.Run)
	if err != nil || past.State.Counts.Completed != 3 {
		t.Errorf("%+v, %v", past, err)
	}
	if strings.Contains(said.String(), "warning") {
		t.Errorf("it says:\n%s", said)
	}
}

// A secret is in no file that a run leaves in .loop, and neither is a part of it, even where a text
// was cut or in the signature of an error, which starts with its reason.
func TestSecretsStayOut(t *testing.T) {
	t.Setenv("SESSION_TEST_TOKEN", "A-very-SECRET-value-3")
	tasks := []string{`{"id":"a","subject":"use A-very-SECRET-value-3","command":"echo A-very-SECRET-value-3; false"}`,
		`{"id":"c","subject":"C","command":"true","verify":["echo A-very-SECRET-value-3; false"]}`}
	for n := range 13 { // one of them is cut inside the secret
		tasks = append(tasks, fmt.Sprintf(`{"id":"b%d","subject":"B","command":"true","verify":["echo %s A-very-SECRET-value-3 >&2; false"]}`, n, strings.Repeat("x", 12*n+60)))
	}
	o, said := options(t, t.TempDir(), `{"name":"A-very-SECRET-value-3","tasks":[`+strings.Join(tasks, ",")+`]}`)
	out, _ := run(t, o)
	if out.End.Tasks.Failed != len(tasks) {
		t.Fatalf("%+v", out.End)
	}
	n := 0
	testrepo.Must(t, filepath.WalkDir(string(o.Config.Loop), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if at := strings.Index(strings.ToLower(string(text)), "a-very"); at >= 0 {
			t.Errorf("%s:\n%s", path, text[max(0, at-200):min(len(text), at+200)])
		}
		n += strings.Count(string(text), "[redacted: SESSION_TEST_TOKEN]")
		return err
	}))
	if n == 0 || strings.Contains(said.String(), "A-very") {
		t.Errorf("%d places were cleaned; it says:\n%s", n, said)
	}
}

// Texts about an attempt that do not come from the runner, such as those of git or a hook, are
// redacted as well.
func TestRedactSignature(t *testing.T) {
	t.Parallel()
	clean := secret.New([]string{"API_KEY=A-very-SECRET-value-4"}).Value
	res := runner.Result{Outcome: runner.Wrong, Reason: "a hook says A-very-SECRET-value-4", Detail: "error: line 3"}
	res.Signature = runner.Signature(res.Reason, res.Detail)
	got := event.Redact(event.AttemptEnded{Task: "a", Result: res}, clean).(event.AttemptEnded)
	want := runner.Signature("a hook says [redacted: API_KEY]", "error: line 3")
	if got.Result.Signature != want || !strings.HasPrefix(want, "a hook says [redacted: API_KEY] #") {
		t.Errorf("%q, want %q", got.Result.Signature, want)
	}
	res.Reason, res.Signature = "no secret", "mine"
	got = event.Redact(event.AttemptEnded{Task: "a", Result: res}, clean).(event.AttemptEnded)
	if got.Result.Signature != "mine" {
		t.Errorf("%q", got.Result.Signature)
	}
}

// Many parallel commands, a request to stop in the middle, and a resume: each command runs exactly
// once.
func TestStopAmongMany(t *testing.T) {
	var tasks []string
	for n := range 40 {
		wait := ""
		if n >= 20 {
			wait = "until test -e stopped; do sleep 0.01; done; "
		}
		tasks = append(tasks, fmt.Sprintf(`{"id":"t%d","subject":"A","command":"%secho once >> t%d"}`, n, wait, n))
	}
	o, said := options(t, t.TempDir(), `{"tasks":[`+strings.Join(tasks, ",")+`]}`)
	o.Config.Parallel = 8
	s, err := Open(t.Context(), o)
	testrepo.Must(t, err)
	signals := make(chan scheduler.Signal, 1)
	b := &recordingView{}
	b.after = func(n int) {
		switch {
		case n == 15:
			signals <- scheduler.Signal{Name: "SIGINT", Code: 130}
		case b.events[n-1].Body.Type() == "draining":
			testrepo.Must(t, os.WriteFile(filepath.Join(o.Config.Dir, "stopped"), nil, 0o600))
		}
	}
	out, err := s.Run(t.Context(), Console{View: b, Signals: signals})
	s.Close(t.Context())
	if done := out.End.Tasks.Completed; err != nil || out.End.Status != "interrupted" || done == 0 || done == len(tasks) ||
		out.End.Tasks.Failed != 0 {
		t.Fatalf("%+v, %v\n%s", out.End, err, said)
	}
	events, err := runlog.Read(o.Config.Loop)
	testrepo.Must(t, err)
	o.Resume, o.JournalLen = true, len(events)
	if out, _ := run(t, o); out.End.Status != "complete" || out.End.Iterations != len(tasks) {
		t.Errorf("%+v\n%s", out.End, said)
	}
	for n := range tasks {
		if got, err := os.ReadFile(filepath.Join(o.Config.Dir, fmt.Sprintf("t%d", n))); err != nil ||
			string(got) != "once\n" {
			t.Errorf("task %d: %q, %v", n, got, err)
		}
	}
}
