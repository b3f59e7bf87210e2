package cmd

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"wavex/internal/planfile"
	"wavex/internal/record"
)

// This file completes arguments in a shell. It is called for each press of a key, so it
// reads no more than it needs, and what goes wrong completes nothing.

// completeTask offers the ids of the last run's plan, with their subjects, for the
// first argument.
func completeTask(_ *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	events, err := record.Read(filepath.Join(dir, ".loop"))
	last := record.Last(events)
	if err != nil || last == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	p, _, err := planfile.Load(last.Plan, last.Config.Run)
	if err != nil || p == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for i := range p.Tasks {
		if t := &p.Tasks[i]; strings.HasPrefix(t.ID, begun) {
			out = append(out, cobra.CompletionWithDesc(t.ID, t.Subject))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completePlan offers files that can be plans, for the first argument.
func completePlan(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []cobra.Completion{"json", "yaml", "yml", "md"}, cobra.ShellCompDirectiveFilterFileExt
}
