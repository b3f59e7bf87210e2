package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"wavex/internal/plan"
	"wavex/internal/rehearse"
)

// agent is who does the work: a program and what precedes its flags.
type agent struct {
	name     string // "claude" or "rehearse"
	argv     []string
	scenario *rehearse.Scenario
}

// findAgent finds the agent's program, before anything is written.
func findAgent(_ context.Context, o runOptions, agentName string, p *plan.Plan) (agent, error) {
	a := agent{name: agentName}
	if a.name == "rehearse" {
		self, err := os.Executable()
		if err != nil {
			return a, fmt.Errorf("finding wavex itself: %w", err)
		}
		a.argv = []string{self, "agent"}
		if o.scenario != "" {
			if a.scenario, err = rehearse.LoadScenario(o.scenario); err != nil {
				return a, usage("%s", err)
			}
		}
		return a, nil
	}
	if o.scenario != "" {
		return a, usage("--scenario is for --agent rehearse")
	}
	found, err := findClaude(o.claude)
	if err != nil {
		if !needsAgent(p) {
			a.argv = []string{found}
			return a, nil
		}
		return a, &blockedError{fmt.Errorf("the claude CLI %q is not there: %w\ninstall it with: npm install -g @anthropic-ai/claude-code\nor try the plan without it: --agent rehearse", found, errors.Unwrap(err))}
	}
	a.argv = []string{found}
	return a, nil
}

// findClaude looks for the CLI: where a flag says, else WAVEX_CLAUDE, else in PATH. With
// an error it gives the name that was looked for.
func findClaude(flag string) (string, error) {
	path := cmp.Or(flag, os.Getenv("WAVEX_CLAUDE"), "claude")
	found, err := exec.LookPath(path)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return path, err
	}
	// A relative path is relative to us; an attempt may work elsewhere.
	return filepath.Abs(found)
}

// needsAgent tells whether any task is for an agent and not a command.
func needsAgent(p *plan.Plan) bool {
	for i := range p.Tasks {
		if p.Tasks[i].Command == "" {
			return true
		}
	}
	return false
}

// newAgent is the rehearsal agent: the same program in another role, so that a
// rehearsal starts real processes that speak the CLI's protocol.
func newAgent(std Stdio) *cobra.Command {
	return &cobra.Command{
		Use:                "agent",
		Short:              "The rehearsal agent; takes the flags of the claude CLI",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			return exitOf(rehearse.Main(c.Context(), args, os.Environ(), std.In, std.Out, std.Err))
		},
	}
}

func exitOf(code int) error {
	if code == 0 {
		return nil
	}
	return exitCode(code)
}
