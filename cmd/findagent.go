package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"wavex/internal/agent"
	"wavex/internal/claude/statement"
	"wavex/internal/claude/support"
	"wavex/internal/plan"
	"wavex/internal/rehearse"
	"wavex/internal/usererr"
)

// findAgent finds the agent's program. It writes nothing.
func findAgent(_ context.Context, o *runOptions, name string, p *plan.Plan) (agent.Agent, error) {
	a := agent.Agent{Name: name}
	if a.IsRehearsal() {
		self, err := os.Executable()
		if err != nil {
			return a, fmt.Errorf("finding wavex itself: %w", err)
		}
		a.Argv, a.Support = []string{self, "agent"}, statement.StandIn()
		if o.scenario != "" {
			if a.Scenario, err = rehearse.LoadScenario(o.scenario); err != nil {
				return a, usage("%s", err)
			}
		}
		return a, nil
	}
	if o.scenario != "" {
		return a, usage("--scenario is for --agent rehearse")
	}
	found, err := findClaude(o.claude)
	a.Argv = []string{found}
	if err != nil && agent.NeedsAgent(p) {
		return a, usererr.Blocked(fmt.Errorf(
			"the claude CLI %q %s; install it with: %s, or try the plan without it: --agent rehearse",
			found, claudeProblem(err), support.Install))
	}
	return a, nil
}

// claudeProblem returns the reason why findClaude found no program.
func claudeProblem(err error) string {
	switch {
	case errors.Is(err, syscall.EISDIR):
		return "is a directory: name the file of the CLI in it"
	case errors.Is(err, fs.ErrPermission):
		return "may not be executed: see that it is the CLI, then chmod +x it"
	}
	return "is not there"
}

// findClaude returns the path of the CLI: the value of the flag, else WAVEX_CLAUDE, else the claude
// in PATH. With an error it returns the name that it looked for.
func findClaude(flag string) (string, error) {
	path := cmp.Or(flag, os.Getenv("WAVEX_CLAUDE"), "claude")
	found, err := exec.LookPath(path)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return path, err
	}
	// A relative path refers to the directory of wavex; an attempt may work in another one.
	return filepath.Abs(found)
}
