package cmd

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/proc"
	"wavex/internal/rehearse"
)

// newWatchdog returns the command of the guard process, which sweeps after a wavex that was killed.
// The guard holds a pipe from wavex and acts if the pipe closes without a goodbye.
func newWatchdog(std Stdio) *cobra.Command {
	return &cobra.Command{
		Use:    "guard MARK [LOCK]", // a wavex of before gives its lock, too
		Short:  "Sweep after a killed wavex",
		Hidden: true,
		Args:   cobra.RangeArgs(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			return exitStatus(event.ExitCode(proc.WatchdogMain(std.In, args[0])))
		},
	}
}

// WatchdogArgv returns the command line that starts wavex as a guard, or nil if there is none.
func WatchdogArgv() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, "guard"}
}

// newAgent returns the command of the rehearsal agent. The rehearsal agent is this program in
// another role, so a rehearsal starts real processes that speak the CLI's protocol.
func newAgent(std Stdio) *cobra.Command {
	return &cobra.Command{
		Use:                "agent",
		Short:              "The rehearsal agent; takes the flags of the claude CLI",
		Hidden:             true,
		DisableFlagParsing: true,
		RunE: func(c *cobra.Command, args []string) error {
			return exitStatus(event.ExitCode(rehearse.Main(c.Context(), args, os.Environ(), std.In, std.Out, std.Err)))
		},
	}
}

// standIn returns the rehearsal agent.
func standIn() (agent.Agent, error) {
	self, err := os.Executable()
	if err != nil {
		return agent.Agent{}, fmt.Errorf("finding wavex itself: %w", err)
	}
	return agent.Agent{Name: agent.Rehearsal, Argv: []string{self, "agent"}}, nil
}
