package gitwork

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/filetree"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/runner"
)

// shellAgent is an agent whose turn is a shell command, its prompt.
type shellAgent struct{}

func (shellAgent) Turn(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
	cmd := exec.CommandContext(ctx, "sh", "-c", req.Prompt)
	if cmd.Dir = req.Dir; cmd.Run() != nil {
		return runner.TurnResult{Outcome: runner.Broken}
	}
	return runner.TurnResult{Outcome: runner.Done, Contained: true}
}

func (shellAgent) Ask(context.Context, runner.Question) runner.Answer { return runner.Answer{} }

// A task knows a green result of the task before it, unless their environments differ, or another one worked between
// them: it may have changed ignored files.
func TestResultsOfTheTaskBefore(t *testing.T) {
	t.Parallel()
	const item = "WAVEX_ITEM"
	for name, c := range map[string]struct {
		between   string // a command task
		one, two  string // values of a variable
		dishonest bool   // the check would be red
		runs      int    // before the work of the second task
	}{
		"at once":               {},
		"after a command":       {between: "true", runs: 1},
		"without what it needs": {between: "rm -r build", runs: 1, dishonest: true},
		"of another item":       {one: "a", two: "b", runs: 1},
		"of an item":            {one: "a", runs: 1},
		"before an item":        {two: "b", runs: 1},
	} {
		for _, mode := range []string{Shared, Worktree} {
			if mode == Worktree && c.between != "" {
				continue
			}
			r := newRepo(t, files{"a": "1\n", ".gitignore": "build/\n"})
			o := r.options("r1")
			o.Mode, o.Width = mode, 2
			m := r.open(o)
			logs := t.TempDir()
			with := &runner.Local{Agent: shellAgent{}, Host: runner.Host{Env: proc.Inherit(r.env, nil),
				Lister: &filetree.Lister{}}}
			ask := func(task, turn, command, value string) runner.Result {
				dir := filepath.Join(logs, task)
				must(t, os.MkdirAll(dir, 0o700))
				req := runner.Request{Run: "r1", Task: task, Attempt: 1, Dir: r.dir, LogDir: dir, Prompt: turn,
					Baseline: filepath.Join(dir, "base.json"), Command: command}
				if req.Env = map[string]string{}; value != "" {
					maps.Copy(req.Env, map[string]string{item: value})
				}
				if turn != "" {
					req.Trees = &runner.Trees{Store: filepath.Join(logs, "store")}
					req.Checks = []plan.Check{{Run: "echo run >> " + logs + "/runs; test -d build || ! test -e .shared"}}
				}
				res := attemptIn(t.Context(), m, with, req, runner.Hooks{})
				equal(t, name+": "+task+" "+res.Reason, res.Outcome, runner.Done)
				return res
			}
			runs := func(file string) int {
				text, err := os.ReadFile(filepath.Join(logs, file))
				must(t, err)
				return strings.Count(string(text), "run")
			}
			first := "echo 2 > a"
			if mode == Shared {
				first += "; mkdir build; : > build/ok; : > .shared"
			}
			ask("one", first, "", c.one)
			if mode == Worktree {
				_, err := m.Integrate(t.Context(), 1, []VerifiedTask{{Task: "one"}})
				must(t, err)
			}
			if c.between != "" {
				ask("between", "", c.between, "")
			}
			before := runs("runs")
			second := ask("two", "cp "+logs+"/runs "+logs+"/before; echo 3 > a; mkdir -p build", "", c.two)
			equal(t, name+": vacuous", second.Vacuous, !c.dishonest)
			equal(t, name+" "+string(mode)+": runs before the work", runs("before")-before, c.runs)
		}
	}
}
