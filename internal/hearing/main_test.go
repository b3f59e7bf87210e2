package hearing

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/site"
	"wavex/runner"
	"wavex/scheduler"
)

// TestMain keeps the configuration of whoever tests out of git.
func TestMain(m *testing.M) {
	_ = proc.Subreaper() // elsewhere than on Linux it cannot
	for name, value := range map[string]string{"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.com"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// files are texts by path.
type files map[string]string

func (f files) write(t *testing.T, dir string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(f)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(f[name]), 0o644))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// repo makes a repository whose one commit has these files.
func repo(t *testing.T, f files) string {
	t.Helper()
	dir := t.TempDir()
	run(t, dir, "init", "-q")
	f.write(t, dir)
	run(t, dir, "add", "-A")
	run(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	return dir
}

// asked is a Caller that answers by the name of a question, and remembers them all.
type asked struct {
	answers map[string]any // what is answered, as JSON; for others the call fails
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

func mustPlan(t *testing.T, dir, text string) *plan.Plan {
	t.Helper()
	p, diags := plan.Parse("plan.json", []byte(text), plan.Options{})
	if p == nil {
		t.Fatalf("the test's plan: %v", diags)
	}
	p.Path = filepath.Join(dir, "plan.json")
	return p
}

// heard is a hearing of a plan in a directory that tasks share.
func heard(t *testing.T, dir, text string, who counsel.Caller) (*Hearing, *scheduler.State) {
	t.Helper()
	p := mustPlan(t, dir, text)
	c := scheduler.Config{Run: "r", Dir: dir, Loop: filepath.Join(dir, ".loop"), Base: Base(t.Context(), dir), MaxRetries: 3}
	at, err := site.Open(t.Context(), p, c, func(string) {})
	must(t, err)
	t.Cleanup(func() { must(t, at.Close(context.WithoutCancel(t.Context()))) })
	prices, err := budget.LoadPrices(nil)
	must(t, err)
	s := scheduler.NewState(p)
	s.Config = c
	return &Hearing{o: Options{Plan: p, Config: c, Site: at, Prices: prices}, panel: &counsel.Panel{Caller: who}}, s
}
