package cmd

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/runlog"
)

// This file has the output of wavex without a command: the status of the last run here, or how to begin.

// runNext prints the status of the last run or request here, else the commands for the plan that is here, else those
// that make one.
func runNext(ctx context.Context, std Stdio) error {
	dir, err := projectDir("")
	if err != nil {
		return err
	}
	std.tellPlace(dir)
	events, err := runlog.Read(loop.In(dir))
	if err != nil {
		return err
	}
	path, err := defaultPlan()
	if err != nil {
		return err
	}
	switch {
	case len(events) > 0:
		if err := runStatus(ctx, nil, statusOptions{output: "text"}, std); err != nil {
			return err
		}
	case path != "":
		fmt.Fprintf(std.Out, "%s is here, and has not been run yet:\n\n", path)
		printPlanCommands(std.Out, path)
	default:
		fmt.Fprintf(std.Out, "There is no plan here yet (no plan.json, plan.yaml or plan.yml):\n\n")
		printCommandList(std.Out, [][2]string{
			{"wavex new", "make a small plan to start from"},
			{`wavex plan "WHAT YOU WANT"`, "let a model make a plan of a request"},
			{"wavex doctor", "see whether Claude Code is there and logged in"}})
	}
	fmt.Fprintln(std.Out, "\nAll commands: wavex --help")
	return nil
}

// printPlanCommands prints the commands for a plan. The default plan needs no name.
func printPlanCommands(w io.Writer, path string) {
	name := " " + plan.ShellQuote(path)
	if here, err := defaultPlan(); err == nil && here == path {
		name = ""
	}
	printCommandList(w, [][2]string{
		{"wavex check" + name, "see its mistakes, waves and commands"},
		{"wavex run" + name + " --agent rehearse", "try it without an account: no model is asked"},
		{"wavex run" + name, "run it with Claude Code"}})
}

// printCommandList prints commands with what each is for.
func printCommandList(w io.Writer, list [][2]string) {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, c := range list {
		fmt.Fprintf(t, "  %s\t%s\n", c[0], c[1])
	}
	_ = t.Flush() // the caller's output: a closed one fails no command
}
