package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/tasklist"
	"wavex/internal/textfmt"
)

// This file adds the completions that the commands lack: arguments by their name in the usage line,
// values of flags by the flag's name. Values without a list (numbers, durations, sentences)
// complete nothing, because the shell's default, file names, would be wrong. Completion runs at each key press,
// so it reads as little as possible, and an error completes nothing.

// addCompletions adds the missing completions to each command below root.
func addCompletions(root *cobra.Command) {
	for _, c := range root.Commands() {
		addCompletions(c)
		if c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 && !c.HasSubCommands() {
			c.ValidArgsFunction = argCompletion(c.Use)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			// An error means that the flag has a completion of its own.
			_ = c.RegisterFlagCompletionFunc(f.Name, flagCompletion(f.Name))
		})
	}
}

// argCompletion returns the completion of a command's argument.
func argCompletion(use string) cobra.CompletionFunc {
	_, what, _ := strings.Cut(use, " ")
	switch strings.Trim(what, "[]") {
	case "PLAN", "FILE":
		return completePlan
	case "RUN":
		return completeRunID
	case "COMMAND":
		return completeCommand
	}
	return cobra.NoFileCompletions
}

// flagCompletion returns the completion of a flag's value.
func flagCompletion(name string) cobra.CompletionFunc {
	switch name {
	case "claude", "to", "gaps":
		return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		}
	case "scenario", "prices":
		return cobra.FixedCompletions([]cobra.Completion{"json"}, cobra.ShellCompDirectiveFilterFileExt)
	case "plan":
		return completePlan
	case "track", "project":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case "run":
		return completeRunID
	case "deliver":
		return cobra.FixedCompletions([]cobra.Completion{"auto", "branch", "ff", "push", "pr", "patch"},
			cobra.ShellCompDirectiveNoFileComp)
	case "report":
		return completeReport
	case "webhook":
		return cobra.FixedCompletions([]cobra.Completion{"https://", "slack=https://"},
			cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)
	case "task-list":
		return completeList
	case "counsel-block":
		return completeExpert
	case "attempt":
		return completeAttempt
	}
	return cobra.NoFileCompletions
}

// completeRunID offers the ids of runs, and no files.
func completeRunID(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	out, _ := completeRun(c, args, begun)
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeCommand offers the commands, for `wavex help`.
func completeCommand(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	at, _, err := c.Root().Find(args)
	if err != nil {
		at = c.Root()
	}
	var out []cobra.Completion
	for _, sub := range at.Commands() {
		if sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), begun) {
			out = append(out, cobra.CompletionWithDesc(sub.Name(), sub.Short))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeReport offers the kinds of --report KIND=FILE, then files.
func completeReport(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if strings.Contains(begun, "=") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return []cobra.Completion{"html=", "junit=", "json=", "md="},
		cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completeList offers the task lists of Claude Code.
func completeList(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	if l, err := tasklist.Open("x", os.Getenv); err == nil {
		entries, _ := os.ReadDir(filepath.Dir(l.Dir)) // without task lists nothing is offered
		for _, e := range entries {
			if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
				out = append(out, e.Name())
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeExpert offers the project's experts. In a list separated by commas it completes the last
// name.
func completeExpert(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var out []cobra.Completion
	if roster, err := counsel.LoadRoster(localLoop().Path(loop.Experts), nil); err == nil {
		before := begun[:strings.LastIndexByte(begun, ',')+1]
		for _, name := range roster.Names() {
			if !slices.Contains(strings.Split(before, ","), name) {
				out = append(out, before+name)
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeAttempt offers the attempts of the task that the first argument names.
func completeAttempt(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	past, err := runlog.LoadForDisplay(localLoop(), "", "")
	if err != nil || len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, t := range report.Of(past.State, past.Events).Tasks {
		for i := range t.History {
			if a := &t.History[i]; t.ID == args[0] {
				out = append(out, cobra.CompletionWithDesc(strconv.Itoa(a.Number), string(a.Outcome)))
			}
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

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
	for _, g := range p.Groups {
		if strings.HasPrefix(g.ID, begun) {
			out = append(out, cobra.CompletionWithDesc(g.ID, "list of "+report.Plural(len(g.Tasks), "item", "items")))
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

// localLoop returns the .loop directory of projectDir.
func localLoop() loop.Dir {
	dir, err := projectDir("")
	if err != nil {
		return loop.Name
	}
	return loop.In(dir)
}

// readLocalEvents returns the journal in localLoop, or nil if it cannot be read.
func readLocalEvents() []event.Event {
	events, err := runlog.Read(localLoop())
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
	if p := runlog.SavedPlan(localLoop(), last.Config.Run); p != nil {
		return p
	}
	p, err := planfile.Reread(last.Plan, last.Config.Run,
		plan.RunParams(last.Config.Params, last.Config.Lists))
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

// newCompletion returns cobra's completion command in the form of the others: cobra's help has no
// exit codes, and its lines are too wide.
func newCompletion(std Stdio) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the script that completes commands in a shell",
		Long: `completion prints a script for bash, zsh, fish or powershell with which the
shell completes commands, flags, their words, plan files, and the ids of tasks.
For bash it needs the package bash-completion.

Exit status: 0 printed, 2 it is for none of these shells.`,
		Example: `  wavex completion bash > /etc/bash_completion.d/wavex
  wavex completion zsh > "${fpath[1]}/_wavex"
  wavex completion fish > ~/.config/fish/completions/wavex.fish
  wavex completion powershell | Out-String | Invoke-Expression
  source <(wavex completion bash)           (for this session only)`,
		Args:              oneArg("bash, zsh, fish or powershell"),
		ValidArgsFunction: cobra.FixedCompletions(shells, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(c *cobra.Command, args []string) error {
			switch root := Root(std); args[0] {
			case "bash":
				return root.GenBashCompletionV2(std.Out, true)
			case "zsh":
				return root.GenZshCompletion(std.Out)
			case "fish":
				return root.GenFishCompletion(std.Out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(std.Out)
			}
			return usage("%q is not bash, zsh, fish or powershell", args[0])
		},
	}
}
