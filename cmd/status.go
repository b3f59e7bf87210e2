package cmd

import (
	"bytes"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"wavex/internal/report"
	"wavex/internal/ui"
)

func newStatus(std Stdio) *cobra.Command {
	var output string
	var again, ascii, plain bool
	c := &cobra.Command{
		Use:   "status [PLAN]",
		Short: "Show where the run stands",
		Long: `status reads the journal in .loop/ of the current directory (or of the plan's
project directory) and shows where each stage stands and what comes next in it,
then each task and what was spent. It may be called from anywhere while a run is
under way, and changes nothing.

With --rebuild it also writes workflow-state.json, state.json and PROGRESS.md in
.loop again, from the journal; a run under way does so itself.

Exit status: 0 shown, 2 there is no run here, 5 --rebuild could not write.`,
		Example: "  wavex status\n  wavex status --output json\n  wavex status --rebuild",
		Args:    maybeArg("a plan file"),
		RunE:    func(_ *cobra.Command, args []string) error { return runStatus(args, output, again, ascii, plain, std) },
	}
	c.Flags().BoolVar(&again, "rebuild", false, "write the files in .loop again from the journal")
	c.Flags().BoolVar(&plain, "plain", false, "no frame, for screen readers")
	c.Flags().BoolVar(&ascii, "ascii", false, "no character beyond ASCII")
	outputFlag(c, &output)
	return c
}

func runStatus(args []string, output string, again, ascii, plain bool, std Stdio) error {
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
	columns := 100
	if out, ok := std.Out.(*os.File); ok {
		if w, _, err := term.GetSize(int(out.Fd())); err == nil && w > 0 {
			columns = w
		}
	}
	st := p.standing()
	st.Plain = plain
	box := ui.Box(st, ui.Options{ASCII: ascii, Width: func() int { return columns }})
	_, err = fmt.Fprint(std.Out, box+"\n"+sum.Table(0, ascii))
	return err
}
