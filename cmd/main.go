// Package cmd is the command line of wavex: one file for each command, the flags and wiring, and
// the only switch from errors to exit codes. Package scheduler decides how a run proceeds.
package cmd

import (
	"context"

	"github.com/spf13/cobra"
)

// Main runs one command and returns its exit code.
func Main(ctx context.Context, args []string, std Stdio) int {
	app := Root(std)
	app.SetArgs(args)
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		addCompletions(app)
	}
	return int(reportError(std, app.ExecuteContext(ctx)))
}

// Root returns the whole command line, for programs that document it.
func Root(std Stdio) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "wavex",
		Short: "Run a plan of tasks as waves of headless Claude Code processes",
		Long: `wavex reads a plan of tasks, computes waves from their blockedBy edges, runs
each wave's tasks as concurrent headless claude processes, verifies the work
itself, and stops with everything on record. Without a command it says what to
do next in this directory.`,
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
	for _, g := range []struct {
		title    string
		commands []*cobra.Command
	}{
		{"Run", []*cobra.Command{newStart(std), newRun(std), newResume(std), newRetry(std), newCancel(std), newVerify(std),
			newDeliver(std), newLearn(std)}},
		{"Look", []*cobra.Command{newStatus(std), newWatch(std), newLogs(std), newOutput(std), newRuns(std), newCosts(std),
			newReport(std)}},
		{"Undo", []*cobra.Command{newRollback(std), newClean(std)}},
		{"Plans", []*cobra.Command{newNew(std), newPlan(std), newCheck(std), newGraph(std), newImport(std), newExport(std),
			newSchema(std)}},
		{"Workers", []*cobra.Command{newWorker(std), newWorkers(std)}},
		{"Claude Code", []*cobra.Command{newHook(std), newMCP(std)}},
		{"Set up", []*cobra.Command{newInit(std), newConfig(std), newDoctor(std), newCompletion(std), newVersion(std)}},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.title
		}
		root.AddCommand(g.commands...)
	}
	root.SetHelpCommandGroupID("Set up")
	root.AddCommand(newAgent(std), newWatchdog(std))
	return root
}
