package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/testrepo"
	"wavex/internal/usererr"
	"wavex/runner"
	"wavex/scheduler"
)

func TestMain(m *testing.M) { testrepo.Main(m) }

// work is a Runner that calls a function for the directory of the attempt.
type work func(dir string, req runner.Request) error

func (w work) Attempt(_ context.Context, req runner.Request, _ runner.Hooks) runner.Result {
	if err := w(req.Dir, req); err != nil {
		return runner.Result{Outcome: runner.Wrong, Reason: err.Error(), Contained: true}
	}
	return runner.Result{Outcome: runner.Done, Contained: true}
}

// writes is work that leaves the task's id in a file of its name.
func writes(dir string, req runner.Request) error {
	return os.WriteFile(filepath.Join(dir, req.Task), []byte(req.Task+"\n"), 0o644)
}

// fixture is a site that is wired to a loop.
type fixture struct {
	*testing.T
	*Workspace
	dir      string
	attempts *Attempts
	loop     *scheduler.Loop
	notices  []string
	warnings []string
}

func config(dir string, isolation event.Isolation) event.Config {
	return event.Config{Run: "r-1", Dir: dir, Loop: loop.In(dir), Isolation: isolation, Parallel: 4,
		Schedule: "waves",
		Limits:   budget.Limits{NoUSD: true, NoIterations: true}}
}

// newFixture returns a site of a run of a plan in dir, with the attempts w.
func newFixture(t *testing.T, dir, text string, c event.Config, w work) *fixture {
	t.Helper()
	p := testrepo.Plan(t, dir, text)
	b := &fixture{T: t, dir: dir, loop: &scheduler.Loop{State: scheduler.NewState(p)}}
	var err error
	b.Workspace, err = Open(t.Context(), p, c, "", nil, nil,
		func(text string) { b.notices = append(b.notices, text) },
		func(err error) { b.warnings = append(b.warnings, err.Error()) })
	testrepo.Must(t, err)
	t.Cleanup(func() { testrepo.Must(t, b.Close(context.WithoutCancel(t.Context()))) })
	b.attempts = &Attempts{Workspace: b.Workspace, Checkpoints: &Checkpointer{}, Make: w}
	b.loop.Runner, b.loop.Integrator, b.loop.Views = b.attempts, b.Integrator(), []scheduler.View{b.Workspace}
	return b
}

// attempt makes an attempt as the loop does.
func (b *fixture) attempt(task string) runner.Result {
	return b.loop.Runner.Attempt(b.Context(), runner.Request{Run: "r-1", Task: task, Attempt: 1, Dir: b.dir},
		runner.Hooks{})
}

// emit shows an event to the loop's views.
func (b *fixture) emit(body event.Body) {
	for _, v := range b.loop.Views {
		v.Event(event.Event{Body: body}, b.loop.State)
	}
}

const pair = `{"name":"two","tasks":[{"id":"a","subject":"do a","verify":["test -e a"]},{"id":"b","subject":"do b"}]}`

// The mode is chosen when a site is opened, and printed if it is not the default.
func TestOpen(t *testing.T) {
	t.Parallel()
	repo := func(t *testing.T) string { return testrepo.Repo(t, testrepo.Files{"x": "x\n"}) }
	none := func(t *testing.T) string { return t.TempDir() }
	dirty := func(t *testing.T) string {
		dir := repo(t)
		testrepo.Files{"x": "y\n"}.Write(t, dir)
		return dir
	}
	const chain = `{"tasks":[{"id":"a","subject":"a"},{"id":"b","subject":"b","blockedBy":["a"]}]}`
	for name, c := range map[string]struct {
		dir             func(*testing.T) string
		plan            string
		isolation, mode event.Isolation
		says            string // "": nothing
	}{
		"two side by side":     {repo, pair, "auto", gitwork.Worktree, "isolation worktree: the checkout is clean"},
		"one at a time":        {repo, chain, "auto", gitwork.Shared, ""},
		"one at a time, asked": {repo, chain, "worktree", gitwork.Worktree, "isolation worktree: asked for"},
		"not committed": {dirty, pair, "auto", gitwork.Shared,
			"isolation shared: there are uncommitted changes"},
		"no repository":            {none, pair, "auto", gitwork.Shared, "isolation shared: "},
		"shared":                   {repo, pair, "shared", gitwork.Shared, ""},
		"a run that knew no other": {repo, pair, "", gitwork.Shared, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := c.dir(t)
			b := newFixture(t, dir, c.plan, config(dir, c.isolation), writes)
			if b.Mode() != c.mode {
				t.Errorf("it is %s, want %s", b.Mode(), c.mode)
			}
			if all := strings.Join(b.notices, "|"); c.says == "" && all != "" || !strings.HasPrefix(all, c.says) ||
				len(b.notices) > 1 {
				t.Errorf("it says %q, want %q", b.notices, c.says)
			}
			if trees := b.loop.Integrator != nil; trees != (c.mode == gitwork.Worktree) {
				t.Errorf("the loop has trees: %v", trees)
			}
		})
	}
}

// Every reason why a run cannot have its workspace is a *usererr.BlockedError.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for name, lay := range map[string]func(t *testing.T, c *event.Config){
		"no repository": func(t *testing.T, c *event.Config) { c.Isolation = "worktree" },
		"no such mode":  func(t *testing.T, c *event.Config) { c.Isolation = "own" },
		"an unfit id":   func(t *testing.T, c *event.Config) { c.Run = "a..b/../c" },
		"a file for .loop": func(t *testing.T, c *event.Config) {
			testrepo.Files{".loop": "mine\n"}.Write(t, c.Dir)
		},
		"a file for the trees": func(t *testing.T, c *event.Config) {
			testrepo.Files{".loop/worktrees": "mine\n"}.Write(t, c.Dir)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := config(dir, "auto")
			lay(t, &c)
			var blocked *usererr.BlockedError
			s, err := Open(t.Context(), testrepo.Plan(t, dir, pair), c, "", nil, nil, func(string) {}, func(error) {})
			if s != nil || !errors.As(err, &blocked) {
				t.Errorf("%v, %v", s, err)
			}
		})
	}
	t.Run("another works on it", func(t *testing.T) {
		t.Parallel()
		dir := testrepo.Repo(t, nil)
		b := newFixture(t, dir, pair, config(dir, "worktree"), writes)
		var in *gitwork.Error
		_, err := Open(t.Context(), b.plan, config(dir, "worktree"), "", nil, nil, func(string) {}, func(error) {})
		if !errors.As(err, &in) ||
			in.Problem != gitwork.InUse {
			t.Errorf("%v", err)
		}
	})
}

// A wave: each task works in its own tree, the tasks are integrated, and the result is delivered.
func TestWave(t *testing.T) {
	t.Parallel()
	dir := testrepo.Repo(t, testrepo.Files{"sub/x": "x\n"})
	b := newFixture(t, dir, pair, config(dir, "auto"), writes)
	var all sync.WaitGroup
	for _, task := range []string{"a", "b"} {
		all.Go(func() {
			if res := b.attempt(task); res.Outcome != runner.Done || res.Commit == "" {
				t.Errorf("%s: %+v", task, res)
			}
		})
	}
	all.Wait()
	at, base, done := b.AttemptDir(t.Context(), "a", filepath.Join(dir, "sub"))
	if base == "" || !strings.HasSuffix(at, string(filepath.Separator)+"sub") || strings.HasPrefix(at,
		filepath.Join(dir, "sub")) {
		t.Errorf("a works in %s, on %q", at, base)
	}
	if _, err := os.Stat(filepath.Join(at, "..", "a")); err != nil {
		t.Error("the work of a:", err)
	}
	done()
	if at, base, done = b.AttemptDir(t.Context(), "never", dir); at != dir || base != "" {
		t.Errorf("what never began works in %s, on %q", at, base)
	}
	done()
	got, err := b.Integrate(t.Context(), 1, []string{"a", "b", "gone"})
	if err != nil || fmt.Sprint(got.Completed) != "[a b]" || len(got.Culprits) != 0 || got.Commit == "" ||
		got.Commits["b"] == "" {
		t.Fatalf("%+v, %v", got, err)
	}
	testrepo.Must(t, b.WithIntegrated(t.Context(), func(at string) error {
		for _, f := range []string{"a", "b", "sub/x"} {
			if _, err := os.Stat(filepath.Join(at, f)); err != nil {
				t.Errorf("together: %v", err)
			}
		}
		return nil
	}))
	if left, _ := filepath.Glob(loop.In(dir).Worktree("r-1", "[1-9]*")); len(left) > 1 { // that of integrations stays
		t.Errorf("no task is left, and there are the worktrees %v", left)
	}
	if from, to := b.WaveRange(1); from == to || to != got.Commit {
		t.Errorf("the wave is %s..%s", from, to)
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); err == nil {
		t.Error("the user's checkout was written to")
	}
	d, err := b.Deliver(t.Context(), true)
	if err != nil || d.How != "ff" || d.Failed || d.Commit != got.Commit {
		t.Errorf("%+v, %v", d, err)
	}
	if log := testrepo.Git(t, dir, "log", "--format=%s", "--reverse"); log != "first\ndo a\ndo b\n" {
		t.Errorf("the log is %q", log)
	}
}

// A task that breaks the combined tree is named, and its next attempt begins on the integrated
// work.
func TestCulprit(t *testing.T) {
	t.Parallel()
	dir := testrepo.Repo(t, testrepo.Files{"x": "x\n"})
	seen := ""
	b := newFixture(t, dir, `{"criteria":[{"text":"never b","verify":"test ! -e b"}],"mustNot":[{"text":"no core","verify":{"file":"core"}}],
		"tasks":[{"id":"a","subject":"a"},{"id":"b","subject":"b"},{"id":"c","subject":"c"}]}`, config(dir, "auto"),
		func(dir string, req runner.Request) error {
			if req.Task == "c" {
				text, _ := os.ReadFile(filepath.Join(dir, "a")) // "" if it does not exist
				seen = string(text)
				return os.WriteFile(filepath.Join(dir, "core"), nil, 0o644)
			}
			return writes(dir, req)
		})
	for _, task := range []string{"a", "b", "c"} {
		if res := b.attempt(task); res.Outcome != runner.Done {
			t.Fatalf("%s: %+v", task, res)
		}
	}
	// While a task remains that could make the criterion true, it is not checked.
	got, err := b.Integrate(t.Context(), 1, []string{"b", "c"})
	if err != nil || fmt.Sprint(got.Completed) != "[b]" || len(got.Culprits) != 1 || got.Culprits[0].Task != "c" ||
		got.Culprits[0].Kind != gitwork.CheckFailed {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err = b.Integrate(t.Context(), 1, []string{"a"}); err != nil || fmt.Sprint(got.Completed) != "[a]" {
		t.Fatalf("%+v, %v", got, err)
	}
	if res := b.attempt("c"); res.Outcome != runner.Done || seen != "a\n" {
		t.Errorf("the culprit begins with %q: %+v", seen, res)
	}
}

// Criteria are expected if no task remains that could make them true, mustNot always.
func TestConditionChecks(t *testing.T) {
	t.Parallel()
	p := testrepo.Plan(t, ".", `{"criteria":["nice",{"text":"c","verify":"c"}],"mustNot":[{"text":"m","verify":"m"},"rude"],"tasks":[{"id":"a","subject":"a"},{"id":"b","subject":"b"}]}`)
	for name, c := range map[string]struct {
		before map[string]bool
		now    []string
		want   string
	}{
		"some left": {nil, []string{"a"}, "[] [m]"},
		"all now":   {nil, []string{"a", "b"}, "[c] [m]"},
		"the last":  {map[string]bool{"a": true}, []string{"b"}, "[c] [m]"},
		"none":      {nil, nil, "[] [m]"},
	} {
		words := func(all []plan.Check) (out []string) {
			for _, k := range all {
				out = append(out, k.Run)
			}
			return out
		}
		criteria, mustNot := conditionChecks(p, c.before, c.now)
		if got := fmt.Sprint(words(criteria), words(mustNot)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestDeclaredWrites(t *testing.T) {
	t.Parallel()
	p := testrepo.Plan(t, ".", `{"tasks":[{"id":"a","subject":"a","dir":"sub","files":["x.go",{"path":"r","action":"read"},{"path":"d","action":"delete"}]},{"id":"b","subject":"b","files":["y/z.go"]}]}`)
	if got := fmt.Sprint(declaredWrites(p)); got != "[sub/x.go y/z.go]" {
		t.Errorf("%s", got)
	}
}

// A task that joins during the run is integrated like the others, under its own name, and the
// criteria wait for it.
func TestAddedTasks(t *testing.T) {
	t.Parallel()
	dir := testrepo.Repo(t, testrepo.Files{"x": "x\n"})
	b := newFixture(t, dir, `{"criteria":[{"text":"late is there","verify":"test -e late"}],"tasks":[{"id":"a","subject":"do a"}]}`, config(dir, "worktree"), writes)
	b.attempt("a")
	grown, err := b.plan.WithTasks(2, json.RawMessage(`{"id":"late","subject":"come late","verify":["test -e late"]}`))
	testrepo.Must(t, err)
	b.loop.State.Plan = grown
	b.emit(event.TasksAdded{})
	if got, err := b.Integrate(t.Context(), 1, []string{"a"}); err != nil || fmt.Sprint(got.Completed) != "[a]" {
		t.Fatalf("%+v, %v", got, err)
	}
	b.attempt("late")
	if got, err := b.Integrate(t.Context(), 2, []string{"late"}); err != nil || fmt.Sprint(got.Completed) != "[late]" {
		t.Fatalf("%+v, %v", got, err)
	}
	if log := testrepo.Git(t, dir, "log", "-1", "--format=%s", "wavex/r-1"); log != "come late\n" {
		t.Errorf("its commit is %q", log)
	}
}

// The work of a failed task is kept, and another task uses its tree, even if the task failed in the
// integration. Events arrive during attempts.
func TestReleaseFailed(t *testing.T) {
	t.Parallel()
	dir := testrepo.Repo(t, testrepo.Files{"x": "x\n"})
	places := map[string]string{}
	var mu sync.Mutex
	b := newFixture(t, dir, `{"tasks":[{"id":"a","subject":"a"},{"id":"b","subject":"b"},{"id":"c","subject":"c"},{"id":"d","subject":"d"}]}`, config(dir, "auto"), func(dir string, req runner.Request) error {
		mu.Lock()
		places[req.Task] = dir
		mu.Unlock()
		if req.Task == "a" {
			return errors.Join(writes(dir, req), errors.New("no"))
		}
		if req.Task == "c" {
			if _, err := os.Stat(filepath.Join(dir, "a")); err == nil {
				t.Error("what the failed task left is in the way")
			}
		}
		return writes(dir, req)
	})
	if res := b.attempt("a"); res.Outcome != runner.Wrong {
		t.Fatalf("%+v", res)
	}
	b.attempt("b")
	b.emit(event.AttemptEnded{Task: "a", Status: event.Failed, Blocked: []string{"z"}})
	b.emit(event.IntegrationEnded{Reopened: []event.Reopened{{Task: "b", Status: event.Failed}}})
	var all sync.WaitGroup
	for _, task := range []string{"c", "d"} {
		all.Go(func() { b.attempt(task) })
		b.emit(event.Notice{})
	}
	all.Wait()
	again := func(task string) bool { return places[task] == places["a"] || places[task] == places["b"] }
	if !again("c") && !again("d") {
		t.Errorf("the trees were not used again: %v", places)
	}
	if got := preservedText(t, dir, "a"); !strings.Contains(got, "a\n") {
		t.Errorf("kept is %q", got)
	}
}

// preservedText returns the versions of a file in everything that a task left.
func preservedText(t *testing.T, dir, task string) (all string) {
	t.Helper()
	for _, ref := range strings.Fields(testrepo.Git(t, dir, "for-each-ref", "--format=%(refname)", "refs/wavex/r-1.kept/"+
		task+"/")) {
		if testrepo.Git(t, dir, "ls-tree", "--name-only", ref, task) != "" {
			all += testrepo.Git(t, dir, "show", ref+":"+task)
		}
	}
	return all
}

// The last session was cut off if it has no end on record.
func TestCutOff(t *testing.T) {
	t.Parallel()
	at := func(minute int) time.Time { return time.Date(2026, 3, 14, 9, minute, 0, 0, time.UTC) }
	bodies := []event.Body{event.RunStarted{}, event.WaveStarted{}, event.RunEnded{}, event.RunResumed{},
		event.WaveStarted{}, event.RunEnded{}}
	want := []time.Time{{}, at(0), at(0), {}, at(3), at(3), {}}
	var events []event.Event
	for n := range want {
		if got := CutOff(events); !got.Equal(want[n]) {
			t.Errorf("after %d events the session of %s was cut off, want %s", n, got, want[n])
		}
		if n < len(bodies) {
			events = append(events, event.Event{Time: at(n), Body: bodies[n]})
		}
	}
}
