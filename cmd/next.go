package cmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/textfmt"
	"wavex/internal/ui"
)

// This file says what to do next in the current directory: the output of wavex without a command.

// runNext prints the state of the last run here and the commands that go on from it, else the commands for the plan
// that is here, else those that make one.
func runNext(_ context.Context, std Stdio) error {
	dir, err := projectDir("")
	if err != nil {
		return err
	}
	std.tellPlace(dir)
	in := loop.In(dir)
	events, err := runlog.Read(in)
	if err != nil {
		return err
	}
	last := runlog.Last(events)
	if last == nil {
		wide := outputColumns(std.Out)
		look := ui.Options{ASCII: asciiOnly(false, std.Out, os.Getenv), Width: func() int { return max(wide, 80) }}
		if shown, err := printRequestStatus(in, look, false, std); shown {
			return err
		}
	}
	path, err := defaultPlan()
	if err != nil {
		return err
	}
	switch {
	case last != nil:
		if err := printRunCommands(std); err != nil {
			return err
		}
		if last.Final() && path != "" {
			fmt.Fprintf(std.Out, "\n%s is here:\n\n", path)
			printPlanCommands(std.Out, path)
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

// printRunCommands prints where the last run stands and the commands that go on from there.
func printRunCommands(std Stdio) error {
	w := std.Out
	p, err := findStoredRun(nil, std)
	if err == nil {
		err = p.Settle()
	}
	if err != nil {
		return err
	}
	sum := report.Of(p.State, p.Events).At(time.Now(), p.Alive)
	what := "The last run here"
	if sum.Agent == agent.Rehearsal {
		what += ", a rehearsal,"
	}
	n := sum.Counts
	fmt.Fprintf(w, "%s is %s: %s, %d failed, %d blocked.\n\n", what, sum.Status, sum.Done(), n.Failed, n.Blocked)
	list := [][2]string{}
	if sum.Status == event.RunRunning {
		list = append(list, [2]string{"wavex watch", "follow it"})
	}
	for _, t := range sum.Tasks {
		if t.Status == event.Failed {
			list = append(list, [2]string{"wavex logs " + plan.ShellQuote(t.ID), "see what its last attempt did"})
			break
		}
	}
	if sum.Resume != "" {
		list = append(list, [2]string{sum.Resume, "continue it"})
	}
	if d := p.State.Figures.LastDelivery; d != nil && d.How == "branch" {
		list = append(list, [2]string{"wavex deliver", "take its work over, from " + d.Ref})
	}
	if c := afterRehearsal(sum, p.State.Origin); c != "" {
		list = append(list, [2]string{c, "leave the rehearsal, and do it with Claude Code"})
	}
	printCommandList(w, append(list, [2]string{"wavex status", "see where each task stands"},
		[2]string{"wavex report", "read what was done"}))
	return nil
}

// afterRehearsal returns the command that does the work of a rehearsal. It returns "" if the run is not a rehearsal or
// goes on, or if printPlanCommands has the command.
func afterRehearsal(sum report.Summary, of *event.Origin) string {
	name := displayPath(sum.Plan)
	here, err := defaultPlan()
	switch {
	case sum.Agent != agent.Rehearsal || sum.Status == event.RunRunning:
		return ""
	case of != nil:
		name = "wavex start " + plan.ShellQuote(textfmt.Line(of.Request))
	case sum.Resume == "" && err == nil && here == name:
		return ""
	default:
		name = "wavex run " + plan.ShellQuote(name)
	}
	if sum.Resume != "" {
		name += " --fresh"
	}
	return name
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
