//go:build unix

package runner_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wavex/internal/filetree"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/runner"
	"wavex/runner/runnertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture holds the directories of one attempt, its runner with an agent in memory, and its request.
type fixture struct {
	runner.Local
	dir, logs string
	req       runner.Request
	hooks     runner.Hooks
}

func setup(t *testing.T, a runner.Agent) *fixture {
	t.Helper()
	root := t.TempDir()
	b := &fixture{dir: filepath.Join(root, "project"), logs: filepath.Join(root, "logs")}
	for _, d := range []string{b.dir, b.logs} {
		must(os.Mkdir(d, 0o755))
	}
	b.Env, b.Lister, b.Agent = proc.Inherit(os.Environ(), nil), &filetree.Lister{}, a
	b.req = runner.Request{
		// Marks are unique, as in production: the sweep spares processes with the mark of a live process.
		Run: "run-" + filepath.Base(filepath.Dir(root)) + filepath.Base(root), Task: "T-001", Attempt: 1, Slot: 2, Dir: b.dir,
		LogDir: b.logs, Baseline: filepath.Join(root, "base.json"), Prompt: "do it",
		Session: "11111111-1111-4111-8111-111111111111",
	}
	return b
}

func (b *fixture) attempt(ctx context.Context) runner.Result { return b.Attempt(ctx, b.req, b.hooks) }

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	runnertest.Conformance(t, func(_ *testing.T, s runnertest.Scenario) runner.Agent { return runnertest.StandIn(s) })
}

func TestSameErrorSameSignature(t *testing.T) {
	t.Parallel()
	var signatures []string
	for range 2 {
		b := setup(t, runnertest.StandIn(runnertest.Idles))
		b.req.Checks = []plan.Check{{Run: "echo error at $PWD/x.go:$$; exit 1"}}
		signatures = append(signatures, b.attempt(t.Context()).Signature)
	}
	if signatures[0] == "" || signatures[0] != signatures[1] {
		t.Errorf("signatures %q", signatures)
	}
}

// If a check prints nothing, the content of the changed files decides, without the task's directory. Else all
// of the output does.
func TestSignatureOfCommand(t *testing.T) {
	t.Parallel()
	for command, different := range map[string]bool{
		`echo "$PWD" > out.txt; exit 1`:                                false,
		`echo "$PWD $N" > out.txt; exit 1`:                             true,
		`echo "$N" > out.txt; echo no; exit 1`:                         false,
		`seq 1 3000; echo "$N"; seq 1 3000; exit 1`:                    true,
		`seq 1 3000; echo "$PWD $TMPDIR/a $N""ms"; seq 1 3000; exit 1`: false,
	} {
		var signatures []string
		for _, n := range []string{"1", "1", "2"} {
			b := setup(t, nil)
			b.req.Command, b.req.Files = command, []plan.File{{Path: "out.txt", Action: "create"}}
			b.req.Env = map[string]string{"N": n, "TMPDIR": t.TempDir()}
			signatures = append(signatures, b.attempt(t.Context()).Signature)
		}
		if s := signatures; s[0] == "" || s[0] != s[1] || (s[0] != s[2]) != different {
			t.Errorf("%s: %q", command, s)
		}
	}
}

// All of the output of a check decides.
func TestSignatureOfCheck(t *testing.T) {
	t.Parallel()
	var signatures []string
	for _, n := range []string{"1", "1", "2"} {
		b := setup(t, runnertest.StandIn(runnertest.Idles))
		b.req.Checks = []plan.Check{{Run: "true"}, {Run: `seq 1 3000; echo "$N"; seq 1 3000; exit 1`}}
		b.req.Env = map[string]string{"N": n}
		signatures = append(signatures, b.attempt(t.Context()).Signature)
	}
	if s := signatures; s[0] == "" || s[0] != s[1] || s[0] == s[2] {
		t.Errorf("signatures %q", s)
	}
}

// busyDirectory is a directory in which others edit or not. It notes the times of checks.
type busyDirectory struct {
	busy bool
	// untouched reports that the others have changed no file, and meanwhile that they do so during the checks.
	untouched, meanwhile bool
	writer               bool
	refuse               error
	before               func(nth int) // is called before the nth checks after the turn; may be nil
	editing              bool
	edits                int
	times                []runner.CheckTime
	learned              []bool
}

func (d *busyDirectory) Edit(context.Context, func(filetree.Tree) bool) (func(), error) {
	d.editing, d.edits = d.refuse == nil, d.edits+1
	return func() { d.editing = false }, d.refuse
}

func (d *busyDirectory) Check(_ context.Context, when runner.CheckTime, run func()) (bool, error) {
	switch {
	case d.editing:
		panic("checks during the turn")
	case when == runner.IfQuiet && d.busy:
		return false, nil
	case when == runner.WhenQuiet && d.refuse != nil:
		return false, d.refuse
	case when == runner.Undisturbed && d.busy && !d.untouched && !d.meanwhile:
		return false, nil
	}
	if when != runner.IfQuiet {
		d.times = append(d.times, when)
		if d.before != nil {
			d.before(len(d.times))
		}
	}
	run()
	return (when != runner.AtOnce || !d.busy) && (when != runner.Undisturbed || !d.meanwhile), nil
}

func (d *busyDirectory) Leave([]string, filetree.Tree) {}

// since is the runner.Hooks.Files of the directory.
func (d *busyDirectory) since() string {
	if d.editing || d.busy {
		return ""
	}
	return fmt.Sprint(d.edits)
}

func (d *busyDirectory) ChangesFiles([]plan.Check) bool { return d.writer }

func (d *busyDirectory) Learn(_ []plan.Check, changesFiles bool) {
	d.learned = append(d.learned, changesFiles)
}

// Checks run at once. What fails beside others is made again when it is quiet, and only that counts.
func TestChecksInASharedDirectory(t *testing.T) {
	t.Parallel()
	once := []runner.CheckTime{runner.AtOnce}
	quiet := []runner.CheckTime{runner.WhenQuiet}
	both := []runner.CheckTime{runner.AtOnce, runner.WhenQuiet}
	soon := []runner.CheckTime{runner.AtOnce, runner.Undisturbed}
	all := []runner.CheckTime{runner.AtOnce, runner.Undisturbed, runner.WhenQuiet}
	twice := []runner.CheckTime{runner.WhenQuiet, runner.WhenQuiet}
	const stuck = runner.OverTurns
	for name, tc := range map[string]struct {
		busy, writer bool
		files        bool // the task declares a file
		gives        bool // the agent reports failure
		untouched    bool // see busyDirectory
		meanwhile    bool // see busyDirectory
		unchecked    bool // it has no check
		fail, fire   int  // number of times that the check fails and that the mustNot is true
		turn         runner.Outcome
		want         runner.Outcome
		beside       bool
		violated     int
		times        []runner.CheckTime
	}{
		"quiet, passes":            {want: runner.Done, times: once},
		"quiet, fails":             {fail: 2, want: runner.Wrong, times: both},
		"quiet, flaky":             {fail: 1, want: runner.Done, times: both},
		"untouched, fails":         {busy: true, untouched: true, fail: 2, want: runner.Wrong, times: soon},
		"untouched, flaky":         {busy: true, untouched: true, fail: 1, want: runner.Done, beside: true, times: soon},
		"edited meanwhile, fails":  {busy: true, meanwhile: true, fail: 3, want: runner.Wrong, times: all},
		"edited meanwhile, flaky":  {busy: true, meanwhile: true, fail: 2, want: runner.Done, times: all},
		"busy, the agent gives up": {busy: true, gives: true, fail: 2, want: runner.Wrong, times: once},
		"writer, fails": {busy: true, untouched: true, writer: true, fail: 2, want: runner.Wrong,
			times: twice},
		"quiet, mustNot":                 {fire: 2, want: runner.Done, violated: 1, times: once},
		"busy, passes":                   {busy: true, want: runner.Done, beside: true, times: once},
		"busy, passes later":             {busy: true, fail: 1, want: runner.Done, times: both},
		"busy, fails":                    {busy: true, fail: 2, want: runner.Wrong, times: both},
		"busy, mustNot of half an edit":  {busy: true, fire: 1, want: runner.Done, times: both},
		"busy, mustNot":                  {busy: true, fire: 2, want: runner.Done, violated: 1, times: both},
		"busy, fails, mustNot":           {busy: true, fail: 2, fire: 1, want: runner.Wrong, times: both},
		"busy, changes files":            {busy: true, writer: true, want: runner.Done, times: quiet},
		"busy, nothing changed":          {busy: true, files: true, want: runner.Wrong, times: once},
		"busy, only a mustNot":           {busy: true, unchecked: true, want: runner.Done, times: once},
		"busy, stuck turn":               {busy: true, fail: 2, turn: stuck, want: stuck, times: once},
		"busy, stuck turn, mustNot":      {busy: true, fire: 2, turn: stuck, want: stuck, violated: 1, times: both},
		"busy, stuck turn, half mustNot": {busy: true, fire: 1, turn: stuck, want: stuck, times: both},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, agentFunc(func(runner.TurnRequest) runner.TurnResult {
				end := runner.TurnResult{Outcome: cmp.Or(tc.turn, runner.Done), Contained: true, Session: "s"}
				if tc.gives {
					end.Text = "---LOOP_STATUS---\nEXIT_SIGNAL: false\n---END_STATUS---"
				}
				return end
			}))
			d := &busyDirectory{busy: tc.busy, writer: tc.writer, untouched: tc.untouched, meanwhile: tc.meanwhile}
			b.hooks.Directory = d
			waited := false
			b.Observe = func(o runner.Observation) { waited = waited || o.Kind == "waiting" }
			works, fires := filepath.Join(b.logs, "works"), filepath.Join(b.logs, "fires")
			waiting := filepath.Join(b.logs, loop.WaitingFile)
			d.before = func(nth int) {
				if _, err := os.Stat(waiting); (err == nil) != (d.times[nth-1] == runner.WhenQuiet) {
					t.Errorf("before checks %v there is no sign of waiting, or one too many: %v", d.times, err)
				}
				if nth > tc.fail {
					must(os.WriteFile(works, nil, 0o600))
				}
				if _ = os.Remove(fires); nth <= tc.fire {
					must(os.WriteFile(fires, nil, 0o600))
				}
			}
			b.req.Env = map[string]string{"WAVEX_PORT_BASE": "20000", "WAVEX_TASK": "not mine"}
			b.req.Checks = []plan.Check{{Run: `test "$WAVEX_PORT_BASE $WAVEX_TASK" = "20000 T-001" && test -e ` +
				works + ` && test ! -e ` + waiting}}
			b.req.MustNot = []plan.Condition{{Text: "never", Check: &plan.Check{Run: "test -e " + fires}}}
			if tc.files {
				b.req.Files = []plan.File{{Path: "a.txt", Action: "create"}}
			}
			if tc.unchecked {
				b.req.Checks = nil
			}
			r := b.attempt(t.Context())
			if _, err := os.Stat(waiting); err == nil {
				t.Error("a sign of waiting remains")
			}
			if r.Outcome != tc.want || r.Beside != tc.beside || len(r.Violated) != tc.violated || d.edits != 1 ||
				!slices.Equal(d.times, tc.times) || r.Unmeasured != (tc.busy && !tc.unchecked) || r.Vacuous {
				t.Errorf("it is %s (%s), %+v; the checks ran %v", r.Outcome, r.Reason, r, d.times)
			}
			if waited != slices.Contains(d.times, runner.WhenQuiet) {
				t.Errorf("told that it waits: %v", waited)
			}
			if tc.want == runner.Wrong && r.Signature == "" || len(r.Checks) > 1 ||
				(len(r.Checks) == 0) != (tc.turn != "" || tc.unchecked) {
				t.Errorf("result = %+v", r)
			}
		})
	}
}

// An attempt without checks does not wait for the checks of others.
func TestNoChecksInASharedDirectory(t *testing.T) {
	t.Parallel()
	for outcome, checks := range map[runner.Outcome][]plan.Check{runner.Done: nil, runner.OverTurns: {{Run: "true"}}} {
		b := setup(t, agentFunc(func(runner.TurnRequest) runner.TurnResult {
			return runner.TurnResult{Outcome: outcome, Contained: true}
		}))
		b.Observe = func(o runner.Observation) { t.Errorf("%s: observed %+v", outcome, o) }
		d := &busyDirectory{busy: true, writer: true}
		b.req.Checks, b.hooks.Directory = checks, d
		b.req.Guards = []runner.Guard{{Path: "check.sh"}}
		if r := b.attempt(t.Context()); r.Outcome != outcome || d.times != nil || r.Checks != nil ||
			r.Unmeasured != (checks != nil) || r.Vacuous {
			t.Errorf("it is %s (%s); the checks ran %v; %+v", r.Outcome, r.Reason, d.times, r)
		}
	}
}

// Without a turn in its directory an attempt is interrupted, before the agent's turn and before the checks.
func TestNoTurnInASharedDirectory(t *testing.T) {
	t.Parallel()
	b := setup(t, runnertest.StandIn(runnertest.Idles))
	d := &busyDirectory{busy: true, writer: true, refuse: errors.New("the run stops")}
	b.req.Checks = []plan.Check{{Run: "true"}}
	b.hooks.Directory = d
	if r := b.attempt(t.Context()); r.Outcome != runner.Interrupted || r.Cost != 0 ||
		r.Reason != "stopped while waiting for its turn: the run stops" {
		t.Errorf("it is %s: %s", r.Outcome, r.Reason)
	}
	b.req.Turn = &runner.Turn{Result: runner.Result{Outcome: runner.Done}}
	b.req.MustNot = []plan.Condition{{Text: "never", Check: &plan.Check{Run: "true"}}}
	for _, writer := range []bool{true, false} {
		d.writer = writer // else what fails at once does not count
		if r := b.attempt(t.Context()); r.Outcome != runner.Interrupted || r.Checks != nil || r.Violated != nil ||
			r.Reason != "stopped before the checks: the run stops" || d.edits != 1 {
			t.Errorf("it is %s: %s, %+v", r.Outcome, r.Reason, r)
		}
		if _, err := os.Stat(filepath.Join(b.logs, loop.WaitingFile)); err == nil {
			t.Error("a sign of waiting remains")
		}
	}
}

// stoppingDirectory is a directory whose checks before the work end with an error.
type stoppingDirectory struct {
	busyDirectory
	stop func() error
}

func (d *stoppingDirectory) Check(_ context.Context, when runner.CheckTime, _ func()) (bool, error) {
	return false, d.stop()
}

// Without the state from before the task there is no attempt. A stop while it is taken is no failure.
func TestNoBase(t *testing.T) {
	t.Parallel()
	var ctx context.Context
	var cancel context.CancelCauseFunc
	for name, c := range map[string]struct {
		arrange func(b *fixture)
		want    runner.Outcome
		reason  string
	}{
		"a directory": {func(b *fixture) { must(os.Mkdir(b.req.Baseline, 0o700)) }, runner.Broken,
			"reading the digests of the declared files: "},
		"no place": {func(b *fixture) { b.req.Baseline = filepath.Join(os.DevNull, "x", "base.json") }, runner.Broken, ""},
		"no files": {func(b *fixture) { b.req.Baseline = "/proc/self/fd/base.json" }, runner.Broken, ""},
		"a place that cannot be made": {func(b *fixture) {
			b.req.Baseline = filepath.Join(filepath.Dir(b.dir), "link", "base.json")
			must(os.Symlink("gone", filepath.Dir(b.req.Baseline)))
		}, runner.Broken, "mkdir "},
		"checks": {func(b *fixture) {
			b.hooks.Directory = &stoppingDirectory{stop: func() error { return io.ErrNoProgress }}
		}, runner.Broken, io.ErrNoProgress.Error()},
		"stop": {func(b *fixture) {
			b.hooks.Directory = &stoppingDirectory{stop: func() error {
				cancel(errors.New("the run stops"))
				return context.Cause(ctx)
			}}
		}, runner.Interrupted, "stopped during the checks before: the run stops"},
	} {
		ctx, cancel = context.WithCancelCause(t.Context())
		b := setup(t, agentFunc(func(runner.TurnRequest) runner.TurnResult { panic("a turn") }))
		b.req.Checks, b.req.Files = []plan.Check{{Run: "true"}}, []plan.File{{Path: "a.txt"}}
		c.arrange(b)
		if r := b.attempt(ctx); r.Outcome != c.want || !strings.HasPrefix(r.Reason, c.reason) || !r.Contained {
			t.Errorf("%s: it is %s: %s; contained %v", name, r.Outcome, r.Reason, r.Contained)
		}
		cancel(nil)
	}
}

// A person may change a guarded file between two attempts, but not an attempt that was killed and is made again.
func TestGuardsBetweenAttempts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		second int // number of the second attempt
		want   int // guarded files that it changed
		state  bool
	}{"a person": {2, 0, true}, "killed": {1, 1, true}, "killed before it left its state": {1, 1, false}} {
		b := setup(t, runnertest.StandIn(runnertest.Idles))
		at := filepath.Join(b.dir, "check.sh")
		must(os.WriteFile(at, []byte("exit 1\n"), 0o600))
		b.req.Guards = []runner.Guard{{Path: "check.sh"}}
		if r := b.attempt(t.Context()); len(r.Tampered) != 0 {
			t.Errorf("%s: first %+v", name, r.Tampered)
		}
		must(os.WriteFile(at, []byte("exit 0\n"), 0o600))
		if !c.state {
			must(os.Remove(filepath.Join(filepath.Dir(b.req.Baseline), loop.FinalState)))
		}
		b.req.Attempt = c.second
		if r := b.attempt(t.Context()); len(r.Tampered) != c.want {
			t.Errorf("%s: second %+v", name, r.Tampered)
		}
	}
}

// An attempt that only checks the work of an earlier turn has no prompt, and says nothing about the login of the agent.
func TestChecksOfATurn(t *testing.T) {
	t.Parallel()
	b := setup(t, agentFunc(func(runner.TurnRequest) runner.TurnResult { panic("a turn") }))
	b.req.Checks = []plan.Check{{Run: `test "$WAVEX_TASK" = T-001`}}
	b.req.Turn = &runner.Turn{Result: runner.Result{Outcome: runner.Done, Cost: 7, Priced: "result", Notional: true,
		Disputed: 2, Window: &runner.Window{Name: "five_hour"}, Turns: 3}}
	r := b.attempt(t.Context())
	if r.Outcome != runner.Done || r.Cost != 0 || r.Disputed != 0 || r.Priced != "" || r.Notional || r.Window != nil ||
		r.Turns != 3 {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(b.logs, loop.PromptFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the prompt: %v", err)
	}
}

// A plan that protects files only since its task has begun blames no attempt for those that were there.
func TestProtectedSinceAnEdit(t *testing.T) {
	t.Parallel()
	b := setup(t, runnertest.StandIn(runnertest.Idles))
	must(os.WriteFile(filepath.Join(b.dir, "golden.txt"), []byte("x"), 0o600))
	b.req.Checks = []plan.Check{{File: "golden.txt"}}
	for b.req.Attempt = 1; b.req.Attempt <= 2; b.req.Attempt++ {
		if r := b.attempt(t.Context()); r.Outcome != runner.Done {
			t.Errorf("attempt %d is %s: %s", b.req.Attempt, r.Outcome, r.Reason)
		}
		b.req.Protect = []string{"*.txt"}
	}
}

// A turn that failed keeps its outcome if the directory does not become quiet for its mustNot conditions.
func TestFailedTurnInABusyDirectory(t *testing.T) {
	t.Parallel()
	d := &busyDirectory{busy: true, writer: true}
	b := setup(t, agentFunc(func(runner.TurnRequest) runner.TurnResult {
		d.refuse = errors.New("the run stops")
		return runner.TurnResult{Outcome: runner.OverTurns, Reason: "too long", Contained: true}
	}))
	b.hooks.Directory = d
	b.req.MustNot = []plan.Condition{{Text: "never", Check: &plan.Check{Run: "true"}}}
	if r := b.attempt(t.Context()); r.Outcome != runner.OverTurns || r.Reason != "too long" || r.Violated != nil {
		t.Errorf("it is %s: %s, %+v", r.Outcome, r.Reason, r)
	}
}

// A turn behind a wall has closed paths. A command has no closed paths and no policy.
func TestClosedPathsOfATurn(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"", "true"} {
		b := setup(t, nil)
		b.Wall, b.req.Command = &proc.Wall{}, command
		turn, err := b.PrepareTurn(b.req)
		if err != nil || (len(turn.Closed) > 0) != (command == "") || (turn.Policy.Root != "") != (command == "") {
			t.Errorf("%q: closed are %q, %v; the policy is %+v", command, turn.Closed, err, turn.Policy)
		}
		if _, is := turn.Env["WAVEX_REHEARSE"]; is {
			t.Errorf("%q: an agent that does not rehearse gets a scenario", command)
		}
		b.Wall = nil
		if turn, err := b.PrepareTurn(b.req); err != nil || turn.Closed != nil {
			t.Errorf("%q without a wall: closed are %q, %v", command, turn.Closed, err)
		}
	}
}

// An agent that may not push has settings of git beside those of the plan. Its checks have those of the plan alone.
func TestPushesOfATurn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		deny []string
		want map[string]string
	}{
		{nil, map[string]string{"GIT_CONFIG_COUNT": "5", "GIT_CONFIG_KEY_1": "credential.helper", "GIT_CONFIG_VALUE_1": "",
			"GIT_CONFIG_VALUE_4": "file:///t/", "GIT_ASKPASS": "", "GIT_TERMINAL_PROMPT": "0"}},
		{[]string{}, map[string]string{"GIT_CONFIG_COUNT": "1"}},
	} {
		var env map[string]string
		b := setup(t, agentFunc(func(r runner.TurnRequest) runner.TurnResult {
			env = r.Env
			return runner.TurnResult{Outcome: runner.Done}
		}))
		b.req.Env = map[string]string{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "a.b", "GIT_CONFIG_VALUE_0": "c",
			"TMPDIR": "/t"}
		b.req.Settings.PolicyDeny, b.req.Checks = c.deny, []plan.Check{{Run: `test "$GIT_CONFIG_COUNT" = 1`}}
		if r := b.attempt(t.Context()); r.Outcome != runner.Done || env["GIT_CONFIG_KEY_0"] != "a.b" {
			t.Errorf("%s: %s; %v", r.Outcome, r.Reason, env)
		}
		for name, want := range c.want {
			if got, is := env[name]; got != want || !is {
				t.Errorf("deny %q: %s is %q, want %q", c.deny, name, got, want)
			}
		}
		if _, is := env["GIT_ASKPASS"]; is != (c.deny == nil) {
			t.Errorf("deny %q: the variables are %v", c.deny, env)
		}
	}
}

// A command that printed nothing leaves no folder, also if its checks waited.
func TestWaitingLeavesNoFolder(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.hooks.Directory = &busyDirectory{busy: true, writer: true}
	b.req.Command, b.req.Prompt, b.req.LogDir = "true", "", filepath.Join(b.logs, "new")
	b.req.Checks = []plan.Check{{Run: "true"}}
	r := b.attempt(t.Context())
	if _, err := os.Lstat(b.req.LogDir); r.Outcome != runner.Done || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is %s: %s; the folder: %v", r.Outcome, r.Reason, err)
	}
}

// A command that cannot start is the machine's fault, and one whose output has no place still counts.
func TestCommandWithoutAPlace(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.req.Command, b.req.Prompt, b.req.Dir = "true", "", filepath.Join(b.dir, "gone")
	if r := b.attempt(t.Context()); r.Outcome != runner.Broken {
		t.Errorf("it is %s: %s", r.Outcome, r.Reason)
	}
	b.req.Dir, b.req.Command, b.req.LogDir = b.dir, "echo told", filepath.Join(os.DevNull, "x")
	if r := b.attempt(t.Context()); r.Outcome != runner.Done || r.Report != "told" {
		t.Errorf("it is %s: %s; %q", r.Outcome, r.Reason, r.Report)
	}
}

// The agent gets the whole request of its turn: the variables of the attempt, which its checks get too,
// and the limits that apply.
func TestTurnRequest(t *testing.T) {
	t.Parallel()
	var got runner.TurnRequest
	b := setup(t, agentFunc(func(req runner.TurnRequest) runner.TurnResult {
		got = req
		return runner.TurnResult{Outcome: runner.Done, Contained: true}
	}))
	b.Rehearsal = true
	b.req.Cap, b.req.FullPrompt = 7, "do it again"
	b.req.Settings = plan.Settings{MaxTurns: 3, PolicyDeny: []string{"curl"}}
	b.req.Env = map[string]string{"WAVEX_SLOT": "not mine", "WAVEX_PORT_BASE": "20000"}
	b.req.Checks = []plan.Check{{Run: `test "$WAVEX_REHEARSE" = ` + filepath.Join(b.logs, loop.RehearseFile)}}
	if r := b.attempt(t.Context()); r.Outcome != runner.Done || r.Session != b.req.Session {
		t.Errorf("result = %+v", r)
	}
	mark := b.req.Run + "/T-001/1"
	want := runner.TurnRequest{Task: "T-001", Attempt: 1, Mark: mark, Dir: b.dir, LogDir: b.logs, Prompt: "do it",
		FullPrompt: "do it again", Session: b.req.Session, Cap: 7, Checks: b.req.Checks,
		Env: map[string]string{"WAVEX_RUN": b.req.Run, "WAVEX_ATTEMPT": mark, "WAVEX_TASK": "T-001", "WAVEX_SLOT": "2",
			"WAVEX_PORT_BASE": "20000", "WAVEX_REHEARSE": filepath.Join(b.logs, loop.RehearseFile)},
		Settings: plan.Settings{MaxTurns: 3, Timeout: plan.DefaultTimeout, IdleTimeout: plan.DefaultIdleTimeout,
			PolicyDeny: []string{"curl"}}}
	if want.Policy = got.Policy; want.Policy.Root != b.dir || len(want.Policy.Closed) == 0 {
		t.Errorf("the turn's policy is %+v", got.Policy)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the turn's request is\n%+v, want\n%+v", got, want)
	}
	data, err := json.Marshal(got)
	must(err)
	var back runner.TurnRequest
	if must(json.Unmarshal(data, &back)); !reflect.DeepEqual(back, got) {
		t.Errorf("a TurnRequest must travel:\n%+v\nbecame\n%+v", got, back)
	}
}

// A process gets the variables of the host, and those of the attempt, which win.
func TestEnviron(t *testing.T) {
	t.Parallel()
	h := runner.Host{ExtraEnv: map[string]string{"A": "host", "B": "host"}}
	if got := h.Environ(map[string]string{"B": "attempt"}); !slices.Equal(got, []string{"A=host", "B=attempt"}) {
		t.Errorf("the environment is %q", got)
	}
}

// A scenario that is no JSON is an error.
func TestAssignmentIsJSON(t *testing.T) {
	t.Parallel()
	var h runner.Host
	if err := h.Prepare(t.TempDir(), "", map[string]string{}, runner.Assignment{Block: []byte("{")}); err == nil {
		t.Error("the scenario { was accepted")
	}
}

// A command gets no scenario of the rehearsal agent.
func TestCommandInARehearsal(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	b.Rehearsal, b.req.Command = true, "true"
	turn, err := b.PrepareTurn(b.req)
	if _, is := turn.Env["WAVEX_REHEARSE"]; is || err != nil {
		t.Errorf("the variables are %v, %v", turn.Env, err)
	}
}

// What the agent reports of its turn is in the result of the attempt.
func TestTurnResult(t *testing.T) {
	t.Parallel()
	began := time.Now()
	end := runner.TurnResult{Outcome: runner.Limited, Reason: "later", Detail: "much later", Report: "did it",
		Session: "s-2", SessionReplaced: true, Turns: 3, ExitCode: 4, Contained: false,
		Denials: []runner.Denial{{Tool: "Bash", Rule: "Bash(x)", Kind: runner.CommandTool}}, Version: "2.1", Model: "m",
		ResetsAt: began.Add(time.Hour).UTC(), RetryAfter: time.Minute,
		Bill: runner.Bill{Cost: 7, Priced: "result", Disputed: 2, Usage: runner.Usage{Output: 5}}, Notional: true,
		Exhausted: "memory limit", Window: &runner.Window{Name: "five_hour", Used: 0.5}, Refused: 2,
		Refusals: []runner.Refusal{{Tool: "Bash", Reason: "no"}}}
	b := setup(t, agentFunc(func(runner.TurnRequest) runner.TurnResult { return end }))
	b.Rehearsal = true
	r := b.attempt(t.Context())
	if r.Started.Before(began.Add(-time.Second)) || r.Started.After(time.Now()) || r.Duration <= 0 ||
		r.Duration > time.Since(began) || r.Signature == "" {
		t.Errorf("it began at %v and took %v; its error is %q", r.Started, r.Duration, r.Signature)
	}
	want := runner.Result{Outcome: end.Outcome, Reason: "memory limit: later", Detail: end.Detail, Report: end.Report,
		Window: end.Window, Refused: 2, Refusals: end.Refusals,
		Session: "s-2", SessionReplaced: true, Turns: 3, ExitCode: 4, Denials: end.Denials, ClaudeVersion: "2.1", Model: "m",
		ResetsAt: end.ResetsAt, RetryAfter: end.RetryAfter, Cost: 7, Priced: "result", Disputed: 2, Usage: end.Usage,
		Notional: true, Started: r.Started, Duration: r.Duration, Signature: r.Signature}
	if !reflect.DeepEqual(r, want) {
		t.Errorf("the result is\n%+v, want\n%+v", r, want)
	}
}

// If the folder of its files cannot be made, no attempt begins. The reason says that there is no result file either.
func TestNoLogFolder(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{"", "do it"} {
		b := setup(t, agentFunc(func(runner.TurnRequest) runner.TurnResult { panic("a turn") }))
		b.req.LogDir, b.req.Prompt = filepath.Join(b.logs, "file", "logs"), prompt
		must(os.WriteFile(filepath.Join(b.logs, "file"), nil, 0o600))
		for _, b.req.Command = range []string{"", "true"} {
			if r := b.attempt(t.Context()); (r.Outcome == runner.Broken) != (prompt+b.req.Command != "true") ||
				r.Outcome == runner.Broken && strings.Count(r.Reason, "not a directory") != 2 {
				t.Errorf("%q, %q: it is %s: %s", prompt, b.req.Command, r.Outcome, r.Reason)
			}
		}
	}
}

// A guarded file that the agent changes is named, also by an attempt that others' work surrounds.
func TestGuardedFiles(t *testing.T) {
	t.Parallel()
	b := setup(t, script("echo 'exit 0' > check.sh; mkdir .loop; echo > made"))
	must(os.WriteFile(filepath.Join(b.dir, "check.sh"), []byte("exit 1\n"), 0o600))
	b.req.Guards = []runner.Guard{{Path: "check.sh", Why: "others need it"}}
	r := b.attempt(t.Context())
	if want := []runner.Tamper{{Path: "check.sh", Why: "others need it"}}; r.Outcome != runner.Done ||
		!slices.Equal(r.Tampered, want) {
		t.Errorf("result = %+v", r)
	}
}

// agentFunc is an agent with a turn and no answers.
type agentFunc func(runner.TurnRequest) runner.TurnResult

func (f agentFunc) Turn(_ context.Context, req runner.TurnRequest) runner.TurnResult {
	return f(req)
}

func (agentFunc) Ask(context.Context, runner.Question) runner.Answer { panic("not asked") }

func TestInterruptedDuringChecks(t *testing.T) {
	t.Parallel()
	b := setup(t, runnertest.StandIn(runnertest.Idles))
	ctx, cancel := context.WithCancelCause(t.Context())
	b.Observe = func(o runner.Observation) {
		if o.Kind == "checking" {
			cancel(errors.New("stop now"))
		}
	}
	b.req.Checks = []plan.Check{{Run: "test ! -e first || sleep 600"}, {File: "nothing"}}
	r := b.attempt(ctx)
	if r.Outcome != runner.Interrupted || r.Cost != 10_000 || len(r.Checks) != 2 {
		t.Errorf("result = %+v", r)
	}
}

func TestVacuousAndBaseline(t *testing.T) {
	t.Parallel()
	b := setup(t, runnertest.StandIn(runnertest.Idles))
	must(os.WriteFile(filepath.Join(b.dir, "a.txt"), []byte("there"), 0o644))
	b.req.Checks = []plan.Check{{File: "a.txt", Contains: "there"}}
	b.req.Files = []plan.File{{Path: "a.txt", Action: "modify"}}
	if r := b.attempt(t.Context()); r.Outcome != runner.Wrong {
		t.Errorf("without a review it is %+v", r)
	}
	b.req.Reviewed = true
	r := b.attempt(t.Context())
	if r.Outcome != runner.Done || !r.Vacuous || r.Edited() {
		t.Errorf("result = %+v", r)
	}
	// The base is from before the first attempt.
	must(os.WriteFile(filepath.Join(b.dir, "a.txt"), []byte("there, and changed"), 0o644))
	b.req.Attempt = 2
	if r := b.attempt(t.Context()); r.Outcome != runner.Done || !slices.Equal(r.Changed, []string{"a.txt"}) {
		t.Errorf("second attempt = %+v", r)
	}
	b.req.Reviewed = false
	for _, damaged := range []string{"", "{oops", "\x00\x00"} { // by a power cut, after which the work may be there
		must(os.WriteFile(b.req.Baseline, []byte(damaged), 0o600))
		for range 2 {
			r := b.attempt(t.Context())
			if r.Outcome != runner.Done || r.Vacuous || !r.Unmeasured || !slices.Equal(r.Changed, []string{"a.txt"}) {
				t.Errorf("with the base %q = %+v", damaged, r)
			}
		}
	}
}

// A denied command is why a check fails if the agent edited nothing.
func TestDeniedByTheWay(t *testing.T) {
	t.Parallel()
	for want, text := range map[runner.Outcome]string{runner.Denied: "old", runner.Wrong: "new"} {
		b := setup(t, agentFunc(func(req runner.TurnRequest) runner.TurnResult {
			must(os.WriteFile(filepath.Join(req.Dir, "a.go"), []byte(text), 0o600))
			return runner.TurnResult{Outcome: runner.Done, Contained: true, Edits: map[string]int{"a.go": 1},
				Denials: []runner.Denial{{Tool: "Bash", Rule: "Bash(make)", Kind: runner.CommandTool}}}
		}))
		must(os.WriteFile(filepath.Join(b.dir, "a.go"), []byte("old"), 0o600))
		b.req.Trees = &runner.Trees{Store: filepath.Join(b.logs, "store")}
		b.req.Checks = []plan.Check{{Run: "exit 1"}}
		if r := b.attempt(t.Context()); r.Outcome != want {
			t.Errorf("with the text %q it is %s: %s", text, r.Outcome, r.Reason)
		}
	}
}

func TestEdits(t *testing.T) {
	t.Parallel()
	var edits map[string]int
	b := setup(t, agentFunc(func(runner.TurnRequest) runner.TurnResult {
		return runner.TurnResult{Outcome: runner.Done, Contained: true, Edits: edits}
	}))
	edits = map[string]int{filepath.Join(b.dir, "in.go"): 2, filepath.Join(b.dir, "once.go"): 1, "/else/x": 2}
	r := b.attempt(t.Context())
	if want := map[string]int{"in.go": 2, "/else/x": 2}; !maps.Equal(r.Edits, want) {
		t.Errorf("edits = %v, want %v", r.Edits, want)
	}
}

func TestCommandTasks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		shell  string
		checks []plan.Check
		adjust func(*runner.Request)
		want   runner.Outcome
		reason string
	}{
		{shell: "echo made > made.txt", checks: []plan.Check{{File: "made.txt"}}, want: runner.Done,
			adjust: func(r *runner.Request) { r.Files = []plan.File{{Path: "made.txt", Action: "create"}} }},
		{shell: "true", want: runner.Done},
		{shell: "test -d .", want: runner.Wrong, reason: "the declared files are unchanged: made.txt",
			adjust: func(r *runner.Request) { r.Files = []plan.File{{Path: "made.txt", Action: "create"}} }},
		{shell: "echo why; exit 3", want: runner.Wrong, reason: "exit code is 3"},
		{shell: "kill -9 $$", want: runner.Wrong, reason: "SIGKILL"},
		{shell: "true", checks: []plan.Check{{File: "made.txt"}}, want: runner.Wrong, reason: "made.txt does not exist"},
		{shell: "sleep 600", adjust: func(r *runner.Request) { r.Settings.Timeout = 200 * time.Millisecond },
			want:   runner.TimedOut,
			reason: "not finished after 200ms"},
		{shell: "test $WAVEX_TASK/$WAVEX_SLOT/$WAVEX_ATTEMPT = T-001/2/$WAVEX_RUN/T-001/1", want: runner.Done},
	} {
		t.Run(tc.shell, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil)
			b.req.Command, b.req.Checks, b.req.Prompt = tc.shell, tc.checks, ""
			b.hooks.TurnEnded = func(runner.Turn) error { panic("a command has no turn") }
			if tc.want != runner.Done {
				b.req.Prompt = "kept"
			}
			if tc.adjust != nil {
				tc.adjust(&b.req)
			}
			r := b.attempt(t.Context())
			if r.Outcome != tc.want || !strings.Contains(r.Reason, tc.reason) || r.Cost != 0 || r.Priced != "" ||
				(r.ExitCode == 3) != strings.Contains(tc.reason, "exit code is 3") || r.ExitCode == 3 && r.Detail != "why" {
				t.Errorf("result = %+v", r)
			}
			if _, err := os.Lstat(b.req.Baseline); (err == nil) != (len(b.req.Files)+len(b.req.Checks) > 0) {
				t.Errorf("the base, with files %v and checks %v: %v", b.req.Files, b.req.Checks, err)
			}
			if r.Outcome != runner.Done {
				checkLogFiles(t, b, r)
			} else if left, err := os.ReadDir(b.logs); err != nil || len(left) > 0 {
				t.Errorf("a command that ended well and said nothing left files: %v, %v", left, err)
			}
		})
	}
	b := setup(t, nil)
	b.req.Command = "echo begun; : > " + filepath.Join(b.logs, "x") + "; sleep 600"
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, errors.New("run is over"))
	defer cancel()
	if r := b.attempt(ctx); r.Outcome != runner.Interrupted || !strings.Contains(r.Reason, "run is over") {
		t.Errorf("interrupted command = %+v", r)
	}
}

// A structured result is validated and kept; a large one in a file by its digest. Without a valid one the attempt is
// wrong.
func TestOutput(t *testing.T) {
	t.Parallel()
	large := `{"n":1,"text":"` + strings.Repeat("x", 16<<10) + `"}`
	largest := `{"n":1,"text":"` + strings.Repeat("x", runner.MaxOutput-len(`{"n":1,"text":""}`)) + `"}`
	for _, tc := range []struct {
		name                string
		structured, offered string
		value, reason       string
	}{
		{name: "small", structured: ` {"n": 1} `, value: `{"n":1}`},
		{name: "large", structured: large, value: large},
		{name: "none", reason: "no output: the agent did not call StructuredOutput"},
		{name: "refused", offered: `{"n":"x"}`,
			reason: `its schema: validating root: validating /properties/n: type: x has type "string"`},
		{name: "refused digit", offered: "1", reason: "does not match its schema"},
		{name: "invalid", structured: `{"n":1.5}`, reason: "does not match its schema"},
		{name: "no JSON", structured: `{"n":`, reason: "is not JSON"},
		{name: "largest", structured: largest, value: largest},
		{name: "too large", structured: strings.Replace(largest, "x", "xx", 1), reason: "is larger than"},
		{name: "secret", structured: `{"n":1,"text":"my hunter2"}`, value: `{"n":1,"text":"my [removed]"}`},
		{name: "secret number", structured: `{"n":271828}`, reason: "holds a secret outside of a string"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			const schema = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
			b := setup(t, agentFunc(func(req runner.TurnRequest) runner.TurnResult {
				if string(req.Output) != schema {
					t.Errorf("the agent gets the schema %s", req.Output)
				}
				return runner.TurnResult{Outcome: runner.Done, Contained: true, Structured: []byte(tc.structured),
					Offered: []byte(tc.offered)}
			}))
			b.Redactor = replacer{strings.NewReplacer("hunter2", "[removed]", "271828", "[removed]")}
			b.req.Output = &runner.OutputSpec{Dir: filepath.Join(t.TempDir(), "outputs"), Schema: []byte(schema)}
			r := b.attempt(t.Context())
			if tc.reason != "" {
				if r.Outcome != runner.Wrong || !strings.Contains(r.Reason, tc.reason) || r.Output != nil ||
					!strings.Contains(r.Detail, tc.reason) {
					t.Errorf("result = %+v", r)
				}
				return
			}
			if r.Outcome != runner.Done || r.Output == nil || r.Output.Size != len(tc.value) ||
				(r.Output.Value == nil) != strings.HasPrefix(tc.name, "large") {
				t.Fatalf("result = %+v", r)
			}
			if got, err := r.Output.Read(b.req.Output.Dir); err != nil || string(got) != tc.value {
				t.Errorf("the output is %.100s, %v", got, err)
			}
			if tc.name == "large" {
				must(os.WriteFile(filepath.Join(b.req.Output.Dir, r.Output.Digest+".json"), []byte(`{"n":2}`), 0o600))
				if got, err := r.Output.Read(b.req.Output.Dir); err == nil {
					t.Errorf("a changed file is read: %s", got)
				}
			}
		})
	}
}

// replacer is a Redactor.
type replacer struct{ *strings.Replacer }

func (r replacer) Bytes(b []byte) []byte { return []byte(r.Replace(string(b))) }

func (r replacer) String(s string) string { return r.Replace(s) }
func (r replacer) Value(v any) any        { return r.Bytes(v.([]byte)) }

func (r replacer) Writer(w io.Writer) io.WriteCloser { return writer{w} }

type writer struct{ io.Writer }

func (writer) Close() error { return nil }

// checkLogFiles checks the files of an attempt: with the prompt, and with the returned result.
func checkLogFiles(t *testing.T, b *fixture, r runner.Result) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.logs, loop.ResultFile))
	must(err)
	var back runner.Result
	if must(json.Unmarshal(data, &back)); !reflect.DeepEqual(back, r) {
		t.Errorf("result.json\n%+v\nis not what was returned\n%+v", back, r)
	}
	if prompt, err := os.ReadFile(filepath.Join(b.logs, loop.PromptFile)); err != nil || string(prompt) != b.req.Prompt {
		t.Errorf("prompt.md: %v", err)
	}
}

// The end of a turn is reported once, before the first check. If it cannot be recorded, nothing is
// checked.
func TestTurnEnded(t *testing.T) {
	t.Parallel()
	b := setup(t, runnertest.StandIn(runnertest.Idles))
	mark := filepath.Join(t.TempDir(), "reported")
	b.req.Checks = []plan.Check{{Run: "test ! -e first || test -e " + mark}}
	must(os.WriteFile(filepath.Join(b.dir, "first"), nil, 0o644))
	var ends []runner.Turn
	b.hooks.TurnEnded = func(turn runner.Turn) error {
		ends = append(ends, turn)
		return os.WriteFile(mark, nil, 0o600)
	}
	r := b.attempt(t.Context())
	if r.Outcome != runner.Done || len(ends) != 1 {
		t.Fatalf("it is %s (%s), after %d ends of turns", r.Outcome, r.Reason, len(ends))
	}
	if got := ends[0].Result; got.Outcome != runner.Done || got.Cost != r.Cost || got.Session != r.Session ||
		got.Report != r.Report || got.Checks != nil || got.Duration <= 0 || r.Cost == 0 {
		t.Errorf("the turn ended as %+v, the attempt as %+v", got, r)
	}
	b.req.MustNot, b.req.Checks = []plan.Condition{{Text: "never", Check: &plan.Check{Run: "false"}}}, nil
	if r := b.attempt(t.Context()); r.Outcome != runner.Done || len(ends) != 2 {
		t.Errorf("with a mustNot condition it is %s (%s), after %d ends of turns", r.Outcome, r.Reason, len(ends))
	}
	b.req.Checks = []plan.Check{{Run: "true"}}
	idle := b.Agent
	b.Agent = agentFunc(func(runner.TurnRequest) runner.TurnResult { return runner.TurnResult{Outcome: runner.Stalled} })
	if r := b.attempt(t.Context()); r.Outcome != runner.Stalled || len(ends) != 2 { // there is nothing to check
		t.Errorf("a failed turn is %s, after %d ends of turns", r.Outcome, len(ends))
	}
	b.Agent = idle
	b.hooks.TurnEnded = func(runner.Turn) error { return errors.New("the run stops") }
	if r := b.attempt(t.Context()); r.Outcome != runner.Interrupted || r.Checks != nil || r.Cost == 0 {
		t.Errorf("without a record it is %s: %s, %v", r.Outcome, r.Reason, r.Checks)
	}
}

// An attempt with a turn only checks its work: no agent is asked, and nothing is paid.
func TestChecksOfAnEndedTurn(t *testing.T) {
	t.Parallel()
	ended := runner.Turn{Result: runner.Result{Outcome: runner.Done, Session: "s-1", Cost: 5, Priced: "result",
		Usage: runner.Usage{Output: 3}, Turns: 2, Report: "did it", Changed: []string{"a.txt"},
		Tampered: []runner.Tamper{{Path: "plan.json", Why: runner.WhyPlan}}}}
	unfinished := ended
	unfinished.Unfinished = "the agent reports that it is not finished"
	for _, tc := range []struct {
		name  string
		turn  runner.Turn
		check string
		want  runner.Outcome
	}{
		{"passed", ended, "true", runner.Done},
		{"failed", ended, "false", runner.Wrong},
		{"unfinished by its own account", unfinished, "true", runner.Wrong},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, agentFunc(func(runner.TurnRequest) runner.TurnResult { panic("a second turn") }))
			b.req.Turn, b.req.Attempt, b.req.Checks = &tc.turn, 2, []plan.Check{{Run: tc.check}}
			b.hooks.TurnEnded = func(runner.Turn) error { panic("the turn is on record") }
			r := b.attempt(t.Context())
			if r.Outcome != tc.want || len(r.Checks) != 1 {
				t.Errorf("it is %s: %s, %v", r.Outcome, r.Reason, r.Checks)
			}
			if r.Cost != 0 || r.Usage.Total() != 0 || r.Priced != "" || r.Session != "s-1" || r.Report != "did it" ||
				r.Turns != 2 || len(r.Tampered) != 1 || !r.Contained {
				t.Errorf("result = %+v", r)
			}
		})
	}
}

// A mustNot check that is interrupted shows nothing, so the attempt is interrupted.
func TestInterruptedMustNot(t *testing.T) {
	t.Parallel()
	b := setup(t, runnertest.StandIn(runnertest.Idles))
	started := filepath.Join(t.TempDir(), "started")
	b.req.MustNot = []plan.Condition{{Text: "never", Check: &plan.Check{Run: "echo > " + started + "; sleep 600"}}}
	ctx, cancel := context.WithCancelCause(t.Context())
	var watch sync.WaitGroup
	watch.Go(func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(started); err == nil {
				cancel(errors.New("stop now"))
			}
			runtime.Gosched()
		}
	})
	if r := b.attempt(ctx); r.Outcome != runner.Interrupted || r.Cost == 0 {
		t.Errorf("it is %s: %s", r.Outcome, r.Reason)
	}
	cancel(nil)
	watch.Wait()
}

// The output of a command is the JSON on its standard output.
func TestOutputOfCommand(t *testing.T) {
	t.Parallel()
	large := `printf '{"n":1,"text":"%20000s"}'`
	for _, tc := range []struct {
		name, command, schema, dir, value, reason string
		want                                      runner.Outcome
	}{
		{"small", `echo warning >&2; echo '{ "n": 1 }'`, "", "", `{"n":1}`, "", runner.Done},
		{"nothing", "echo warning >&2", "", "", "",
			"no output: the command printed nothing on standard output", runner.Wrong},
		{"blanks", `printf ' \n\t\n'`, "", "", "",
			"no output: the command printed nothing on standard output", runner.Wrong},
		{"failed", `echo '{"n":1}'; exit 3`, "", "", "", "exit code is 3", runner.Wrong},
		{"too large", `printf '"%1048575s"'`, `{}`, "", "", "is larger than", runner.Wrong},
		{"no schema", `echo '{"n":1}'`, `{"type":3}`, "", "", "the schema of the output: ", runner.Broken},
		{"no place", large, "", "file/outputs", "", "keeping the output: ", runner.Broken},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil)
			must(os.WriteFile(filepath.Join(b.dir, "file"), nil, 0o600))
			b.req.Command = tc.command
			b.req.Output = &runner.OutputSpec{Dir: filepath.Join(b.dir, cmp.Or(tc.dir, "outputs")),
				Schema: []byte(cmp.Or(tc.schema, `{"type":"object"}`))}
			r := b.attempt(t.Context())
			if r.Outcome != tc.want || !strings.Contains(r.Reason, tc.reason) || (r.Output != nil) != (tc.value != "") ||
				r.Output != nil && string(r.Output.Value) != tc.value {
				t.Errorf("result = %+v", r)
			}
		})
	}
}

// A protected file that an attempt makes counts against the next attempt too, until it is gone. No file matches the
// pattern before the task.
func TestProtectedFileIsMade(t *testing.T) {
	t.Parallel()
	b := setup(t, script("test -e made && { rm -f $(cat made); exit; }; echo new > go.lock; echo > made"))
	b.req.Checks = []plan.Check{{Run: "true"}}
	b.req.Protect = []string{"go.*"}
	lock := filepath.Join(b.dir, "go.lock")
	for n, c := range []struct {
		removes string
		want    runner.Outcome
	}{{"", runner.Wrong}, {"", runner.Wrong}, {lock, runner.Done}} {
		if n > 0 {
			must(os.WriteFile(filepath.Join(b.dir, "made"), []byte(c.removes), 0o600))
		}
		b.req.Attempt = n + 1
		if r := b.attempt(t.Context()); r.Outcome != c.want {
			t.Errorf("attempt %d is %s: %s", n+1, r.Outcome, r.Reason)
		}
	}
}

// An attempt that changes files that the plan protects is wrong, whatever its checks say. A mustNot condition without a
// check is for reviewers.
func TestProtectedFiles(t *testing.T) {
	t.Parallel()
	b := setup(t, script("echo changed > go.mod; echo new > go.lock"))
	must(os.WriteFile(filepath.Join(b.dir, "go.mod"), []byte("module x\n"), 0o600))
	b.req.Checks = []plan.Check{{Run: "true"}}
	b.req.Protect = []string{"go.*"}
	b.req.MustNot = []plan.Condition{{Text: "it is slow"}, {Text: "it is new", Check: &plan.Check{Run: "test -e go.lock"}}}
	only := setup(t, b.Agent)
	only.req.Protect = b.req.Protect
	if r := only.attempt(t.Context()); r.Outcome != runner.Wrong {
		t.Errorf("without checks it is %s", r.Outcome)
	}
	r := b.attempt(t.Context())
	if r.Outcome != runner.Wrong || r.Reason != "changed what the plan protects: go.lock, go.mod" ||
		!strings.Contains(r.Detail, "put them back:\ngo.lock\ngo.mod") || !slices.Equal(r.Violated, []string{"it is new"}) {
		t.Errorf("result = %+v", r)
	}
}
