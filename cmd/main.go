// Package cmd is the command line of wavex: one file for each command, the flags and wiring, and
// the only switch from errors to exit codes. Package scheduler decides how a run proceeds.
package cmd

import (
	"context"

	"github.com/spf13/cobra"
)

// Main runs one command and returns its exit code.
func Main(ctx context.Context, args []string, std Stdio) int {
	std.told = new(bool)
	app := newRoot(std)
	addCommands(app, std, commandOf(args))
	app.SetArgs(args)
	return int(reportError(std, app.ExecuteContext(ctx)))
}

// Root returns the whole command line, for programs that document it.
func Root(std Stdio) *cobra.Command {
	root := newRoot(std)
	addCommands(root, std, "")
	return root
}

// newRoot returns the command line without its commands.
func newRoot(std Stdio) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "wavex",
		Short: "Run a plan of tasks as waves of headless Claude Code processes",
		Long: `wavex reads a plan of tasks, computes waves from their blockedBy edges, runs
each wave's tasks as concurrent headless claude processes, verifies the work
itself, and stops with everything on record. Without a command it shows the
status of the last run here, or how to begin. Commands look for the run and the
plan here and above, up to the top of the repository, and say where they found
them.`,
		Example: `  wavex new
  wavex check plan.json
  wavex run plan.json
  wavex run plan.json --agent rehearse`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          onlyCommands,
		RunE: func(c *cobra.Command, _ []string) error {
			if version {
				return printVersion(std.Out)
			}
			return runNext(c.Context(), std)
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version, as wavex version does")
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	root.SetUsageFunc(printUsage)
	root.SetHelpCommand(newHelp())
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usage("%s\nsee: %s --help", flagErrorText(c, err), c.CommandPath())
	})
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}

// command makes the command with a name.
type command struct {
	name string
	make func(Stdio) *cobra.Command
}

// noFleet is the title of the commands that a Fleet replaces. Without one they are not shown.
const noFleet = "Workers"

// commandGroup is a group of commands in the help. Commands without a title are not shown.
type commandGroup struct {
	title    string
	commands []command
}

// commandGroups returns all commands, in the order of the help.
func commandGroups() []commandGroup {
	return []commandGroup{
		{"Run", []command{{"start", newStart}, {"run", newRun}, {"resume", newResume}, {"retry", newRetry},
			{"cancel", newCancel}, {"verify", newVerify}, {"deliver", newDeliver}, {"learn", newLearn}}},
		{"Look", []command{{"status", newStatus}, {"watch", newWatch}, {"logs", newLogs}, {"output", newOutput},
			{"runs", newRuns}, {"costs", newCosts}, {"report", newReport}}},
		{"Undo", []command{{"rollback", newRollback}, {"clean", newClean}}},
		{"Plans", []command{{"new", newNew}, {"plan", newPlan}, {"check", newCheck}, {"graph", newGraph},
			{"import", newImport}, {"export", newExport}, {"schema", newSchema}}},
		{"Claude Code", []command{{"hook", newHook}, {"mcp", newMCP}}},
		{"Set up", []command{{"init", newInit}, {"config", newConfig}, {"doctor", newDoctor},
			{"completion", newCompletion}, {"version", newVersion}}},
		{"", []command{{"agent", newAgent}, {"guard", newWatchdog}}},
		{noFleet, []command{{"worker", newNoWorkers("worker")}, {"workers", newNoWorkers("workers")}}},
	}
}

// commandOf returns the name of the command that args begin with, or "" if they begin with none.
func commandOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	for _, g := range commandGroups() {
		for _, c := range g.commands {
			if c.name == args[0] {
				return c.name
			}
		}
	}
	return ""
}

// addCommands adds all commands to root, or only the one with a name: all of them with their flags take 1.5 ms.
func addCommands(root *cobra.Command, std Stdio, only string) {
	for _, g := range commandGroups() {
		if g.title == noFleet {
			if std.Fleet != nil {
				std.Fleet.Extend(root, std)
				continue
			}
			g.title = ""
		}
		if g.title != "" {
			root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		}
		for _, c := range g.commands {
			if only == "" || only == c.name {
				made := c.make(std)
				made.GroupID = g.title
				root.AddCommand(made)
			}
		}
	}
	root.SetHelpCommandGroupID("Set up")
}
