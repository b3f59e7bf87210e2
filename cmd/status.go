package cmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/statefiles"
	"wavex/internal/ui"
	"wavex/internal/usererr"
)

type statusOptions struct {
	output                     string
	rebuild, all, ascii, plain bool
}

func newStatus(std Stdio) *cobra.Command {
	var o statusOptions
	c := &cobra.Command{
		Use:   "status [PLAN]",
		Short: "Show where the run stands",
		Long: `status reads the journal in .loop/ of the project directory (or of the plan's
project directory) and shows where each stage stands and what comes next in it,
then each task and what was spent. It may be called from anywhere while a run is
under way, and changes nothing of it. A list (foreach) has one line, and those
of its tasks that failed, run or are tried again. If more than 200 tasks are in
no list, it shows the first 200 of each status but completed, and how many it
leaves out. With --all it shows each task.

With --rebuild it also writes workflow-state.json, state.json and PROGRESS.md in
.loop again, from the journal; a run under way does so itself.

Exit status: 0 shown, 2 there is no run here, 5 --rebuild could not write.`,
		Example: "  wavex status\n  wavex status --output json\n  wavex status --rebuild",
		Args:    optionalArg("a plan file"),
		RunE:    func(c *cobra.Command, args []string) error { return runStatus(c.Context(), args, o, std) },
	}
	c.Flags().BoolVar(&o.all, "all", false, "show each task, also of lists and of large runs")
	c.Flags().BoolVar(&o.rebuild, "rebuild", false, "rebuild the files in .loop from the journal")
	c.Flags().BoolVar(&o.plain, "plain", false, "no frame, for screen readers")
	c.Flags().BoolVar(&o.ascii, "ascii", false, "use only ASCII characters")
	outputFlag(c, &o.output)
	return c
}

func runStatus(ctx context.Context, args []string, o statusOptions, std Stdio) error {
	if o.rebuild {
		if err := checkLoopOf(ctx, args); err != nil {
			return err
		}
	}
	wide := outputColumns(std.Out)
	look := ui.Options{ASCII: asciiOnly(o.ascii, std.Out, os.Getenv), Width: func() int { return cmp.Or(wide, 100) }}
	p, err := findStoredRun(args, std)
	in, path, lerr := findLoopDirLenient(args)
	if err != nil && lerr == nil && o.output == "text" && !o.rebuild {
		if shown, serr := printRequestStatus(in, look, o.plain, std); shown {
			return serr
		}
	}
	if err != nil {
		return err
	}
	if o.rebuild {
		switch err := runlog.Rebuild(p.State, p.Events); {
		case err == nil:
		case statefiles.IsWritten(err):
			fmt.Fprintln(std.Err, "wavex:", err)
		default:
			return usererr.Blocked(err)
		}
	}
	if err := p.Settle(); err != nil {
		return err
	}
	sum := report.Of(p.State, p.Events).At(time.Now(), p.Alive)
	addWaits(&sum, p)
	if o.output == "json" {
		text, err := sum.JSON()
		if err == nil {
			_, err = std.Out.Write(append(bytes.TrimRight(text, "\n"), '\n'))
		}
		return err
	}
	if o.all {
		sum.ShowAll()
	}
	st := ui.StatusOf(p.State, p.Alive)
	if st.PlanEdit, st.PlanMissing, st.PlanError = p.PlanEdit(path); st.PlanMissing {
		sum.Resume = "" // the box shows its own
	}
	if st.Plain = o.plain; st.Plain {
		wide = 0
	}
	_, err = fmt.Fprint(std.Out, ui.StatusBox(st, look)+"\n"+sum.Table(wide, look.ASCII))
	if n := gitwork.Kept(in, ""); n > 0 && !p.Alive && err == nil {
		_, err = fmt.Fprintln(std.Out, report.Plural(n, "worktree is", "worktrees are"), "kept: see wavex clean")
	}
	return err
}

// addWaits gives running tasks whose checks wait for a quiet directory this as their reason.
func addWaits(sum *report.Summary, p *runlog.History) {
	if !p.Alive {
		return
	}
	for i := range sum.Tasks {
		t := &sum.Tasks[i]
		if t.Status == event.InProgress && runlog.WaitsForQuiet(p.Files(), t.ID, t.Attempts) {
			t.Reason = "its turn has ended; its checks wait for a quiet directory"
		}
	}
}

// outputColumns returns the width of out: that of the terminal, or COLUMNS if out is not a terminal (as
// in git and ls; watch(1) and previewers set it for the commands that they run). 0 means that the
// width is unknown and nothing is cut.
func outputColumns(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
			return w
		}
	}
	w, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil || w < 1 {
		return 0
	}
	return min(w, 10_000)
}

// printRequestStatus shows a request without a run. It reports false if there is none.
func printRequestStatus(in loop.Dir, o ui.Options, plain bool, std Stdio) (bool, error) {
	s, err := pendingRequest(in)
	if err != nil || s == nil {
		return false, nil // the caller reports that there is no run
	}
	r := ui.Request{Text: s.Opened.Request, Stage: s.Stage, Origin: s.Origin, Vague: s.NotReady, Planned: s.Planned,
		Split: s.Split,
		Next:  "wavex start", Plain: plain}
	switch {
	case (s.NotReady || s.Split) && s.Opened.Config.PlanOnly:
		r.Next = "wavex plan \"...\""
	case s.NotReady, s.Split, s.Opened.Config.Offline:
		r.Next = "wavex start \"...\""
	case s.Planned && s.Opened.Config.PlanOnly:
		r.Next = "wavex run " + plan.ShellQuote(s.Opened.Config.Plan)
	case s.Opened.Config.PlanOnly:
		r.Next = "wavex plan"
	}
	_, err = std.Out.Write([]byte(ui.RequestBox(r, o)))
	return true, err
}
