package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2/maybe"
	"github.com/spf13/cobra"

	"wavex/internal/report"
	"wavex/internal/secret"
	"wavex/scheduler"
)

type reportOptions struct {
	format  string
	counsel bool
}

func newReport(std Stdio) *cobra.Command {
	var o reportOptions
	c := &cobra.Command{
		Use:   "report [PLAN]",
		Short: "Report the last run, or what panels were worth",
		Long: `report reads the journal in .loop/ of the current directory (or of the plan's
project directory) and prints the last run: every task, its attempts, checks,
cost and time. With --counsel it compares retries that had a panel's advice to
those that had none, over all runs in the journal, and says when the numbers are
too small. It changes nothing, and may be called while a run is under way.

Exit status: 0 printed, 2 there is no run here.`,
		Example: "  wavex report\n  wavex report --format junit > report.xml\n  wavex report --counsel",
		Args:    maybeArg("a plan file"),
		RunE:    func(_ *cobra.Command, args []string) error { return runReport(args, o, std) },
	}
	choiceFlag(c, &o.format, "format", "table", []string{"table", "json", "junit", "markdown"}, "form of the report")
	c.Flags().BoolVar(&o.counsel, "counsel", false, "compare retries with and without a panel (table or json)")
	return c
}

func runReport(args []string, o reportOptions, std Stdio) error {
	if o.counsel && o.format != "table" && o.format != "json" {
		return usage("--counsel has the formats table and json, not %s", o.format)
	}
	s, events, err := pastRun(args)
	if err != nil {
		return err
	}
	var out []byte
	if o.counsel {
		out, err = counselReport(report.CounselOf(events, s.Plan), o.format)
	} else {
		sum := report.Of(s, events)
		out, err = render(&sum, o.format)
	}
	if err == nil {
		_, err = std.Out.Write(secret.New(os.Environ()).Bytes(out))
	}
	return err
}

func counselReport(c report.Counsel, format string) ([]byte, error) {
	if format == "table" {
		return []byte(c.Text()), nil
	}
	b, err := json.MarshalIndent(c, "", "  ")
	return append(b, '\n'), err
}

// render writes a summary in one of the formats.
func render(sum *report.Summary, format string) ([]byte, error) {
	switch format {
	case "json":
		return sum.JSON()
	case "junit":
		return sum.JUnit()
	case "markdown", "md":
		return []byte(sum.Markdown()), nil
	}
	return []byte(sum.Table(0, false)), nil
}

// pastRun finds the run in .loop of the current directory, or of a plan's project
// directory, and gives the state that its journal leads to.
func pastRun(args []string) (*scheduler.State, []scheduler.Event, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	path := ""
	if len(args) == 1 {
		path = args[0]
		p, diags, err := loadPlan(path)
		if err != nil {
			return nil, nil, err
		}
		if p == nil {
			return nil, nil, &planError{diags}
		}
		if dir, err = projectDir(p); err != nil {
			return nil, nil, err
		}
	}
	events, err := readEvents(filepath.Join(dir, ".loop"))
	if err != nil {
		return nil, nil, err
	}
	last := lastRun(events)
	if last == nil {
		return nil, nil, usage("there is no run in %s; start one with: wavex run PLAN", filepath.Join(dir, ".loop"))
	}
	if path == "" {
		path = last.plan
	}
	p, diags, err := loadPlan(path)
	if err != nil {
		return nil, nil, err
	}
	if p == nil {
		return nil, nil, &planError{diags}
	}
	s := scheduler.NewState(p)
	err = s.Replay(events)
	s.Config.Loop = filepath.Join(dir, ".loop") // the project may have been moved since
	return s, events, err
}

// reportFile is one --report KIND=FILE.
type reportFile struct{ format, path string }

// parseReports reads the values of --report, and refuses before anything is spent what
// could not be written at the end.
func parseReports(values []string) ([]reportFile, error) {
	var out []reportFile
	for _, v := range values {
		kind, path, ok := strings.Cut(v, "=")
		switch kind {
		case "junit", "json", "md", "markdown":
		default:
			ok = false
		}
		if !ok || path == "" {
			return nil, usage("--report takes KIND=FILE with a KIND of junit, json or md, not %q", v)
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		if st, err := os.Stat(filepath.Dir(abs)); err != nil || !st.IsDir() {
			return nil, usage("--report %s: there is no directory %s", v, filepath.Dir(abs))
		}
		if st, err := os.Stat(abs); err == nil && st.IsDir() {
			return nil, usage("--report %s: %s is a directory", v, abs)
		}
		out = append(out, reportFile{kind, abs})
	}
	return out, nil
}

// reported writes the reports that were asked for, however the run ended, and passes
// the end on. A run that ended well, but whose report could not be written, needs a
// person: nobody else will miss it.
func (r *session) reported(end error) error {
	if len(r.reports) == 0 {
		return end
	}
	err := r.writeReports(end)
	if err == nil {
		return end
	}
	fmt.Fprintln(r.std.Err, "wavex: writing the report:", err)
	if end == nil {
		return exitCode(exitBlocked)
	}
	return end
}

// writeReports reads the journal back rather than the state, which still belongs to
// the loop when it was abandoned.
func (r *session) writeReports(end error) error {
	events, err := readEvents(r.config.Loop)
	if err != nil {
		return err
	}
	s := scheduler.NewState(r.plan)
	if err := s.Replay(events); err != nil {
		return err
	}
	sum := report.Of(s, events)
	if s.Ended == nil { // left at once, or the journal could not be written
		sum.Status, sum.ExitCode = "interrupted", codeOf(end)
		sum.Reason = "wavex ended before the run did"
	}
	for _, f := range r.reports {
		b, err := render(&sum, f.format)
		if err == nil {
			err = maybe.WriteFile(f.path, r.secrets.Bytes(b), 0o644)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	return nil
}
