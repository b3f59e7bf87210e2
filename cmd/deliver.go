package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/workspace"
	"wavex/scheduler"
)

type deliverOptions struct {
	run     string // "": the last one
	how     string
	project string
	output  string
}

func newDeliver(std Stdio) *cobra.Command {
	var o deliverOptions
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
  wavex deliver 20260314-091500-k3fd --deliver branch
  wavex deliver --deliver "patch work.patch"`,
		Args: maybeArg("a run id"),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.run = args[0]
			}
			return runDeliver(c.Context(), o, std)
		},
	}
	c.Flags().StringVar(&o.how, "deliver", "ff", "ff, auto, branch, pr, or patch FILE (see wavex run --help)")
	projectFlag(c, &o.project)
	outputFlag(c, &o.output)
	return c
}

// projectFlag adds --project DIR.
func projectFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "project", ".", "the project directory, where .loop is")
	_ = c.MarkFlagDirname("project")
}

func runDeliver(ctx context.Context, o deliverOptions, std Stdio) (err error) {
	if err := checkDelivery(o.how); err != nil {
		return err
	}
	_ = proc.Subreaper() // git's helpers are found sooner so
	r, err := recall(o.project, o.run)
	if err != nil {
		return err
	}
	if o.how == "pr" {
		if err := writeBody(r.plan, r.config, r.events); err != nil {
			return &blockedError{err}
		}
	}
	space, err := workspace.Reattach(ctx, treeOptions(r.plan, r.config))
	if err != nil {
		return &blockedError{err}
	}
	defer func() { err = errors.Join(err, space.Close(context.WithoutCancel(ctx))) }()
	d, err := space.Deliver(ctx, o.how, r.complete)
	if err != nil {
		return &blockedError{err}
	}
	if o.output == "json" {
		return json.NewEncoder(std.Out).Encode(d)
	}
	line := fmt.Sprintf("run %s: delivered as %s", r.config.Run, d.How)
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

// pastSession is a run of a journal.
type pastSession struct {
	plan     *plan.Plan
	config   scheduler.Config
	events   []scheduler.Event // up to its end
	complete bool
}

// recall finds a run in the journal of a project; "" finds the last.
func recall(project, run string) (*pastSession, error) {
	dir, err := filepath.Abs(project)
	if err != nil {
		return nil, err
	}
	events, err := readEvents(filepath.Join(dir, ".loop"))
	if err != nil {
		return nil, err
	}
	end := len(events)
	for ; end > 0; end-- {
		last := lastRun(events[:end])
		if last == nil || run == "" || last.config.Run == run {
			break
		}
		for _, ok := events[end-1].Body.(scheduler.RunStarted); !ok; _, ok = events[end-1].Body.(scheduler.RunStarted) {
			end--
		}
	}
	last := lastRun(events[:end])
	if last == nil {
		if run != "" {
			run = " " + run
		}
		return nil, usage("there is no run%s in %s", run, filepath.Join(dir, ".loop"))
	}
	p, diags, err := loadPlanOf(last.plan, last.config.Run)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, &planError{diags}
	}
	r := &pastSession{plan: p, config: last.config, events: events[:end]}
	r.complete = last.ended != nil && last.ended.Status == "complete"
	r.config.Dir, r.config.Loop = dir, filepath.Join(dir, ".loop")
	return r, nil
}
