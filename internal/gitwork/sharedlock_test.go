package gitwork

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/runner"
)

func TestSharedLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := newSharedLock()
		ctx, cancel := context.WithCancel(t.Context())
		inside := map[string]func(){}
		var mu sync.Mutex
		come := func(ctx context.Context, name string, s lockMode) {
			go func() {
				leave, err := turns.lock(ctx, s)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					inside[name] = leave
				}
			}()
			synctest.Wait()
		}
		in := func(want ...string) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if len(inside) != len(want) {
				t.Fatalf("inside are %d, want %v", len(inside), want)
			}
			for _, w := range want {
				if inside[w] == nil {
					t.Fatalf("%s is not inside", w)
				}
			}
		}
		go_ := func(name string) {
			leave := inside[name]
			delete(inside, name)
			leave()
			leave() // a second call has no effect
			synctest.Wait()
		}
		come(t.Context(), "agent 1", editing)
		come(t.Context(), "agent 2", editing)
		in("agent 1", "agent 2")
		come(t.Context(), "checks 1", checking)
		come(t.Context(), "agent 3", editing) // behind the checks, which would starve otherwise
		in("agent 1", "agent 2")
		go_("agent 1")
		in("agent 2")
		go_("agent 2")
		in("checks 1")
		come(ctx, "checks 2", checking) // behind agent 3
		come(t.Context(), "agent 4", editing)
		in("checks 1")
		cancel() // checks 2 gives up, so agents 3 and 4 are next
		synctest.Wait()
		go_("checks 1")
		in("agent 3", "agent 4")
		go_("agent 3")
		go_("agent 4")
		come(t.Context(), "checks 3", checking)
		in("checks 3")
		go_("checks 3")
	})
}

// In shared mode no check begins while another agent edits.
func TestShared(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	o := r.options("r1")
	o.Mode = Shared
	m := r.open(o)
	started, finish := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	var order []string
	say := func(s string) { mu.Lock(); defer mu.Unlock(); order = append(order, s) }
	slow := agent(func(string, runner.Request) error { close(started); <-finish; say("slow edits"); return nil })
	var group sync.WaitGroup
	group.Go(func() { r.ask(m, runner.Request{Task: "slow"}, slow) })
	<-started
	quick := yieldingRunner{func() { say("quick is checked") }, finish}
	res := m.Runner(quick).Attempt(t.Context(), runner.Request{Run: "r1", Task: "quick", Dir: r.dir}, runner.Hooks{})
	group.Wait()
	equal(t, "outcome", res.Outcome, runner.Done)
	equal(t, "order", order, []string{"slow edits", "quick is checked"})

	in := r.integrate(m, 1, "slow: true", "quick: test -e b")
	equal(t, "integrated", in.Integrated, []string{"slow", "quick"})
	equal(t, "delivery", r.deliver(m, "auto").How, "shared")

	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errors.New("time is up"))
	defer cancel()
	leave, err := m.sharedLock.lock(t.Context(), checking)
	must(t, err)
	defer leave()
	res = m.Runner(quick).Attempt(ctx, runner.Request{Run: "r1", Task: "late", Dir: r.dir}, runner.Hooks{})
	if res.Outcome != runner.Interrupted || res.Reason != "stopped while waiting for its turn: time is up" {
		t.Errorf("it is %s: %s", res.Outcome, res.Reason)
	}
}

// announcingRunner writes a file when the checks of an attempt are about to wait for their turn.
type announcingRunner struct {
	inner runner.Runner
	file  string
}

func (a announcingRunner) Attempt(ctx context.Context, req runner.Request, hooks runner.Hooks) runner.Result {
	if wait := hooks.BeforeChecks; wait != nil {
		hooks.BeforeChecks = func(ctx context.Context) (func(), error) {
			if err := os.WriteFile(a.file, nil, 0o600); err != nil {
				return nil, err
			}
			return wait(ctx)
		}
	}
	return a.inner.Attempt(ctx, req, hooks)
}

// An agent writes a file in two halves. Without turns the checks of a correct task run over the
// first half and fail; with turns they wait.
func TestHalfWrittenEdits(t *testing.T) {
	t.Parallel()
	for name, turns := range map[string]bool{"without turns": false, "with turns": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, files{"a": "1\n"})
			o := r.options("r1")
			o.Mode = Shared
			m := r.open(o)
			logs := t.TempDir()
			local := &runner.Local{Host: runner.Host{Env: proc.Inherit(r.env, nil)}}
			var with runner.Runner = announcingRunner{local, filepath.Join(r.dir, "waiting")}
			if turns {
				with = m.Runner(with)
			}
			ask := func(task, shell string, checks ...plan.Check) runner.Result {
				dir := filepath.Join(logs, task)
				must(t, os.MkdirAll(dir, 0o700))
				return with.Attempt(t.Context(), runner.Request{Run: "r1", Task: task, Attempt: 1, Dir: r.dir, LogDir: dir,
					Baseline: filepath.Join(dir, "base.json"), Command: shell, Checks: checks}, runner.Hooks{})
			}
			var sibling runner.Result
			var group sync.WaitGroup
			group.Go(func() {
				sibling = ask(
					"sibling", `echo half >code; until test -e waiting || test -e checked; do sleep 0.01; done; echo whole >code`)
			})
			correct := ask("correct", `until test -s code; do sleep 0.01; done; echo 1 >mine`,
				plan.Check{Run: `test -e mine || exit 1; grep whole code; code=$?; : >checked; exit $code`})
			group.Wait()
			equal(t, "the sibling", sibling.Outcome, runner.Done)
			want := runner.Wrong
			if turns {
				want = runner.Done
			}
			if correct.Outcome != want {
				t.Errorf("the correct task is %s, want %s: %s", correct.Outcome, want, correct.Reason)
			}
		})
	}
}

// yieldingRunner is an attempt whose checks let another agent finish before they wait.
type yieldingRunner struct {
	checked func()
	finish  chan struct{}
}

func (a yieldingRunner) Attempt(ctx context.Context, _ runner.Request, hooks runner.Hooks) runner.Result {
	close(a.finish)
	release, err := hooks.BeforeChecks(ctx)
	if err != nil {
		return runner.Result{Outcome: runner.Interrupted}
	}
	defer release()
	a.checked()
	return runner.Result{Outcome: runner.Done}
}

func TestSlots(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	one, two := r.open(r.options("Run.1")), r.open(r.options("run-2"))
	seen := map[string]bool{}
	for _, m := range []*Manager{one, two} {
		for slot := range 3 {
			env := m.Env(slot)
			again := m.Env(slot)
			for _, name := range []string{"WAVEX_PORT_BASE", "TMPDIR", "WAVEX_DB_SUFFIX", "COMPOSE_PROJECT_NAME"} {
				if env[name] == "" || seen[env[name]] || again[name] != env[name] {
					t.Errorf("%s of slot %d is %q", name, slot, env[name])
				}
				seen[env[name]] = true
			}
		}
	}
	equal(t, "compose", one.Env(0)["COMPOSE_PROJECT_NAME"], "wavex-run-1-0")
	equal(t, "suffix", one.Env(0)["WAVEX_DB_SUFFIX"], "_run_1_0")
}

func TestSlotReachesTheChecks(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	m := r.open(r.options("r1"))
	r.attempt(m, "x", r.edits(files{"a": "2\n"}))
	in, err := m.Integrate(t.Context(), 1, []VerifiedTask{{Task: "x",
		Checks: []plan.Check{{Run: `test -n "$WAVEX_PORT_BASE" && test -d "$TMPDIR" && test "$WAVEX_RUN" = r1`}}}})
	must(t, err)
	equal(t, "culprits", in.Culprits, []Culprit{})
}
