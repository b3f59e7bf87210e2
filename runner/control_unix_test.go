//go:build unix

package runner_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wavex/internal/check"
	"wavex/internal/filetree"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// script is an agent whose turn is a shell script.
type script string

func (s script) Turn(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
	cmd := exec.CommandContext(ctx, "sh", "-c", string(s))
	cmd.Dir = req.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return runner.TurnResult{Outcome: runner.Broken, Reason: string(out) + err.Error()}
	}
	return runner.TurnResult{Outcome: runner.Done, Contained: true}
}

func (script) Ask(context.Context, runner.Question) runner.Answer { return runner.Answer{} }

// words is a project with a program, its test, and the text that the test expects. The log outside of it counts the
// runs of the test.
func words(t *testing.T, agent string, git bool) (b *fixture, runs func() int) {
	t.Helper()
	b = setup(t, script(agent))
	log := filepath.Join(b.logs, "runs")
	testrepo.Files{"words.sh": "echo one\n", "want.txt": "two\n", "README": "words\n", ".gitignore": "*.log\n",
		"words_test.sh": "echo run >> " + log + "\ntest \"$(sh ./words.sh)\" = \"$(cat want.txt)\"\n",
	}.Write(t, b.dir)
	if git {
		testrepo.Git(t, b.dir, "init", "-q")
		testrepo.Git(t, b.dir, "add", "-A")
		testrepo.Git(t, b.dir, "commit", "-qm", "base")
	}
	b.req.Trees = &runner.Trees{Store: filepath.Join(b.logs, "store")}
	b.req.Files = []plan.File{{Path: "words.sh", Action: "modify"}}
	b.req.Checks = []plan.Check{{Run: "sh words_test.sh"}}
	return b, func() int {
		text, err := os.ReadFile(log)
		must(err)
		return strings.Count(string(text), "run\n")
	}
}

// In a shared directory the result of a check that passed on the files that a task left is known before the next task.
func TestResultsInASharedDirectory(t *testing.T) {
	t.Parallel()
	for also, want := range map[string]struct {
		runs    int // of both tasks, before and after the work
		vacuous bool
		busy    bool
		learned string // whether the checks change files
	}{
		"":                                       {runs: 3, vacuous: true, learned: "[false false]"},
		"; echo > $$.log":                        {runs: 3, vacuous: true, learned: "[false false false]"}, // git ignores it
		"; mkdir -p own; echo > own/$$":          {runs: 3, vacuous: true, learned: "[false false false]"},
		"; echo > $$.made":                       {runs: 4, vacuous: true, learned: "[true true true true]"},
		" && echo > made":                        {runs: 4, vacuous: true, learned: "[true true true]"},      // ends early
		"; cp want.txt x.log; cp x.log want.txt": {runs: 4, vacuous: true, learned: "[true true true true]"}, // same bytes
		"; echo > log; exit":                     {runs: 2, busy: true, learned: "[]"},
	} {
		b, runs := words(t, "echo echo two > words.sh; echo >> README", true)
		b.req.Checks[0].Run += also
		b.req.Files = append(b.req.Files, plan.File{Path: "README"})
		d := &busyDirectory{busy: want.busy}
		b.hooks.Directory, b.hooks.Memory, b.hooks.Files = d, &check.Memory{}, d.since
		b.req.Trees.Own = []string{"own"}
		var r runner.Result
		for range 2 {
			if r = b.attempt(t.Context()); r.Outcome != runner.Done {
				t.Errorf("%q: %s %s", also, r.Outcome, r.Reason)
			}
			b.req.Baseline += "2"
		}
		if n := runs(); n != want.runs || r.Vacuous != want.vacuous || fmt.Sprint(d.learned) != want.learned {
			t.Errorf("%q: %d runs, want %d; learned %v; %+v", also, n, want.runs, d.learned, r)
		}
	}
}

// A task with its own variables learns which checks change files. It does not leave or take results.
func TestNoResultsInASharedDirectory(t *testing.T) {
	t.Parallel()
	b, runs := words(t, "echo \"echo two # $$\" > words.sh", true)
	d := &busyDirectory{}
	b.hooks.Directory, b.hooks.Files = d, d.since
	for range 2 {
		if r := b.attempt(t.Context()); r.Outcome != runner.Done {
			t.Errorf("%s %s", r.Outcome, r.Reason)
		}
		b.req.Baseline += "2"
	}
	if n := runs(); n != 4 || fmt.Sprint(d.learned) != "[false false false]" {
		t.Errorf("%d runs, want 4; learned %v", n, d.learned)
	}
}

// The files of a shared directory are listed once before the checks before the work, and once after them.
func TestListingsBeforeTheWork(t *testing.T) {
	t.Parallel()
	b, _ := words(t, "", true)
	git, err := exec.LookPath("git")
	must(err)
	log, bin := filepath.Join(b.logs, "listings"), filepath.Join(b.logs, "bin")
	must(os.Mkdir(bin, 0o755))
	must(os.WriteFile(filepath.Join(bin, "git"), fmt.Appendf(nil,
		"#!/bin/sh\ncase \"$*\" in *--stage*) echo >> %s;; esac\n"+
			"exec %s \"$@\"\n", log, git), 0o755))
	b.Env = proc.Inherit(append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH")), nil)
	b.Agent = script("cp " + log + " " + log + ".before; echo echo two > words.sh")
	d := &busyDirectory{}
	b.hooks.Directory, b.hooks.Memory, b.hooks.Files = d, &check.Memory{}, d.since
	for n := range 3 {
		b.req.Checks = append(b.req.Checks, plan.Check{Run: fmt.Sprintf("sh words_test.sh %d", n)})
	}
	r := b.attempt(t.Context())
	listings, err := os.ReadFile(log + ".before")
	if err != nil || r.Outcome != runner.Done || len(listings) != 2 {
		t.Errorf("%s, %d listings, %v", r.Outcome, len(listings), err)
	}
}

// A check that was red before the work and reads nothing of it is made again without the work, and may be flaky.
func TestConfirm(t *testing.T) {
	t.Parallel()
	for check, want := range map[string]struct {
		runs  int
		flaky bool
	}{
		"test -e warm || { : > warm; false; }": {runs: 3, flaky: true},
		"test $(($(wc -l < runs) % 2)) = 0":    {runs: 4, flaky: true},
		"test $(wc -l < runs) = 2":             {runs: 4},
		"grep -q two $DIR/words.sh":            {runs: 2},
		"sh $DIR/out.log/app":                  {runs: 4}, // git ignores the folder
	} {
		b, runs := words(t, "echo echo two > words.sh; mkdir out.log; echo exit 0 > out.log/app", true)
		b.req.Checks = []plan.Check{{Run: "DIR=$PWD; cd " + b.logs + " && echo run >> runs && " + check}}
		r := b.attempt(t.Context())
		if n := runs(); r.Outcome != runner.Done || n != want.runs || r.Checks[0].Flaky != want.flaky || r.Doubt != "" {
			t.Errorf("%s: %s after %d runs: %+v", check, r.Outcome, n, r.Checks)
		}
	}
}

// TestOtherChecks has checks that open none of the changed files, or change files themselves, each with the files on
// which its pass rests, and the number of its runs.
func TestOtherChecks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agent, check string
		rests        string
		runs         int
		none         bool // no declared files
	}{
		"chance, and nothing changed": {agent: "true", check: "test $(wc -l < LOG) = 2", runs: 2},
		"a file that it makes of it": {agent: "echo more >> words.sh; echo one > want.txt",
			check: "grep -q one want.txt && : > ok; test -e ok", rests: "want.txt", runs: 5},
		"a declared file is there": {agent: "echo two > words.sh; : > new.txt", check: "test -e new.txt", runs: 2},
		"a file that git ignores": {agent: "echo two > words.sh; : > a.log", check: "test -e a.log", rests: "a.log",
			runs: 5},
		"an ignored file, and chance": {none: true, agent: ": > a.log", check: "cat a.log; test $(wc -l < LOG) -ge 2",
			rests: "?", runs: 4},
		"its old rules are gone": {agent: "rm -r STORE; echo >> own/.gitignore; echo two > words.sh",
			check: "grep -q two words.sh", rests: "?", runs: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, runs := words(t, "", true)
			text := strings.NewReplacer("LOG", filepath.Join(b.logs, "runs"), "STORE", b.req.Trees.Store)
			b.Agent = script(text.Replace(c.agent))
			if b.req.Files = append(b.req.Files, plan.File{Path: "new.txt"}); c.none {
				b.req.Files = nil
			}
			testrepo.Files{"own/.gitignore": "x\n"}.Write(t, b.dir)
			b.req.Checks[0].Run = text.Replace("echo run >> LOG; " + c.check)
			r := b.attempt(t.Context())
			got := strings.Join(r.Rests, " ")
			if r.Doubt != "" {
				got += "?"
			}
			if got != c.rests || runs() != c.runs || len(r.Checks) > 0 && r.Checks[0].Flaky {
				t.Errorf("%s %q: rests on %q after %d runs, want %q after %d; doubt %q", r.Outcome, r.Reason, got, runs(),
					c.rests, c.runs, r.Doubt)
			}
		})
	}
}

// A file that an earlier attempt made is the task's, also when a person has edited it since.
func TestFileOfAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	b, runs := words(t, "echo > n.txt", true)
	b.req.Files = nil
	b.req.Checks[0].Run += " && grep -q agent n.txt"
	if r := b.attempt(t.Context()); r.Outcome != runner.Wrong {
		t.Fatalf("%s %q", r.Outcome, r.Reason)
	}
	must(os.WriteFile(filepath.Join(b.dir, "n.txt"), []byte("a person\n"), 0o644))
	b.Agent = script("echo echo two > words.sh; echo an agent >> n.txt")
	b.req.Attempt++
	before := runs()
	if r := b.attempt(t.Context()); r.Outcome != runner.Done || len(r.Rests) > 0 || runs() != before+1 {
		t.Errorf("%s %q after %d runs: rests on %q", r.Outcome, r.Reason, runs()-before, r.Rests)
	}
}

// A change that a person made between two attempts does not count as work of the later attempt, and the files from
// before the first attempt stay known.
func TestFilesOfAPerson(t *testing.T) {
	t.Parallel()
	b, _ := words(t, "echo >> words.sh", true)
	readme := filepath.Join(b.dir, "README")
	if r := b.attempt(t.Context()); r.Outcome != runner.Wrong || len(r.Surplus) > 0 {
		t.Errorf("%s %q, surplus %q", r.Outcome, r.Reason, r.Surplus)
	}
	must(os.WriteFile(readme, []byte("a person\n"), 0o644))
	b.Agent = script("echo >> words.sh; echo an agent > README")
	b.req.Attempt++
	if r := b.attempt(t.Context()); r.Outcome != runner.Wrong || fmt.Sprint(r.Surplus) != "[README]" {
		t.Errorf("%s %q, surplus %q", r.Outcome, r.Reason, r.Surplus)
	}
	must(os.WriteFile(filepath.Join(b.dir, "more"), nil, 0o644))
	b.Agent = script("echo echo two > words.sh; echo a person > README")
	b.req.Attempt++
	if r := b.attempt(t.Context()); r.Outcome != runner.Done || len(r.Surplus) > 0 {
		t.Errorf("%s %q, surplus %q", r.Outcome, r.Reason, r.Surplus)
	}
	store := filetree.Store{Dir: b.req.Trees.Store}
	first := runner.FirstTree(b.req.Baseline, store)
	if first["words.sh"] == "" || first["more"] != "" {
		t.Errorf("before the first attempt: %v", first)
	}
	must(os.WriteFile(b.req.Baseline, []byte("{}"), 0o600))
	if first := runner.FirstTree(b.req.Baseline, store); first != nil {
		t.Errorf("without a tree: %v", first)
	}
}

// TestControl has the files on which a pass rests, and the number of runs of the check, also before the work.
func TestControl(t *testing.T) {
	t.Parallel()
	const work, hollow = "echo echo two > words.sh; ", "echo '# two' >> words.sh; "
	for name, c := range map[string]struct {
		agent string
		none  bool // no declared files
		rests string
		runs  int
	}{
		"the work alone":        {agent: work, runs: 2},
		"with a note":           {agent: work + "echo more >> README", runs: 4},
		"with an ignored file":  {agent: work + "echo > a.log", runs: 4},
		"what it compares with": {agent: hollow + "echo one > want.txt", rests: "want.txt", runs: 5},
		"the test":              {agent: hollow + "echo true > words_test.sh", rests: "words_test.sh", runs: 3},
		"a folder in place of it": {agent: hollow + "rm want.txt; mkdir want.txt; echo exit 0 > words_test.sh",
			rests: "words_test.sh", runs: 5},
		"a helper that was needed": {agent: "echo 'sh ./two.sh' > words.sh; echo echo two > two.sh",
			rests: "two.sh", runs: 5},
		"one of five": {agent: hollow + "for i in 1 2 3 4; do echo > n$i.txt; done; echo one > want.txt",
			rests: "want.txt n1.txt", runs: 6},
		"an ignored file that matters": {agent: "echo 'sh ./a.log' > words.sh; echo 'echo two' > a.log",
			rests: "a.log", runs: 5},
		"a file that the check makes": {agent: "echo 'echo > made; echo two' > words.sh", runs: 2},
		"hidden by a rule": {agent: hollow + "echo want.txt >> .gitignore; echo one > want.txt; " +
			"git rm -q --cached want.txt 2>/dev/null || true", rests: "want.txt", runs: 5},
		"nothing declared, a source":    {agent: work + "echo > b.sh", none: true, runs: 2},
		"nothing declared, a note":      {agent: work + "echo more >> README", none: true, runs: 4},
		"nothing declared, a test file": {agent: hollow + "echo one > want.txt", none: true, rests: "want.txt", runs: 5},
	} {
		for _, git := range []bool{true, false} {
			t.Run(fmt.Sprint(name, "/git ", git), func(t *testing.T) {
				t.Parallel()
				b, runs := words(t, c.agent, git)
				if c.none {
					b.req.Files = nil
				}
				r := b.attempt(t.Context())
				if got := strings.Join(r.Rests, " "); r.Outcome != runner.Done || got != c.rests || r.Doubt != "" {
					t.Errorf("%s %q: rests on %q, want %q; doubt %q; surplus %q", r.Outcome, r.Reason, got, c.rests, r.Doubt,
						r.Surplus)
				}
				if n := runs(); n > c.runs {
					t.Errorf("the check ran %d times, want at most %d", n, c.runs)
				}
			})
		}
	}
}

// The search for the files that matter ends with its share of the time, and the result says so.
func TestControlIsCut(t *testing.T) {
	t.Parallel()
	b, runs := words(t, "echo '# two' >> words.sh; for i in 1 2 3 4; do echo > n$i.txt; done; echo one > want.txt", false)
	b.req.Settings.Timeout = 3 * time.Nanosecond
	r := b.attempt(t.Context())
	if len(r.Rests) != 5 || !strings.Contains(r.Doubt, "ended after 1ns") || runs() != 4 {
		t.Errorf("%s %q: rests on %q; doubt %q; %d runs", r.Outcome, r.Reason, r.Rests, r.Doubt, runs())
	}
	b, runs = words(t, "echo '# two' >> words.sh; echo one > want.txt", false) // there is nothing to search
	b.req.Settings.Timeout = 3 * time.Nanosecond
	if r := b.attempt(t.Context()); len(r.Rests) != 1 || r.Doubt != "" || runs() != 5 {
		t.Errorf("%s %q: rests on %q; doubt %q; %d runs", r.Outcome, r.Reason, r.Rests, r.Doubt, runs())
	}
}

// TestDoubt has why the control cannot tell on what a pass rests: an old content is not kept, or the checks do not see
// the copy, or are flaky.
func TestDoubt(t *testing.T) {
	t.Parallel()
	const work = "echo echo two > words.sh; echo more >> README"
	for name, c := range map[string]struct {
		secret       string // a file with a secret
		check        string
		rests, doubt string
	}{
		"an old version of the work": {secret: "words.sh", doubt: "the earlier version of words.sh was not kept"},
		"an old version of the rest": {secret: "README", rests: "README",
			doubt: "the earlier version of README was not kept"},
		"only in its directory": {check: "test \"$(pwd)\" = DIR && sh words_test.sh", rests: "README",
			doubt: "its checks fail in a copy of the project also with all changes"},
		"always in its directory": {check: "cd DIR && sh words_test.sh",
			doubt: "its checks pass in a copy of the project also without the work"},
		"flaky in a copy": {check: "if test \"$(pwd)\" = DIR; then sh words_test.sh; else echo >> LOG; " +
			"test $(wc -l < LOG) != 1; fi", rests: "README", doubt: "its checks fail and pass on the same files"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := words(t, work, false)
			b.Redactor = replacer{strings.NewReplacer("hunter2", "***")}
			if c.secret != "" {
				testrepo.Files{c.secret: "echo one # hunter2\n"}.Write(t, b.dir)
			}
			if c.check != "" {
				b.req.Checks[0].Run = strings.NewReplacer("DIR", b.dir, "LOG", filepath.Join(b.logs, "copies")).Replace(c.check)
			}
			r := b.attempt(t.Context())
			if got := strings.Join(r.Rests, " "); r.Outcome != runner.Done || got != c.rests || r.Doubt != c.doubt {
				t.Errorf("%s %q: rests on %q, want %q; doubt %q", r.Outcome, r.Reason, got, c.rests, r.Doubt)
			}
		})
	}
}

// An attempt with the work of a lost one, and without the base of that, changed the files that the turn had changed.
func TestTurnWithoutABase(t *testing.T) {
	t.Parallel()
	b, _ := words(t, "exit 1", true)
	b.req.Files, b.req.Checks = nil, []plan.Check{{Run: "true"}}
	b.req.Turn = &runner.Turn{Result: runner.Result{Outcome: runner.Done, Surplus: []string{"words.sh"}}}
	r := b.attempt(t.Context())
	if r.Outcome != runner.Done || !r.Edited() || r.Doubt == "" {
		t.Errorf("%s %q: edited %v, doubt %q", r.Outcome, r.Reason, r.Edited(), r.Doubt)
	}
}
