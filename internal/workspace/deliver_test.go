package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// done returns the record of a run with some completed tasks.
func done(b *fixture, c event.Config, tasks ...string) []event.Body {
	out := []event.Body{event.RunStarted{Config: c, Plan: b.plan.Path, Tasks: len(b.plan.Tasks)}}
	for _, id := range tasks {
		i, _ := b.loop.State.Index(id)
		key := b.loop.State.Tasks[i].Key
		out = append(out, event.AttemptStarted{Task: id, Key: key, Attempt: 1, Try: 1, Why: "first", Wave: 1},
			event.AttemptEnded{Task: id, Key: key, Attempt: 1, Status: event.Completed,
				Result: runner.Result{Outcome: runner.Done}})
	}
	return out
}

// integrated returns a run whose two tasks are done and integrated.
func integrated(t *testing.T) *fixture {
	t.Helper()
	dir := testrepo.Repo(t, testrepo.Files{"x": "x\n"})
	c := config(dir, "worktree")
	b := newFixture(t, dir, pair, c, writes)
	for _, task := range []string{"a", "b"} {
		b.attempt(task)
	}
	_, err := b.Integrate(t.Context(), 1, []string{"a", "b"})
	testrepo.Must(t, err)
	testrepo.Journal(t, c.Loop, done(b, c, "a", "b")...)
	return b
}

// deliver delivers the work.
func (b *fixture) deliver(how string, complete bool) (event.DeliveryEnded, error) {
	b.config.Deliver = how
	return b.Deliver(b.Context(), complete)
}

// For every kind of delivery and every obstacle, the work has a ref, and the user's uncommitted
// changes stay.
func TestDeliver(t *testing.T) {
	t.Parallel()
	b := integrated(t)
	tip := strings.TrimSpace(testrepo.Git(t, b.dir, "rev-parse", "refs/wavex/r-1.run/tip"))
	take := "git merge --ff-only wavex/r-1"
	for _, c := range []struct {
		how, user string // user: the content of x
		complete  bool
		want      event.DeliveryEnded // Why: a part of it; Commit: the tip
	}{
		{"", "x\n", false, event.DeliveryEnded{How: "branch", Ref: "wavex/r-1", Command: take,
			Why: "the run is not complete"}},
		{"", "mine\n", true, event.DeliveryEnded{How: "branch", Ref: "wavex/r-1", Command: take,
			Why: "not committed: x"}},
		{"ff", "mine\n", true, event.DeliveryEnded{How: "none", Ref: "wavex/r-1", Command: take, Why: "not committed: x",
			Failed: true}},
		{"branch", "x\n", true, event.DeliveryEnded{How: "branch", Ref: "wavex/r-1", Command: take}},
		{"mail", "x\n", true, event.DeliveryEnded{How: "none", Ref: "wavex/r-1", Why: `no delivery "mail"`,
			Failed: true}},
		{"push", "x\n", true, event.DeliveryEnded{How: "none", Ref: "wavex/r-1", Command: take, Why: "no remote",
			Failed: true}},
		{"pr", "x\n", true, event.DeliveryEnded{How: "none", Ref: "wavex/r-1", Command: take, Why: "no remote",
			Failed: true}},
		{"", "x\n", true, event.DeliveryEnded{How: "ff", Ref: "wavex/r-1", Why: "main was fast-forwarded"}},
		{"", "x\n", true, event.DeliveryEnded{How: "ff", Ref: "wavex/r-1", Why: "already"}},
	} {
		testrepo.Files{"x": c.user}.Write(t, b.dir)
		d, err := b.deliver(c.how, c.complete)
		if err != nil {
			t.Fatalf("%q: %v", c.how, err)
		}
		if d.How != c.want.How || d.Ref != c.want.Ref || d.Command != c.want.Command || d.Failed != c.want.Failed ||
			!strings.Contains(d.Why, c.want.Why) || d.Commit != tip {
			t.Errorf("%q: %+v, want %+v", c.how, d, c.want)
		}
		if text, err := os.ReadFile(filepath.Join(b.dir, "x")); err != nil || string(text) != c.user {
			t.Errorf("%q: the user's file has %q, %v", c.how, text, err)
		}
	}
}

func body(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, ".loop", "runs", "r-1", "pull-request.md"))
	testrepo.Must(t, err)
	return string(text)
}

// The pull request shows the run's status: a run that was refused is not complete, although its
// tasks are. The body replaces a link and does not follow it. Without a body there is no delivery.
func TestPullRequest(t *testing.T) {
	t.Parallel()
	b := integrated(t)
	precious := filepath.Join(t.TempDir(), "precious")
	testrepo.Must(t, os.WriteFile(precious, []byte("precious"), 0o600))
	at := filepath.Join(b.dir, ".loop", "runs", "r-1", "pull-request.md")
	for _, c := range []struct {
		complete bool
		want     string
	}{{false, "**incomplete: 2 of 2 tasks completed"}, {true, "**complete: 2 of 2 tasks completed"}} {
		_ = os.Remove(at) // it does not exist the first time
		testrepo.Must(t, os.MkdirAll(filepath.Dir(at), 0o755))
		testrepo.Must(t, os.Symlink(precious, at))
		_, err := b.deliver("pr", c.complete)
		testrepo.Must(t, err)
		if text := body(t, b.dir); !strings.Contains(text, c.want) {
			t.Errorf("complete %v:\n%s", c.complete, text)
		}
	}
	if text, err := os.ReadFile(precious); err != nil || string(text) != "precious" {
		t.Errorf("the link was followed: %q, %v", text, err)
	}
	runs := filepath.Join(b.dir, ".loop", "runs")
	for _, lay := range []struct {
		name  string
		files testrepo.Files
	}{
		{"a folder in the place", testrepo.Files{".loop/runs/r-1/pull-request.md/x": ""}},
		{"a file for the folder", testrepo.Files{".loop/runs": ""}},
		{"a damaged journal", testrepo.Files{".loop/journal.jsonl": "mine\n"}},
	} {
		testrepo.Must(t, os.RemoveAll(runs))
		lay.files.Write(t, b.dir)
		if d, err := b.deliver("pr", true); err == nil || d.How != "" {
			t.Errorf("%s: %+v, %v", lay.name, d, err)
		}
	}
	if got := testrepo.Git(t, b.dir, "log", "-1", "--format=%s", "wavex/r-1"); got != "do b\n" {
		t.Errorf("the work is gone: %q", got)
	}
}

// No secret is in the texts that others will read.
func TestSecretsAreNotDelivered(t *testing.T) {
	t.Setenv("SITE_TEST_TOKEN", "a-very-secret-value-1")
	dir := testrepo.Repo(t, testrepo.Files{"x": "x\n"})
	c := config(dir, "worktree")
	c.Deliver = "pr"
	b := newFixture(t, dir, `{"name":"use a-very-secret-value-1","tasks":[{"id":"a","subject":"log in with a-very-secret-value-1"}]}`, c, writes)
	b.attempt("a")
	_, err := b.Integrate(t.Context(), 1, []string{"a"})
	testrepo.Must(t, err)
	testrepo.Journal(t, c.Loop, done(b, c, "a")...)
	_, err = b.Deliver(t.Context(), true)
	testrepo.Must(t, err)
	for what, text := range map[string]string{
		"the body":   body(t, dir),
		"the commit": testrepo.Git(t, dir, "log", "--format=%B", "wavex/r-1"),
		"the title":  gitworkOptions(b.plan, c).Title,
	} {
		if strings.Contains(text, "very-secret") || !strings.Contains(text, "[redacted: SITE_TEST_TOKEN]") {
			t.Errorf("%s:\n%s", what, text)
		}
	}
}

// The work of a run can be delivered again between sessions. A refused delivery leaves nothing.
func TestDeliverBetweenSessions(t *testing.T) {
	t.Parallel()
	b := integrated(t)
	c := config(b.dir, "worktree")
	events := testrepo.Journal(t, loop.In(t.TempDir()),
		append(done(b, c, "a", "b"), event.RunEnded{Status: "complete"})...)
	there := func() bool {
		_, err := os.Stat(filepath.Join(b.dir, ".loop", "runs", "r-1", "pull-request.md"))
		return err == nil
	}
	var in *gitwork.Error
	warn := func(err error) { t.Error(err) }
	if _, err := Deliver(t.Context(), b.plan, c, events, "pr", true, warn); !errors.As(err, &in) ||
		in.Problem != gitwork.InUse || there() {
		t.Errorf("while another works on it: %v, a body: %v", err, there())
	}
	testrepo.Must(t, b.Close(t.Context()))
	other := c
	other.Run = "r-2"
	if _, err := Deliver(t.Context(), b.plan, other, events, "pr", true, warn); !errors.As(err, &in) ||
		in.Problem != gitwork.NoRun {
		t.Errorf("a run that never was: %v", err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, ".loop", "runs", "r-2")); err == nil {
		t.Error("it left a folder")
	}
	if _, err := Deliver(t.Context(), b.plan, c, events, "pr", true, warn); !errors.As(err, &in) ||
		in.Problem != gitwork.NoRemote || !there() {
		t.Errorf("without a remote: %v, a body: %v", err, there())
	}
	testrepo.Git(t, b.dir, "config", "x.y", "z")
	var said string
	d, err := Deliver(t.Context(), b.plan, c, events, "auto", true, func(err error) { said += err.Error() })
	if err != nil || d.How != "ff" || !strings.Contains(said, ".git/config") {
		t.Errorf("%+v, %v: %q", d, err, said)
	}
}

// With this delivery each integration is pushed. A push that fails is shown once and does not fail the integration; the
// next one makes up for it.
func TestPushAtEachIntegration(t *testing.T) {
	t.Parallel()
	dir := testrepo.Repo(t, testrepo.Files{"x": "x\n"})
	c := config(dir, "worktree")
	c.Deliver = "push"
	b := newFixture(t, dir, pair, c, writes)
	remote := filepath.Join(t.TempDir(), "remote.git")
	pushed := func() string {
		return strings.TrimSpace(testrepo.Git(t, remote, "for-each-ref", "--format=%(objectname)"))
	}
	integrate := func(wave int, task string) string {
		b.attempt(task)
		got, err := b.Integrate(t.Context(), wave, []string{task})
		testrepo.Must(t, err)
		if len(got.Completed) != 1 {
			t.Errorf("%s: %+v", task, got)
		}
		return got.Commit
	}
	testrepo.Git(t, dir, "remote", "add", "origin", remote)
	integrate(1, "a")
	if len(b.warnings) != 1 || !strings.Contains(b.warnings[0], "not pushed, the next integration tries again") {
		t.Errorf("it warns %q", b.warnings)
	}
	if d, err := b.Deliver(t.Context(), false); err != nil || !d.Failed || d.Ref != "wavex/r-1" {
		t.Errorf("the delivery is %+v, %v", d, err)
	}
	testrepo.Git(t, dir, "init", "-q", "--bare", remote)
	tip := integrate(2, "b")
	if got := pushed(); got != tip || len(b.warnings) != 1 {
		t.Errorf("pushed is %s, want %s; it warns %q", got, tip, b.warnings)
	}
	d, err := b.Deliver(t.Context(), true)
	testrepo.Must(t, err)
	if d.How != "push" || d.Ref != "origin/wavex/r-1" || d.Command != "git pull --ff-only origin wavex/r-1" || d.Failed {
		t.Errorf("the delivery is %+v", d)
	}
	testrepo.Git(t, dir, strings.Fields(strings.TrimPrefix(d.Command, "git "))...)
}

// Work in the project's directory is not pushed, and the run says so.
func TestPushInSharedDirectory(t *testing.T) {
	t.Parallel()
	dir := testrepo.Repo(t, testrepo.Files{"x": "x\n"})
	c := config(dir, "shared")
	c.Deliver = "push"
	b := newFixture(t, dir, pair, c, writes)
	if len(b.warnings) != 1 || !strings.Contains(b.warnings[0], "nothing is pushed") {
		t.Errorf("it warns %q", b.warnings)
	}
	d, err := b.Manager.Deliver(t.Context(), "push", true)
	if err != nil || !strings.Contains(d.Why, "nothing is pushed") {
		t.Errorf("the delivery is %+v, %v", d, err)
	}
}
