package cmd

import (
	"strings"
	"testing"

	"wavex/internal/testrepo"
)

// Main makes the named command alone, which is the same as among all commands.
func TestOneCommand(t *testing.T) {
	t.Parallel()
	for _, c := range Root(Stdio{}).Commands() {
		if c.DisableFlagParsing {
			continue
		}
		help := func(all bool) string {
			var out strings.Builder
			root := newRoot(Stdio{Out: &out, Err: &out})
			only := commandOf([]string{c.Name(), "--help"})
			if all {
				only = ""
			}
			addCommands(root, Stdio{Out: &out, Err: &out}, only)
			if n := len(root.Commands()); !all && c.Name() != "help" && n != 1 {
				t.Errorf("%s is one of %d commands", c.Name(), n)
			}
			root.SetArgs([]string{c.Name(), "--help"})
			if err := root.Execute(); err != nil {
				t.Errorf("%s --help: %v", c.Name(), err)
			}
			return out.String()
		}
		if one, among := help(false), help(true); one != among {
			t.Errorf("%s --help, alone:\n%s\namong all:\n%s", c.Name(), one, among)
		}
	}
	for _, args := range [][]string{nil, {"--version"}, {"hooks"}, {"help"}, {"rnu"}} {
		if got := commandOf(args); got != "" {
			t.Errorf("%v is the command %q", args, got)
		}
	}
}

// The commands that earlier versions printed for going on with a run are still commands.
func TestPrintedCommands(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"resume", "resume plan.json", "resume --budget +10", "resume plan.json --budget +0.30 --max-iterations +14",
		"resume --max-iterations +25", "resume --max-iterations unlimited", "resume --wall-clock 2h",
		"resume --max-tokens +1000000", "resume plan.json --accept-plan", "resume --accept-assumptions",
		"resume --precheck off", "run plan.json --fresh", "run plan.json --wait-for-reset",
		"run plan.json --isolation worktree", "run --task-list my-list", "run plan.json --track x",
		"verify --fix --budget +5",
		"verify plan.json", "start", "start --fresh", "cancel --purge", "deliver 20260314-091500-k3fd --deliver branch",
		"hooks install", "hooks install --user", "hook stop", "hook session-start", "rollback run --dry-run",
	} {
		c, rest, err := Root(Stdio{}).Find(strings.Fields(line))
		testrepo.Must(t, err)
		if err := c.ParseFlags(rest); err != nil || !c.HasParent() || !c.Runnable() {
			t.Errorf("%s: %v", line, err)
		} else if err := c.ValidateArgs(c.Flags().Args()); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}
