package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/plan/convert"
	"wavex/internal/planfile"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/scheduler"
)

type exportOptions struct{ format, to, list string }

func newExport(std Stdio) *cobra.Command {
	var o exportOptions
	c := &cobra.Command{
		Use:   "export PLAN",
		Short: "Write the state of a run, or a plan into a task list",
		Long: `With --format state-md, export writes the state of a plan's run as the loop
block of a STATE.md; before the first run that block has its initial values.
With --task-list it writes the plan into a task list of Claude Code, which must
be empty.

Exit status: 0 written, 2 the plan has mistakes.`,
		Example: "  wavex export --format state-md plan.json\n  wavex export --task-list my-list plan.json",
		Args:    oneArg("a plan file"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return runExport(c.Context(), args[0], o, std)
		},
	}
	c.Flags().StringVar(&o.format, "format", "", "form of the output: state-md")
	c.Flags().StringVarP(&o.to, "to", "o", "", "file to write (default: standard output)")
	c.Flags().StringVar(&o.list, "task-list", "", "write the plan into this task list of Claude Code")
	return c
}

// check refuses options that do not go together.
func (o exportOptions) check() error {
	switch {
	case o.list != "" && (o.format != "" || o.to != ""):
		return usage("--task-list says where and how to write: leave --format and --to out")
	case o.list != "" || o.format == "state-md":
		return nil
	case o.format != "":
		return usage("%q is not a format; the format is state-md", o.format)
	}
	return usage("say what to write: --format state-md (the state of the run) or --task-list NAME (the plan)")
}

func runExport(ctx context.Context, path string, o exportOptions, std Stdio) error {
	p, err := planfile.Read(path, listRunID(path, false))
	if err != nil {
		return err
	}
	if o.list != "" {
		return exportList(ctx, o.list, path, p, "", std)
	}
	out, err := stateBlock(p)
	if err != nil {
		return err
	}
	return writeTo(o.to, out, std)
}

// stateBlock returns the loop block of a STATE.md's front matter: the values in the journal of the
// plan's project, or else the initial values.
func stateBlock(p *plan.Plan) ([]byte, error) {
	dir, err := projectOf(p)
	if err != nil {
		return nil, err
	}
	events, err := runlog.Read(loop.In(dir))
	if err != nil {
		return nil, err
	}
	last := runlog.Last(events)
	if last == nil || last.Digest != p.Digest && !planfile.SamePath(last.Plan, p.Path) {
		return report.StateBlock(nil, nil, ""), nil
	}
	s := scheduler.NewState(p)
	if err := s.Replay(events); err != nil {
		return nil, err
	}
	return report.StateBlock(s, events, convert.PhaseNumber(p)), nil
}
