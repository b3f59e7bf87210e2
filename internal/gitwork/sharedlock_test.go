package gitwork

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wavex/internal/filetree"
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

// Checks run beside agents, and see whether they did. No agent edits beside checks that need a quiet directory.
func TestChecksBesideAgents(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	o := r.options("r1")
	o.Mode = Shared
	m := r.open(o)
	d := runner.Directory(m.shared)
	check := func(when runner.CheckTime, run func()) bool {
		t.Helper()
		alone, err := d.Check(t.Context(), when, run)
		must(t, err)
		return alone
	}
	nothing := func() {}
	equal(t, "alone at once", check(runner.AtOnce, nothing), true)
	equal(t, "alone if quiet", check(runner.IfQuiet, nothing), true)
	equal(t, "undisturbed without agents", check(runner.Undisturbed, nothing), true)
	edited := false
	end, err := d.Edit(t.Context(), func(filetree.Tree) bool { return edited })
	must(t, err)
	equal(t, "undisturbed beside an agent", check(runner.Undisturbed, nothing), true)
	equal(t, "undisturbed by an edit meanwhile", check(runner.Undisturbed, func() { edited = true }), false)
	equal(t, "undisturbed by an edit", check(runner.Undisturbed, func() { t.Error("it ran") }), false)
	edited = false
	equal(t, "alone beside an agent", check(runner.AtOnce, nothing), false)
	ran := false
	equal(t, "alone if quiet, beside an agent", check(runner.IfQuiet, func() { ran = true }), false)
	equal(t, "ran", ran, false)
	equal(t, "alone beside the end of an agent", check(runner.AtOnce, end), false)
	equal(t, "alone beside a short agent", check(runner.AtOnce, func() {
		end, err := d.Edit(t.Context(), func(filetree.Tree) bool { return false })
		must(t, err)
		equal(t, "undisturbed by the end of an agent", check(runner.Undisturbed, end), false)
	}), false)

	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, errors.New("time is up"))
	defer cancel()
	late := agent(func(string, runner.Request) error { return nil })
	check(runner.WhenQuiet, func() {
		res := attemptIn(ctx, m, late, runner.Request{Run: "r1", Task: "late", Dir: r.dir}, runner.Hooks{})
		if res.Outcome != runner.Interrupted || res.Reason != "time is up" {
			t.Errorf("an agent edits beside a check: %s: %s", res.Outcome, res.Reason)
		}
	})
	in := r.integrate(m, 1, "slow: true", "quick: test -e b")
	equal(t, "integrated", in.Integrated, []string{"slow", "quick"})
	equal(t, "delivery", r.deliver(m, "auto").How, "shared")
}

// An agent does not wait long for the checks from before another attempt. They are then no longer alone.
func TestPatienceWithChecksBefore(t *testing.T) {
	t.Parallel()
	for _, long := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			d := newSharedDir(Options{Width: 1})
			began, release := time.Now(), make(chan struct{})
			ended := make(chan bool)
			go func() {
				alone, err := d.Check(t.Context(), runner.IfQuiet, func() { <-release })
				must(t, err)
				ended <- alone
			}()
			synctest.Wait()
			if !long {
				time.AfterFunc(patience/2, func() { close(release) })
			}
			end, err := d.Edit(t.Context(), nil)
			must(t, err)
			equal(t, "waited for its whole patience", time.Since(began) == patience, long)
			if long {
				close(release)
			}
			equal(t, "alone", <-ended, !long)
			end()
			if _, ok := d.claimQuiet(); !ok || len(d.early) != 1 {
				t.Errorf("claimed: %v, %d claims", ok, len(d.early))
			}
		})
	}
}

// Checks that changed files are known, until they change none, where tasks run side by side.
func TestChecksThatChangeFiles(t *testing.T) {
	t.Parallel()
	checks := []plan.Check{{Run: "look"}}
	for width, known := range map[int]bool{1: false, 2: true} {
		d := newSharedDir(Options{Width: width})
		equal(t, "unknown", d.ChangesFiles(checks), false)
		d.Learn(checks, true)
		equal(t, "known", d.ChangesFiles(checks), known)
		equal(t, "others", d.ChangesFiles([]plan.Check{{Run: "watch"}}), false)
		d.Learn(checks, false)
		equal(t, "mended", d.ChangesFiles(checks), false)
	}
}

// An agent writes a file in two halves. A correct task whose check reads it is done, since the check that
// failed beside the agent is made again.
func TestHalfWrittenEdits(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	o := r.options("r1")
	o.Mode, o.Width = Shared, 2
	m := r.open(o)
	logs := t.TempDir()
	with := &runner.Local{Host: runner.Host{Env: proc.Inherit(r.env, nil), Observe: func(o runner.Observation) {
		if o.Kind == "waiting" { // the check of the correct task has failed
			r.write(r.dir, files{"checked": "1"})
		}
	}}}
	ask := func(task, shell string, checks ...plan.Check) runner.Result {
		dir := filepath.Join(logs, task)
		must(t, os.MkdirAll(dir, 0o700))
		return attemptIn(t.Context(), m, with, runner.Request{Run: "r1", Task: task, Attempt: 1, Dir: r.dir, LogDir: dir,
			Baseline: filepath.Join(dir, "base.json"), Command: shell, Checks: checks}, runner.Hooks{})
	}
	var sibling runner.Result
	var group sync.WaitGroup
	group.Go(func() {
		sibling = ask("sibling", `echo half >code; until test -e checked; do sleep 0.01; done; echo whole >code`)
	})
	for {
		if text, _ := os.ReadFile(filepath.Join(r.dir, "code")); len(text) > 0 {
			break
		}
		runtime.Gosched()
	}
	correct := ask("correct", `echo 1 >mine`,
		plan.Check{Run: `test -e mine && grep whole code`})
	group.Wait()
	equal(t, "the sibling", sibling.Outcome, runner.Done)
	if correct.Outcome != runner.Done || correct.Beside || !correct.Unmeasured {
		t.Errorf("the correct task is %s: %s, %+v", correct.Outcome, correct.Reason, correct)
	}
}

// turn is a runner.Agent that has only turns.
type turn func(req runner.TurnRequest)

func (a turn) Turn(_ context.Context, req runner.TurnRequest) runner.TurnResult {
	a(req)
	return runner.TurnResult{Outcome: runner.Done, Contained: true}
}

func (turn) Ask(context.Context, runner.Question) runner.Answer { panic("a question") }

// A check that fails beside an agent is red at once if that agent has changed nothing yet. Else it waits.
func TestFailureBesideAnotherAgent(t *testing.T) {
	t.Parallel()
	for edit, waits := range map[string]bool{
		":":                                  false,
		"echo 1 >other":                      true,
		"echo 1 >new":                        true,
		"rm a":                               true,
		"chmod +x a":                         true,
		"echo 1 >out/new":                    true, // git ignores it
		"rm out/old":                         true,
		"rm secret":                          true,
		"echo 1 >nested/new":                 true, // its contents are not compared
		": again":                            true, // its first attempt may have left half an edit
		"mkdir -p .loop; echo 1 >.loop/new":  false,
		"mkdir -p .loop; echo 1 >.loop/late": true, // the file of the failed task changes after its turn
	} {
		t.Run(edit, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, files{"a": "1\n", ".gitignore": "out\nsecret\n"})
			r.write(r.dir, files{"out/old": "1\n", "secret": "1\n"})
			r.git("init", "-q", "nested")
			o := r.options("r1")
			o.Mode, o.Width = Shared, 2
			m := r.open(o)
			logs := t.TempDir()
			edited, judged := make(chan bool), make(chan bool, 2)
			with := &runner.Local{
				Host: runner.Host{Env: proc.Inherit(r.env, nil), Lister: &filetree.Lister{}, Observe: func(o runner.Observation) {
					if o.Kind == "waiting" {
						judged <- true
					}
				}},
				Agent: turn(func(req runner.TurnRequest) {
					switch {
					case req.Task != "other":
						r.write(r.dir, files{"red": "1\n"})
						return
					case edit == ": again" && req.Attempt == 1:
						return
					}
					if out, err := exec.Command("sh", "-c", "cd "+req.Dir+"; "+edit).CombinedOutput(); err != nil {
						t.Errorf("%s: %s", err, out)
					}
					close(edited)
					if waited := <-judged; waited != waits {
						t.Errorf("it waits: %v, want %v", waited, waits)
					}
				})}
			ask := func(task, busy string, n int, checks ...plan.Check) runner.Result {
				return attemptIn(t.Context(), m, with, runner.Request{Run: "r1", Task: task, Attempt: n, Dir: r.dir,
					Prompt: "Do it.", LogDir: filepath.Join(logs, task), Baseline: filepath.Join(logs, task+".json"), Checks: checks,
					Files: []plan.File{{Path: task, Action: "create"}},
					Trees: &runner.Trees{Store: filepath.Join(logs, "store"), Busy: []string{busy}}}, runner.Hooks{})
			}
			var group sync.WaitGroup
			n := 1
			if edit == ": again" {
				ask("other", "red", n)
				n++
			}
			group.Go(func() { ask("other", "red", n) })
			<-edited
			res := ask("red", "other", 1, plan.Check{Run: "cat .loop/late >>red; test -e never"})
			if res.Outcome != runner.Wrong || res.Signature == "" {
				t.Errorf("it is %s: %s", res.Outcome, res.Reason)
			}
			judged <- false
			group.Wait()
		})
	}
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
