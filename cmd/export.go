package cmd

import (
	"context"
	"fmt"

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
		Short: "Write a plan or its state in another tool's form",
		Long: `export writes a plan as a phase plan in markdown (phase-md) or JSON
(phase-json), or the state of its run as the loop block of a STATE.md
(state-md); before the first run that block has its initial values. It lists the
parts that the form cannot hold. With --task-list it writes the plan into a task
list of Claude Code instead, which must be empty.

Exit status: 0 written, 2 the plan has mistakes.`,
		Example: "  wavex export --format phase-md plan.json -o phase.plan.md\n  wavex export --format state-md plan.json\n  wavex export --task-list my-list plan.json",
		Args:    oneArg("a plan file"),
		RunE: func(c *cobra.Command, args []string) error {
			if o.list != "" && (c.Flags().Changed("format") || o.to != "") {
				return usage("--task-list says where and how to write: leave --format and --to out")
			}
			return runExport(c.Context(), args[0], o, std)
		},
	}
	choiceFlag(c, &o.format, "format", "phase-md", []string{"phase-md", "phase-json", "state-md"}, "form of the output")
	c.Flags().StringVarP(&o.to, "to", "o", "", "file to write (default: standard output)")
	c.Flags().StringVar(&o.list, "task-list", "", "write the plan into this task list of Claude Code")
	return c
}

func runExport(ctx context.Context, path string, o exportOptions, std Stdio) error {
	p, err := planfile.Read(path, listRunID(path, false))
	if err != nil {
		return err
	}
	if o.list != "" {
		return exportList(ctx, o.list, path, p, std)
	}
	var out []byte
	var lost []string
	switch o.format {
	case "phase-json":
		out, lost = convert.WritePhaseDoc(p)
	case "state-md":
		if out, err = stateBlock(p); err != nil {
			return err
		}
	default:
		out, lost = convert.WritePhase(p)
	}
	for _, what := range lost {
		fmt.Fprintf(std.Err, "%s: warning: %s has no place in a phase plan and was left out\n", path, what)
	}
	return writeTo(o.to, out, std)
}

// stateBlock returns the loop block of a STATE.md's front matter: the values in the journal of the
// plan's project, or else the initial values.
func stateBlock(p *plan.Plan) ([]byte, error) {
	dir, err := planfile.ProjectDir(p)
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
	phase, _ := convert.PhaseNumber(p)
	return report.StateBlock(s, events, phase), nil
}
