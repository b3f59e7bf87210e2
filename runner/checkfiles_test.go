//go:build unix

package runner_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/runner"
)

// script is an agent whose turn is a shell script.
type script string

func (s script) Turn(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
	c := exec.CommandContext(ctx, "sh", "-ec", string(s))
	c.Dir = req.Dir
	if out, err := c.CombinedOutput(); err != nil {
		return runner.TurnResult{Outcome: runner.Broken, Reason: string(out) + err.Error()}
	}
	return runner.TurnResult{Outcome: runner.Done, Contained: true}
}

func (script) Ask(context.Context, runner.Question) runner.Answer { return runner.Answer{} }

// project writes files for attempts at a task that declares words.sh and is checked by a test.
func (b *fixture) project(t *testing.T) {
	t.Helper()
	for name, text := range map[string]string{
		"words.sh": "echo one\n", "words_test.sh": ". ./test/same.sh\nsame \"$(sh words.sh)\" two\n",
		"test/same.sh": "same() { test \"$1\" = \"$2\"; }\n", "other_test.sh": "grep -q two words.sh\n",
		"third_test.sh": "grep -q three words.sh\n", "node_modules/x": "x", ".git/x": "x",
	} {
		at := filepath.Join(b.dir, name)
		must(os.MkdirAll(filepath.Dir(at), 0o755))
		must(os.WriteFile(at, []byte(text), 0o644))
	}
	b.req.Files = []plan.File{{Path: "words.sh"}}
	b.req.Checks = []plan.Check{{Run: "sh words_test.sh"}}
	b.req.CheckFiles = &runner.CheckFiles{Store: filepath.Join(b.logs, "store")}
}

func TestChangedCheckFiles(t *testing.T) {
	t.Parallel()
	const works = "echo 'echo two' > words.sh; "
	other := []runner.OtherCheck{{Owner: "T-002", Check: plan.Check{Run: "sh other_test.sh"}}}
	for _, c := range []struct {
		name, does string
		change     func(r *runner.Request)
		reason     string // of the outcome wrong; "": done
		doubt      string
		other      bool // the doubt is about a check of others
	}{
		{name: "honest", does: works + "echo '# more' > new_test.sh"},
		{name: "restored", does: works + "cp words_test.sh x; echo > words_test.sh; mv x words_test.sh"},
		{name: "helper changed", does: works + "echo '# same' >> test/same.sh; echo '# test' >> words_test.sh"},
		{name: "emptied", does: works + ": > words_test.sh",
			reason: "words_test.sh was emptied, and its own check rests on it"},
		{name: "linked", does: works + "ln -sf /dev/null words_test.sh",
			reason: "words_test.sh was replaced by a symbolic link"},
		{name: "declared", does: "echo '# two' >> words.sh; : > words_test.sh",
			change: func(r *runner.Request) { r.Files = append(r.Files, plan.File{Path: "words_test.sh"}) }},
		{name: "declared directory", does: "echo '# two' >> words.sh; echo 'same() { :; }' > test/same.sh",
			change: func(r *runner.Request) { r.Files = append(r.Files, plan.File{Path: "test"}) }},
		{name: "busy", does: "echo '# two' >> words.sh; : > words_test.sh",
			change: func(r *runner.Request) { r.CheckFiles.Busy = []string{"words_test.sh"} }},
		{name: "weakened", does: "echo '# two' >> words.sh; echo 'same() { test -n \"$1\"; }' > test/same.sh",
			reason: "its own check passes only because of changes in test/same.sh: with what was there before, it fails: " +
				"sh words_test.sh: exit code 1"},
		{name: "renamed", does: "rm words.sh; sed 's/words.sh/w.sh/' words_test.sh > x; mv x words_test.sh; " +
			"echo 'echo two' > w.sh",
			doubt: "the check cannot run with the old version"},
		{name: "only here", does: "echo 'test -e .git/x && echo two' > words.sh; " +
			"echo 'test -e .git/x # changed' > words_test.sh",
			doubt: "the check fails in a copy of the project with either version"},
		{name: "other emptied", does: works + "echo exit 0 > other_test.sh",
			change: func(r *runner.Request) { r.CheckFiles.Others = other },
			reason: "other_test.sh was emptied, and a check of T-002 rests on it"},
		{name: "other's own", does: works + "echo exit 0 > other_test.sh",
			change: func(r *runner.Request) {
				r.CheckFiles.Others, r.CheckFiles.Planned = other, []string{"other_test.sh"}
				r.Checks = []plan.Check{{Run: "grep -q two words.sh"}}
			}},
		{name: "other weakened", does: works + "echo 'grep -q one words.sh || grep -q two words.sh' > third_test.sh",
			change: func(r *runner.Request) {
				r.CheckFiles.Others = []runner.OtherCheck{{Owner: "C-1", Check: plan.Check{Run: "sh third_test.sh"}}}
			}, reason: "a check of C-1 passes only because of changes in third_test.sh"},
		{name: "other not due", does: works + "echo 'grep -q four words.sh' > third_test.sh",
			change: func(r *runner.Request) {
				r.CheckFiles.Others = []runner.OtherCheck{{Owner: "C-1", Check: plan.Check{Run: "sh third_test.sh"}}}
			}, doubt: "the check fails in a copy of the project with either version", other: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, script(c.does))
			b.project(t)
			if c.change != nil {
				c.change(&b.req)
			}
			madeAgain := false
			b.Observe = func(o runner.Observation) {
				madeAgain = madeAgain || o.Kind == "checking" && o.Text == "with the files from before the task"
			}
			res := b.attempt(t.Context())
			if strings.Contains(c.reason, "with what was there before") && !madeAgain {
				t.Error("nobody is told that the check is made again")
			}
			switch {
			case c.reason == "" && (res.Outcome != runner.Done || (len(res.Tampered) > 0) != (c.doubt != "")):
				t.Errorf("%s: %s %+v", res.Outcome, res.Reason, res.Tampered)
			case c.reason != "" && (res.Outcome != runner.Wrong || !strings.HasPrefix(res.Reason, c.reason)):
				t.Errorf("%s: %s, want %s", res.Outcome, res.Reason, c.reason)
			case c.doubt != "" && (res.Tampered[0].Doubt != c.doubt || res.Tampered[0].Own == c.other):
				t.Errorf("%+v, want %s", res.Tampered, c.doubt)
			}
		})
	}
}

// Beside others that edit, a disabled test counts only if it is still disabled when they are done.
func TestCheckFilesInASharedDirectory(t *testing.T) {
	t.Parallel()
	const works = "echo 'echo two' > words.sh; "
	for _, c := range []struct {
		name, does string
		restored   bool // by another attempt, before the directory is quiet
		want       runner.Outcome
		times      []runner.CheckTime
	}{
		{"honest", works, false, runner.Done, []runner.CheckTime{runner.AtOnce}},
		{"emptied", works + ": > words_test.sh", false, runner.Wrong, []runner.CheckTime{runner.AtOnce, runner.WhenQuiet}},
		{"emptied for a moment", works + ": > words_test.sh", true, runner.Done,
			[]runner.CheckTime{runner.AtOnce, runner.WhenQuiet}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, script(c.does))
			b.project(t)
			test := filepath.Join(b.dir, "words_test.sh")
			text, err := os.ReadFile(test)
			must(err)
			d := &busyDirectory{busy: true}
			d.before = func(nth int) {
				if nth == 2 && c.restored {
					must(os.WriteFile(test, text, 0o644))
				}
			}
			b.hooks.Directory = d
			if res := b.attempt(t.Context()); res.Outcome != c.want || !slices.Equal(d.times, c.times) {
				t.Errorf("it is %s: %s; the checks ran %v", res.Outcome, res.Reason, d.times)
			}
		})
	}
}

// The next attempt learns the files to restore, an idle one does not pass, and changes by a person do not count.
func TestCheckFilesOfNextAttempts(t *testing.T) {
	t.Parallel()
	b := setup(t, script("echo '# two' >> words.sh; echo : > words_test.sh"))
	b.project(t)
	next := func(does string) runner.Result {
		b.Agent = script(does)
		res := b.attempt(t.Context())
		b.req.Attempt++
		return res
	}
	first := next("echo '# two' >> words.sh; echo : > words_test.sh")
	if first.Outcome != runner.Wrong || !strings.Contains(first.Detail, "words_test.sh was:\n. ./test/same.sh\n") {
		t.Errorf("%s %s", first.Outcome, first.Detail)
	}
	if res := next(":"); res.Outcome != runner.Wrong || res.Signature != first.Signature {
		t.Errorf("idle: %s %s", res.Outcome, res.Reason)
	}
	must(os.WriteFile(filepath.Join(b.dir, "words_test.sh"), []byte("grep -q two words.sh\n"), 0o644)) // a person
	if res := next(":"); res.Outcome != runner.Done || res.Tampered != nil {
		t.Errorf("after a person: %s %s %+v", res.Outcome, res.Reason, res.Tampered)
	}
	res := next("sed 's/^/: /' words_test.sh > x; mv x words_test.sh; echo '#' > words.sh")
	if res.Outcome != runner.Wrong || !strings.Contains(res.Reason, "words_test.sh") {
		t.Errorf("after a person: %s %s", res.Outcome, res.Reason)
	}
}

// A turn that failed left its changes too: the next attempt answers for them.
func TestCheckFilesOfAFailedTurn(t *testing.T) {
	t.Parallel()
	var b *fixture
	b = setup(t, agentFunc(func(runner.TurnRequest) runner.TurnResult {
		for _, name := range []string{"words.sh", "words_test.sh"} {
			must(os.WriteFile(filepath.Join(b.dir, name), []byte("true # changed\n"), 0o644))
		}
		return runner.TurnResult{Outcome: runner.Stalled, Contained: true}
	}))
	b.project(t)
	if r := b.attempt(t.Context()); r.Outcome != runner.Stalled || !slices.Equal(r.Changed, []string{"words.sh"}) {
		t.Errorf("%s: %s; changed are %q", r.Outcome, r.Reason, r.Changed)
	}
	b.req.Attempt, b.Agent = 2, script(":")
	if r := b.attempt(t.Context()); r.Outcome != runner.Wrong || !strings.Contains(r.Reason, "words_test.sh") {
		t.Errorf("%s: %s", r.Outcome, r.Reason)
	}
}

// After a kill, the attempt or a person may have changed a file on which a check rests: reviewers look at it. Disabled
// tests stay wrong.
func TestCheckFilesAfterAKill(t *testing.T) {
	t.Parallel()
	for changed, want := range map[string]runner.Outcome{
		"grep -q two words.sh\n": runner.Done, "exit 0\n": runner.Wrong,
	} {
		b := setup(t, script("echo '# two' >> words.sh"))
		b.project(t)
		if res := b.attempt(t.Context()); res.Outcome != runner.Wrong {
			t.Fatalf("%s %s", res.Outcome, res.Reason)
		}
		must(os.Remove(filepath.Join(filepath.Dir(b.req.Baseline), loop.FinalState))) // as if it had been killed
		must(os.WriteFile(filepath.Join(b.dir, "words_test.sh"), []byte(changed), 0o644))
		b.req.Attempt, b.Agent = 2, script("mv words.sh kept.sh") // it fails for another reason
		b.attempt(t.Context())
		b.req.Attempt, b.Agent = 3, script("mv kept.sh words.sh")
		res := b.attempt(t.Context())
		if res.Outcome != want || want == runner.Done && (len(res.Tampered) != 1 || res.Tampered[0].Doubt == "") {
			t.Errorf("%q: %s %s %+v", changed, res.Outcome, res.Reason, res.Tampered)
		}
	}
}
