package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/secret"
	"wavex/internal/testrepo"
	"wavex/internal/workspace"
	"wavex/runner"
	"wavex/scheduler"
)

// newSession returns a session that can make requests, and its state.
func newSession(t *testing.T, dir, text string) (*Session, *scheduler.State) {
	t.Helper()
	p := testrepo.Plan(t, dir, text)
	testrepo.Must(t, os.MkdirAll(string(loop.In(dir)), 0o755))
	c := event.DefaultConfig()
	c.Parallel = 4
	c.Run, c.Dir, c.Loop = "r-1", dir, loop.In(dir)
	c.Limits = budget.Limits{NoUSD: true, NoIterations: true}
	s := scheduler.NewState(p)
	s.Config = c
	return &Session{plan: p, config: c, state: s, opts: Options{Agent: agent.Agent{Name: agent.Claude},
		Redactor: secret.New(nil)}}, s
}

// The brief has the reports of blockers and, of the task's last failure, the error, its
// consequence, and the advice.
func TestPromptBrief(t *testing.T) {
	t.Parallel()
	const text = `{"tasks":[{"id":"a","subject":"do a"},{"id":"b","subject":"do b","blockedBy":["a"],"maxRetries":2}]}`
	advice := &counsel.Verdict{Analysis: "the cause", Fix: "the fix", Dissent: []string{"not so"}}
	for name, c := range map[string]struct {
		last   *runner.Result
		advice *counsel.Verdict
		e      event.AttemptStarted
		says   string // about the previous attempt; "": nothing
		of     int    // number of the retry
		broken bool   // it was interrupted
	}{
		"the first": {nil, nil, event.AttemptStarted{Try: 1}, "", 0, false},
		"wrong": {&runner.Result{Outcome: runner.Wrong, Reason: "why", Detail: "more", Changed: []string{"x.go"}},
			advice, event.AttemptStarted{Try: 2}, "why\nmore", 1, false},
		"wrong, no detail": {&runner.Result{Outcome: runner.Wrong, Reason: "why"}, nil, event.AttemptStarted{Try: 3},
			"why", 2, false},
		"out of time": {&runner.Result{Outcome: runner.TimedOut, Reason: "late", Changed: []string{"x.go", "y.go"}}, nil,
			event.AttemptStarted{Try: 2}, "before you start over: x.go, y.go", 1, false},
		"interrupted": {&runner.Result{Outcome: runner.Interrupted, Reason: "stop"}, nil,
			event.AttemptStarted{Try: 1}, "", 0, true},
		"a retry interrupted": {&runner.Result{Outcome: runner.Wrong, Reason: "why"}, advice,
			event.AttemptStarted{Try: 2, Why: "again", Resume: true}, "why", 1, true},
		"a retry in the same session": {&runner.Result{Outcome: runner.Wrong, Reason: "why"}, advice,
			event.AttemptStarted{Try: 2, Why: "retry", Resume: true}, "why", 1, false},
		"a retry throttled": {&runner.Result{Outcome: runner.Wrong, Reason: "why"}, advice,
			event.AttemptStarted{Try: 2, Why: "again"}, "why", 1, false},
		"throttled": {&runner.Result{Outcome: runner.Throttled, Reason: "busy"}, nil, event.AttemptStarted{Try: 1},
			"", 0, false},
	} {
		r, s := newSession(t, t.TempDir(), text)
		s.Tasks[0].Last = &runner.Result{Outcome: runner.Done, Report: "a is done so"}
		s.Tasks[1].Last, s.Tasks[1].Advice = c.last, c.advice
		b := r.promptBrief(s, 1, c.e)
		if len(b.Blockers) != 1 || b.Blockers[0].ID != "a" || b.Blockers[0].Report != "a is done so" ||
			b.Blockers[0].Subject != "do a" {
			t.Errorf("%s: blockers %+v", name, b.Blockers)
		}
		if b.Interrupts != c.broken || (b.Previous != nil) != (c.says != "") {
			t.Errorf("%s: %+v", name, b)
			continue
		}
		if p := b.Previous; p != nil && (!strings.Contains(p.Error, c.says) || p.Attempt != c.of || p.Of != 2 ||
			(p.Fix == "the fix") != (c.advice != nil) || c.advice != nil && (p.Analysis != "the cause" || len(p.Dissent) != 1)) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	r, s := newSession(t, t.TempDir(), text)
	s.Tasks[1].Challenge = &counsel.Challenge{Conditions: []string{"a copy first"}}
	if b := r.promptBrief(s, 1, event.AttemptStarted{Try: 1, Resume: true, Why: "continue"}); !b.Continues ||
		!b.More ||
		fmt.Sprint(b.Conditions) != "[a copy first]" {
		t.Errorf("%+v", b)
	}
}

// The request has the directory of the attempt, its folder, and its checks. An attempt that
// continues a session also has the whole prompt, in case the session is gone.
func TestAttemptRequest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, s := newSession(t, dir, `{"mustNot":[{"text":"no core","verify":{"file":"core"}}],"protect":["go.mod"],"tasks":[{"id":"a","subject":"do a","dir":"sub","files":["a.go"],"verify":["true"]},{"id":"b","subject":"do b","command":"touch b"}]}`)
	e := event.AttemptStarted{Task: "a", Attempt: 2, Try: 1, Slot: 3, Session: "s", Cap: 5}
	req, err := r.attemptRequest(s, 0, e)
	at := filepath.Join(dir, ".loop", "runs", "r-1", "tasks", "a")
	if err != nil || req.Dir != filepath.Join(dir, "sub") || req.LogDir != filepath.Join(at, "attempt-2") ||
		req.Baseline != filepath.Join(at, "base.json") || req.Slot != 3 || req.Cap != 5 || req.Session != "s" ||
		len(req.Checks) != 1 || len(req.MustNot) != 1 || len(req.Files) != 1 || len(req.Protect) != 1 ||
		req.Command != "" || !strings.Contains(req.Prompt, "do a") || req.FullPrompt != "" {
		t.Errorf("%+v, %v", req, err)
	}
	if st, err := os.Stat(req.LogDir); err != nil || !st.IsDir() ||
		runtime.GOOS != "windows" && st.Mode().Perm() != 0o700 {
		t.Errorf("its folder: %v, %v", st, err)
	}
	e.Resume = true
	if req, err = r.attemptRequest(s, 0, e); err != nil || !req.Resume || !strings.Contains(req.FullPrompt, "do a") ||
		req.FullPrompt == req.Prompt {
		t.Errorf("%+v, %v", req, err)
	}
	if req, err = r.attemptRequest(s, 1, event.AttemptStarted{Task: "b", Attempt: 1, Try: 1}); err != nil ||
		req.Command != "touch b" || req.Prompt != "" || req.Guards != nil {
		t.Errorf("%+v, %v", req, err)
	}
	if _, err := os.Stat(filepath.Join(at, "..", "b")); err == nil {
		t.Error("a command has a folder before it has anything to put into it")
	}
	// Without the folder no attempt begins.
	testrepo.Must(t, os.RemoveAll(string(loop.In(dir))))
	testrepo.Files{".loop": "mine"}.Write(t, dir)
	if _, err := r.attemptRequest(s, 0, e); err == nil {
		t.Error("an attempt has no folder")
	}
	r.tasksDirMade = false
	if _, err := r.attemptRequest(s, 1, event.AttemptStarted{Task: "b", Attempt: 1, Try: 1}); err == nil {
		t.Error("a command has no folder")
	}
}

// An attempt whose end was not recorded costs the sum of its stream, nothing if it never began, and
// its cap if the cost is unknown. A stream that is a named pipe does not block.
func TestRecoverAttempt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, _ := newSession(t, dir, `{"tasks":[{"id":"a","subject":"do a"}]}`)
	r.config.Run = "recover-" + filepath.Base(dir) // processes with the mark of this run are ended
	var err error
	r.opts.Prices, err = budget.LoadPrices(nil)
	testrepo.Must(t, err)
	at := r.config.Loop.Task(r.config.Run, "a", loop.Attempt(1), loop.StreamFile)
	const begun = `{"type":"system","subtype":"init","session_id":"s-1","model":"claude-sonnet-4-5"}` + "\n"
	for name, c := range map[string]struct {
		lay  func()
		cost budget.USD
		how  string
		goes bool // there is a conversation to continue
	}{
		"no stream": {func() {}, 0, "", false},
		"its result": {func() {
			testrepo.Files{"stream.jsonl": begun + `{"type":"result","subtype":"success","session_id":"s-1","total_cost_usd":0.25,"num_turns":2}` + "\n"}.Write(t, filepath.Dir(at))
		}, 250_000, "result", true},
		"cut off": {func() { testrepo.Files{"stream.jsonl": begun + `{"type":"assist`}.Write(t, filepath.Dir(at)) }, 0,
			"stream", true},
		"strange": {func() { testrepo.Files{"stream.jsonl": begun + "{?\n"}.Write(t, filepath.Dir(at)) }, 0,
			"stream", true},
		"a pipe":   {func() { testrepo.NamedPipe(t, at); testrepo.Must(t, mkdirIfMissing(at)) }, 900_000, "cap", false},
		"a folder": {func() { testrepo.Must(t, os.Mkdir(at, 0o755)) }, 900_000, "cap", false},
	} {
		testrepo.Must(t, os.RemoveAll(at))
		testrepo.Must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		c.lay()
		res := r.recovery(t.Context()).Attempt(event.AttemptStarted{Task: "a", Attempt: 1, Cap: 900_000})
		if res.Outcome != runner.Interrupted || res.Cost != c.cost || res.Priced != c.how || (res.Turns > 0) != c.goes ||
			c.goes && res.Session != "s-1" {
			t.Errorf("%s: %+v", name, res)
		}
	}
}

// What an attempt left that was killed with wavex is told: its calls without a result, and the files that changed after
// the last line of its stream.
func TestDescribeCut(t *testing.T) {
	t.Parallel()
	odd := "sub/o\x1b[31md" // on a terminal it is one word, without the sequence
	dir := testrepo.Repo(t, testrepo.Files{".gitignore": ".loop\n", "old": "1", "sub/new": "1", odd: "1"})
	r, _ := newSession(t, dir, `{"tasks":[{"id":"a","subject":"do a"}]}`)
	r.config.Isolation = gitwork.Shared
	var err error
	r.workspace, err = workspace.Open(t.Context(), r.plan, r.config, "", nil, nil, func(string) {}, func(error) {})
	testrepo.Must(t, err)
	t.Cleanup(func() { testrepo.Must(t, r.workspace.Close(context.WithoutCancel(t.Context()))) })
	const (
		use = `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"%s","name":"Bash",` +
			`"input":{"command":"%s"}}]}}` + "\n"
		none = ""
	)
	at := r.config.Loop.Task(r.config.Run, "a", loop.Attempt(1), loop.StreamFile)
	asked := time.Now().Add(-time.Hour)
	ended := `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","content":"x"}]}}` + "\n"
	for name, c := range map[string]struct {
		stream, changed, want string
	}{
		"nothing under way": {fmt.Sprintf(use, "1", "make") + ended, "sub/new", none},
		"no change": {fmt.Sprintf(use, "1", "make") + ended + fmt.Sprintf(use, "2", "touch x"), "",
			"Calls without a result, which may have run in part:\n- Bash touch x\nNo file has changed since."},
		"a change": {fmt.Sprintf(use, "2", "touch x") + `{"type":"control_request","request_id":"r"}` + "\n" +
			`{"type":"assist`, "sub/new", "Calls without a result, which may have run in part:\n- Bash touch x\n" +
			"Files that have changed since: sub/new"},
		"an odd name": {fmt.Sprintf(use, "2", `touch \u001b[31mx`), odd,
			"Calls without a result, which may have run in part:\n- Bash touch x\nFiles that have changed since: sub/od"},
		"a turn that ended": {fmt.Sprintf(use, "2", "x") + `{"type":"result","subtype":"success"}` + "\n", "sub/new", none},
		"no stream":         {"", "sub/new", none},
	} {
		testrepo.Must(t, os.RemoveAll(filepath.Dir(at)))
		if c.stream != "" {
			testrepo.Files{"stream.jsonl": c.stream}.Write(t, filepath.Dir(at))
			testrepo.Must(t, os.Chtimes(at, asked, asked))
		}
		for _, file := range []string{"old", ".gitignore", "sub/new", odd} {
			when := asked.Add(-time.Hour)
			if file == c.changed {
				when = asked
			}
			testrepo.Must(t, os.Chtimes(filepath.Join(dir, file), when, when))
		}
		if got := r.describeCut(event.AttemptStarted{Task: "a", Attempt: 1}); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// mkdirIfMissing makes a folder unless the path exists, for systems without named pipes.
func mkdirIfMissing(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	return os.Mkdir(path, 0o755)
}

// A run records the request that its plan comes from: the last one of the journal, if it led to
// this plan and no run was made of it yet.
func TestWithOrigin(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), "plan.json")
	opened := event.RequestOpened{Run: "q-1", Request: "build it", Config: event.RequestConfig{Plan: at,
		Limits: budget.Limits{NoUSD: true}}}
	stage := func(name, result string) event.Body {
		return event.StageEnded{Stage: name, Result: []byte(result)}
	}
	whole := []event.Body{opened, stage("intent", `{"request":"build it"}`), stage("shape", `{}`),
		stage("decompose", `{"plan":"`+filepath.ToSlash(at)+`"}`)}
	for name, c := range map[string]struct {
		bodies []event.Body
		plan   string
		want   bool
	}{
		"none":         {nil, at, false},
		"on its way":   {whole[:2], at, false},
		"its plan":     {whole, at, true},
		"another plan": {whole, at + "x", false},
		"ran already": {append(whole[:len(whole):len(whole)], event.RunStarted{Config: event.Config{Run: "r"}}), at,
			false},
	} {
		var events []event.Event
		for i, b := range c.bodies {
			events = append(events, event.Event{Seq: int64(i + 1), Body: b})
		}
		got, err := withOrigin(event.RunStarted{Plan: c.plan}, events)
		if err != nil || (got.Origin != nil) != c.want || c.want && got.Origin.Request != "build it" {
			t.Errorf("%s: %+v, %v", name, got.Origin, err)
		}
	}
}
