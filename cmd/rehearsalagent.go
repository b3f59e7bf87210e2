package cmd

import (
	"os"

	"github.com/spf13/cobra"

	"wavex/internal/event"
	"wavex/internal/rehearse"
)

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

func exitStatus(code event.ExitCode) error {
	if code == 0 {
		return nil
	}
	return exitCode(code)
}
