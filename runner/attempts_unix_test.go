//go:build unix

package runner_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"wavex/internal/plan"
	"wavex/runner"
)

// This file makes drawn attempts at drawn tasks and compares their results, and the files that are closed to the agent,
// with testdata/attempts.txt. WAVEX_UPDATE=1 writes that file; review its difference.

// dice draws a task and its attempts.
type dice struct{ *rand.Rand }

func (d dice) oneIn(n int) bool { return d.IntN(n) == 0 }

// pick returns one of some texts.
func (d dice) pick(texts ...string) string { return texts[d.IntN(len(texts))] }

// choose returns each of some values once in n times.
func choose[T any](d dice, n int, values ...T) (out []T) {
	for _, v := range values {
		if d.oneIn(n) {
			out = append(out, v)
		}
	}
	return out
}

// project has the files of a project before a task. Its checks read them.
var project = map[string]string{
	".git/HEAD": "ref: refs/heads/main\n", "a.go": "todo\n", "b_test.go": "package x\n", "gone.txt": "old\n",
	"check.sh": "grep -q done a.go\n", "other.sh": "test -e data/x.txt\n", "data/x.txt": "1\n", "plan.json": "{}\n",
	"sub/y.go": "package sub\n", ".claude/settings.json": "{}\n",
}

// drawnRequest fills the request of a task.
func drawnRequest(d dice, req *runner.Request, store string) {
	req.Files = choose(d, 2, plan.File{Path: "a.go", Action: "modify"}, plan.File{Path: "new.go", Action: "create"},
		plan.File{Path: "data", Action: "modify"}, plan.File{Path: "gone.txt", Action: "delete"},
		plan.File{Path: "b_test.go", Action: "read"}, plan.File{Path: "sub/z.go", Action: "create or modify"})
	req.Checks = choose(d, 3, plan.Check{File: "a.go", Contains: "done"}, plan.Check{Run: "sh check.sh"},
		plan.Check{File: "new.go"}, plan.Check{File: "data/x.txt", Matches: "^[12]"}, plan.Check{Run: "echo hunter2; exit 3"})
	if d.oneIn(3) {
		req.MustNot = []plan.Condition{{Text: "it is bad", Check: &plan.Check{File: "bad"}}, {Text: "it is ugly"}}
	}
	req.Guards = choose(d, 2, runner.Guard{Path: "check.sh", Why: "others need it"},
		runner.Guard{Path: "plan.json", Why: runner.WhyPlan}, runner.Guard{Path: "data", Why: "others use it"})
	if d.oneIn(2) {
		req.Protect = choose(d, 3, "data", "*.txt", "sub/*", "[", "other.sh")
	}
	if !d.oneIn(3) {
		req.Trees = &runner.Trees{Store: store, Busy: choose(d, 4, "other.sh")}
	}
	if d.oneIn(2) {
		req.Reviewed = true
	}
	if d.oneIn(8) {
		req.Command = d.pick("echo done > a.go", "echo no; exit 2", `echo '{"n":1}'`)
	}
	if d.oneIn(4) {
		req.Output = &runner.OutputSpec{Schema: json.RawMessage(`{"type":"object","required":["n"]}`), Lines: d.oneIn(4)}
	}
	if d.oneIn(6) {
		req.Baseline = ""
	}
}

// edit changes files of the project as an agent or a person does, and returns the number of edits of each.
func edit(d dice, dir string) map[string]int {
	edits := map[string]int{}
	for _, one := range choose(d, 3, [2]string{"a.go", "done\n"}, [2]string{"a.go", "worse\n"}, [2]string{"new.go", "x\n"},
		[2]string{"gone.txt", ""}, [2]string{"check.sh", "true\n"}, [2]string{"other.sh", "exit 0\n"},
		[2]string{"data/x.txt", "2\n"}, [2]string{"data/z.txt", "3\n"}, [2]string{"plan.json", "[]\n"},
		[2]string{"b_test.go", "package x\n\nfunc TestX(t *testing.T) { t.Skip() }\n"}, [2]string{"bad", "bad\n"},
		[2]string{"sub/z.go", "package sub\n"}) {
		if one[0] == "a.go" || d.oneIn(3) {
			path := filepath.Join(dir, one[0])
			if one[1] == "" {
				must(os.RemoveAll(path))
			} else {
				must(os.WriteFile(path, []byte(one[1]), 0o600))
			}
			if d.oneIn(2) {
				edits[d.pick(path, one[0])] += 1 + d.IntN(3)
			}
		}
	}
	return edits
}

// drawnAttempts makes one to three attempts at a task, with edits of a person between them.
func drawnAttempts(t *testing.T, d dice, say func(string, ...any)) {
	t.Helper()
	agent := agentFunc(func(req runner.TurnRequest) runner.TurnResult {
		for _, c := range req.Policy.Closed {
			if req.Attempt == 1 || c.Rule != "project" { // those are the same in each attempt
				say("closed %s %s %q %q: %s", c.Path, c.Rule, c.Patterns, c.Except, c.Why)
			}
		}
		say("files %q, checks %q", req.Policy.Files, req.Policy.Checks)
		r := runner.TurnResult{Outcome: runner.Done, Edits: edit(d, req.Dir), Turns: 1 + d.IntN(9), Contained: true,
			Report: "I did it", Text: d.pick("", "I did it",
				"---LOOP_STATUS---\nEXIT_SIGNAL: false\nNEXT: tests\n---END_STATUS---",
				"---LOOP_STATUS---\nCRITERIA: {\"fast\":false,\"good\":true}\n---END_STATUS---",
				"---LOOP_STATUS---\nEXIT_SIGNAL: false\nCRITERIA: {\"good\":true}\n---END_STATUS---")}
		r.Cost, r.Priced = 100, "result"
		if d.oneIn(8) {
			r.Outcome, r.Reason, r.Detail = runner.Stalled, "no sign of hunter2", "hunter2 again"
		}
		if d.oneIn(4) {
			r.Denials = []runner.Denial{{Tool: "Bash", Rule: "Bash(make)", Kind: runner.CommandTool}}
		}
		r.Structured = json.RawMessage(d.pick("", `{"n":1}`, `{"m":"hunter2"}`, "[1]"))
		r.Offered = json.RawMessage(d.pick("", `{"m":1}`))
		return r
	})
	b := setup(t, agent)
	b.Redactor = replacer{strings.NewReplacer("hunter2", "***")}
	for _, path := range slices.Sorted(maps.Keys(project)) {
		must(os.MkdirAll(filepath.Join(b.dir, filepath.Dir(path)), 0o755))
		must(os.WriteFile(filepath.Join(b.dir, path), []byte(project[path]), 0o600))
	}
	drawnRequest(d, &b.req, filepath.Join(b.logs, "store"))
	if d.oneIn(2) {
		b.hooks.TurnEnded = func(turn runner.Turn) error { say("turn %q", turn.Unfinished); return nil }
	}
	for n := range 1 + d.IntN(3) {
		b.req.Attempt = n + 1
		b.req.LogDir = filepath.Join(b.logs, fmt.Sprint(n))
		r := b.attempt(t.Context())
		r.Started, r.Duration = time.Time{}, 0
		for i := range r.Checks {
			r.Checks[i].Duration = 0
		}
		data, err := json.Marshal(r)
		must(err)
		say("result %s", data)
		if d.oneIn(3) {
			edit(d, b.dir)
		}
	}
}

// TestAttempts compares the results of drawn attempts with those on file.
func TestAttempts(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	digest := regexp.MustCompile(`"(?:signature|digest)":"[^"]*"`)
	for n := range 40 {
		fmt.Fprintf(&all, "-- task %d --\n", n)
		drawnAttempts(t, dice{rand.New(rand.NewPCG(uint64(n), 3))}, func(format string, args ...any) {
			text := regexp.MustCompile(`[^" ]*/project`).ReplaceAllString(fmt.Sprintf(format, args...), "DIR")
			fmt.Fprintln(&all, digest.ReplaceAllString(text, `"digest":"..."`))
		})
	}
	path := filepath.Join("testdata", "attempts.txt")
	if os.Getenv("WAVEX_UPDATE") != "" {
		must(os.WriteFile(path, []byte(all.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	must(err)
	task, old := "", strings.Split(string(want), "\n")
	for i, now := range strings.Split(all.String(), "\n") {
		if strings.HasPrefix(now, "-- ") {
			task = now
		}
		if i >= len(old) || now != old[i] {
			t.Fatalf("%s, line %d of %s differs: now\n%s", task, i+1, path, now)
		}
	}
}
