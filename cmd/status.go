package cmd

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"wavex/internal/report"
)

func newStatus(std Stdio) *cobra.Command {
	var output string
	var again bool
	c := &cobra.Command{
		Use:   "status [PLAN]",
		Short: "Show where the run stands",
		Long: `status reads the journal in .loop/ of the current directory (or of the plan's
project directory) and shows each task, what was spent, and what comes next. It
may be called from anywhere while a run is under way, and changes nothing.

With --rebuild it also writes workflow-state.json, state.json and PROGRESS.md in
.loop again, from the journal; a run under way does so itself.

Exit status: 0 shown, 2 there is no run here, 5 --rebuild could not write.`,
		Example: "  wavex status\n  wavex status --output json\n  wavex status --rebuild",
		Args:    maybeArg("a plan file"),
		RunE:    func(_ *cobra.Command, args []string) error { return runStatus(args, output, again, std) },
	}
	c.Flags().BoolVar(&again, "rebuild", false, "write the files in .loop again from the journal")
	outputFlag(c, &output)
	return c
}

func runStatus(args []string, output string, again bool, std Stdio) error {
	p, err := pastRun(args)
	if err != nil {
		return err
	}
	if again {
		if err := rebuild(p.state, p.events); err != nil {
			return &blockedError{err}
		}
	}
	sum := report.Of(p.state, p.events)
	if output == "json" {
		b, err := sum.JSON()
		if err == nil {
			_, err = std.Out.Write(append(bytes.TrimRight(b, "\n"), '\n'))
		}
		return err
	}
	_, err = fmt.Fprint(std.Out, sum.Table(0, false))
	return err
}
