package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/report/page"
	"wavex/internal/runlog"
	"wavex/internal/secret"
	"wavex/internal/ui"
	"wavex/scheduler"
)

type reportOptions struct {
	format string
	html   bool
	all    bool // tables show each task
}

func newReport(std Stdio) *cobra.Command {
	var o reportOptions
	c := &cobra.Command{
		Use:   "report [PLAN|RUN]",
		Short: "Report the last run",
		Long: `report reads the journal in .loop/ of the project directory (or of the plan's
project directory) and prints the last run, or the one whose id is given: every
task, its attempts, checks, cost and time. The table has one row for a list
(foreach), and for those of its tasks that failed, run or are tried again; with
--all it has each task, also of a large run. With --html it is one page that
needs no network, with the graph, the timeline, and all prompts and edits. It
changes nothing of a run, and may be called while one is under way.

Exit status: 0 printed, 2 there is no such run here.`,
		Example: `  wavex report
  wavex report --html > report.html
  wavex report --format junit > report.xml`,
		Args: optionalArg("a plan file or the id of a run"),
		RunE: func(_ *cobra.Command, args []string) error {
			if o.html {
				o.format = "html"
			}
			return runReport(args, o, std)
		},
	}
	choiceFlag(c, &o.format, "format", "table", []string{"table", "json", "junit", "markdown", "html"},
		"form of the report")
	c.Flags().BoolVar(&o.html, "html", false, "the same as --format html")
	c.Flags().BoolVar(&o.all, "all", false, "show each task, also of lists and of large runs (table or markdown)")
	return c
}

func runReport(args []string, o reportOptions, std Stdio) error {
	now, secrets := time.Now(), secret.New(os.Environ())
	past, err := findRunOrArchived(args, std)
	if err != nil {
		return err
	}
	sum := report.Of(past.State, past.Events).At(now, past.Alive)
	if o.format == "json" { // one task after the other
		out := secrets.Writer(std.Out)
		return errors.Join(sum.WriteJSON(out), out.Close())
	}
	if o.all {
		sum.ShowAll()
	}
	var out []byte
	if o.format == "table" {
		out = []byte(sum.Table(outputColumns(std.Out), asciiOnly(false, std.Out, os.Getenv)))
	} else if out, err = renderReport(past, &sum, o.format, secrets); err != nil {
		return err
	}
	_, err = std.Out.Write(secrets.Bytes(out))
	return err
}

// renderReport returns a run in one of the formats. sum is the run's summary. The caller removes the secrets outside
// the compressed parts.
func renderReport(p *runlog.History, sum *report.Summary, format string, secrets *secret.Redactor) ([]byte, error) {
	switch format {
	case "json":
		return sum.JSON()
	case "junit":
		return sum.JUnit()
	case "markdown", "md":
		return []byte(sum.Markdown()), nil
	case "html":
		var b bytes.Buffer
		r := page.Of(p.State, p.Events, time.Now(), p.Alive)
		if r.Status == event.RunCutOff && sum.Status != event.RunRunning {
			r.Status, r.Reason = sum.Status, sum.Reason
		}
		err := page.Write(&b, r, page.DetailsOf(p.State, p.Events, p.Files()), secrets.Bytes)
		return b.Bytes(), err
	}
	return []byte(sum.Table(0, false)), nil
}

// reportFile is one --report KIND=FILE.
type reportFile struct{ format, path string }

// parseReports parses the values of --report, which errors call flag. It refuses files that could not be written at the
// end, before anything is spent.
func parseReports(flag string, values []string) ([]reportFile, error) {
	var out []reportFile
	for _, v := range values {
		kind, path, _ := strings.Cut(v, "=")
		if !slices.Contains([]string{"junit", "json", "md", "markdown", "html"}, kind) || path == "" {
			return nil, usage("%s takes KIND=FILE with a KIND of html, junit, json or md, not %q", flag, v)
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		if st, err := os.Stat(filepath.Dir(abs)); err != nil || !st.IsDir() {
			return nil, usage("%s %s: there is no directory %s", flag, v, filepath.Dir(abs))
		}
		if st, err := os.Stat(abs); err == nil && st.IsDir() {
			return nil, usage("%s %s: %s is a directory", flag, v, abs)
		}
		out = append(out, reportFile{kind, abs})
	}
	return out, nil
}

// withReports writes the requested reports, however the run ended, and returns end. If a run ended
// well but its report could not be written, a person must act, because a missing report is easily
// overlooked.
func (r *invocation) withReports(end error) error {
	if len(r.reports) == 0 && !onGitHub() {
		return end
	}
	err := r.writeReports(end)
	if err == nil {
		return end
	}
	fmt.Fprintln(r.std.Err, "wavex: writing the report:", err)
	if end == nil {
		return exitCode(event.ExitBlocked)
	}
	return end
}

// writeReports reads the journal again. It does not use the state, which still belongs to the loop
// if the loop was abandoned.
func (r *invocation) writeReports(end error) error {
	events, err := runlog.Read(r.config.Loop)
	if err != nil {
		return err
	}
	s := scheduler.NewState(r.plan)
	if err := s.Replay(events); err != nil {
		return err
	}
	p := &runlog.History{Loop: r.config.Loop, State: s, Events: events}
	sum := report.Of(s, events)
	if s.Ended == nil { // left at once, or the journal could not be written
		sum.Status, sum.ExitCode = event.RunInterrupted, exitCodeOf(end)
		sum.Reason = "wavex ended before the run did"
	}
	if onGitHub() {
		if err := r.reportToGitHub(&sum); err != nil {
			return err
		}
	}
	for _, f := range r.reports {
		b, err := renderReport(p, &sum, f.format, r.secrets)
		if err == nil {
			err = writeTo(f.path, r.secrets.Bytes(b), r.std)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	return nil
}

// webhookSecretVar is the environment variable of the key that signs the messages to all webhooks.
const webhookSecretVar = "WAVEX_WEBHOOK_SECRET"

// parseWebhooks parses the values of the setting webhook, which errors call by name. No plan has receivers.
func parseWebhooks(name string, values []string) (out []ui.Webhook, err error) {
	for _, v := range values {
		h, err := ui.ParseWebhook(v)
		if err != nil {
			return nil, usage("%s: %s", name, err)
		}
		out = append(out, h)
	}
	return out, nil
}
