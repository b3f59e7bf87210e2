package cmd

import (
	"github.com/spf13/cobra"

	"wavex/internal/proc"
)

// newGuard is the process that sweeps after a wavex that was killed: it holds a pipe
// from it and wakes when the pipe closes without a goodbye.
func newGuard(std Stdio) *cobra.Command {
	return &cobra.Command{
		Use:    "guard MARK",
		Short:  "Sweep after a killed wavex",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return exitOf(proc.GuardMain(std.In, args[0]))
		},
	}
}
