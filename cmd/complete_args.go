package cmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/textfmt"
)

// This file completes arguments in a shell. It runs at each key press, so it reads as little as
// possible, and an error completes nothing.

// completeTask offers the task ids of the last run's plan, with their subjects, for the first
// argument.
func completeTask(_ *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	p := lastRunPlan(args)
	if p == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for i := range p.Tasks {
		if t := &p.Tasks[i]; strings.HasPrefix(t.ID, begun) {
			out = append(out, cobra.CompletionWithDesc(t.ID, textfmt.Line(t.Title())))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeRollback offers the targets of a rollback: tasks, waves and the run.
func completeRollback(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	out, how := completeTask(c, args, begun)
	if p := lastRunPlan(args); p != nil {
		_, waves := p.Waves()
		for n := range waves {
			out = append(out, fmt.Sprintf("wave-%d", n+1))
		}
		out = append(out, "run")
	}
	return out, how
}

// completeRun offers plan files and the ids of runs, with how each run ended.
func completeRun(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, r := range report.Runs(readLocalEvents(), time.Time{}, true) {
		out = append(out, cobra.CompletionWithDesc(r.Run, string(r.Status)+", "+r.Started.UTC().Format(time.RFC3339)))
	}
	return out, cobra.ShellCompDirectiveDefault
}

// readLocalEvents returns the journal of the current directory, or nil if it cannot be read.
func readLocalEvents() []event.Event {
	events, err := runlog.Read(loop.Name)
	if err != nil {
		return nil
	}
	return events
}

// lastRunPlan returns the plan of the last run, to complete a first argument. It returns nil if
// there is none.
func lastRunPlan(args []string) *plan.Plan {
	if len(args) > 0 {
		return nil
	}
	last := runlog.Last(readLocalEvents())
	if last == nil {
		return nil
	}
	if p := runlog.SavedPlan(loop.Name, last.Config.Run); p != nil {
		return p
	}
	p, err := planfile.Reread(last.Plan, last.Config.Run)
	if err != nil {
		return nil
	}
	return p
}

// completePlan offers files that may be plans, for the first argument.
func completePlan(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []cobra.Completion{"json", "yaml", "yml", "md"}, cobra.ShellCompDirectiveFilterFileExt
}
