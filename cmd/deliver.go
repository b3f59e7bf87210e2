package cmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/runlog"
	"wavex/internal/usererr"
	"wavex/internal/workspace"
)

type deliverOptions struct {
	run     string // "": the last one
	method  string
	project string
	output  string
}

func newDeliver(std Stdio) *cobra.Command {
	o := deliverOptions{method: "ff"}
	c := &cobra.Command{
		Use:   "deliver [RUN]",
		Short: "Hand over the work of an isolated run",
		Long: `deliver brings what a run with --isolation worktree has integrated to where it
is wanted: by default it fast-forwards the branch that the run began on, also
when the run is not complete. The checkout must be clean and on that branch; a
branch that moved meanwhile is left alone, and the command that brings the work
there is told. RUN is the id that the run printed; the last run when left out.

Exit status: 0 delivered, 2 there is no such run, 5 something is in the way.`,
		Example: `  wavex deliver
  wavex deliver 20260314-091500-k3fd --deliver branch`,
		Args: optionalArg("a run id"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.run = args[0]
			}
			return runDeliver(c.Context(), o, std)
		},
	}
	choicesFlag(c, delivery(&o.method), "deliver", "how to deliver")
	projectFlag(c, &o.project)
	outputFlag(c, &o.output)
	return c
}

// projectFlag adds --project DIR.
func projectFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "project", "", "the project directory, where .loop is")
	_ = c.MarkFlagDirname("project")
}

func runDeliver(ctx context.Context, o deliverOptions, std Stdio) error {
	dir, err := projectAt(o.project)
	if err != nil {
		return err
	}
	in := loop.In(dir)
	if err := checkLoop(ctx, in); err != nil {
		return err
	}
	past, err := runlog.LoadForDisplay(in, "", o.run) // the plan's file may have been edited since
	if err != nil {
		return err
	}
	std.tellPlace(dir)
	_ = proc.Subreaper() // lets wavex find git's helper processes sooner
	d, err := deliver(ctx, past, o.method, std.Err)
	if err != nil {
		return err
	}
	if o.output == "json" {
		return json.NewEncoder(std.Out).Encode(d)
	}
	line := fmt.Sprintf("run %s: delivered as %s", past.State.Config.Run, d.How)
	if d.Ref != "" && d.How != "ff" {
		line += " " + d.Ref
	}
	if d.Why != "" {
		line += " (" + d.Why + ")"
	}
	fmt.Fprintln(std.Out, line)
	if d.Command != "" {
		fmt.Fprintln(std.Out, "take the work over with: "+d.Command)
	}
	return nil
}

// deliver delivers the work of a run, and records where it is if no other run follows. It writes warnings to warn.
func deliver(ctx context.Context, past *runlog.History, how string, warn io.Writer) (d gitwork.Delivery, err error) {
	last, config := runlog.Last(past.Events).In(past.Loop), past.State.Config
	p, err := last.CurrentPlan("")
	if err != nil {
		return d, planInTheWay(err)
	}
	if !past.Later {
		lock, err := runlog.Lock(config.Loop, config.Run)
		if err != nil {
			return d, err
		}
		defer func() { _ = lock.Unlock() }()
	}
	say := func(err error) { fmt.Fprintln(warn, "wavex: warning:", err) }
	if d, err = workspace.Deliver(ctx, p, config, past.Events, how, last.Complete(), say); err != nil {
		return d, usererr.Blocked(err)
	}
	if past.Later {
		return d, nil
	}
	to := runlog.Appender{State: past.State, Events: past.Events}
	return d, to.Append(warn, func() event.Body {
		return event.DeliveryEnded{How: d.How, Ref: d.Ref, Commit: d.Commit, Command: d.Command, Why: d.Why}
	})
}

// delivery takes a way of delivery.
func delivery(to *string) *value { return choice(to, "auto", "branch", "ff", "push", "pr") }
