package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/secret"
)

func newRuns(std Stdio) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "runs [PLAN]",
		Short: "List the runs of the journal",
		Long: `runs lists the runs in the journal in .loop/ of the current directory (or of the
plan's project directory) and those that --fresh moved aside, the newest first:
how each ended, tasks completed, cost, time worked. wavex report RUN tells more
about one of them. (* after a cost: a subscription; the cost is not billed.)

Exit status: 0 listed, 2 there is no run here.`,
		Example:           "  wavex runs\n  wavex runs --output json\n  wavex report 20260102-030405-k3j5 --html > report.html",
		Args:              optionalArg("a plan file"),
		ValidArgsFunction: completePlan,
		RunE:              func(_ *cobra.Command, args []string) error { return runRuns(args, output, std) },
	}
	outputFlag(c, &output)
	return c
}

func runRuns(args []string, output string, std Stdio) error {
	in, _, err := findLoopDirLenient(args)
	if err != nil {
		return err
	}
	events, alive, err := runlog.ReadSettled(in)
	if err != nil {
		return err
	}
	var list []report.RunEntry
	for _, dir := range runlog.Backups(in) {
		old, alive, err := runlog.ReadSettled(dir)
		if err != nil {
			fmt.Fprintln(std.Err, "wavex: warning:", err)
			continue
		}
		for _, p := range report.Runs(old, time.Now(), alive) {
			p.MovedTo = filepath.Base(string(dir))
			list = append(list, p)
		}
	}
	list = append(list, report.Runs(events, time.Now(), alive)...)
	if len(list) == 0 {
		return runlog.NoRunError(in)
	}
	out := []byte(report.RunsTable(list, outputColumns(std.Out)))
	if output == "json" {
		if out, err = report.RunsJSON(list); err != nil {
			return err
		}
	}
	_, err = std.Out.Write(secret.New(os.Environ()).Bytes(out))
	return err
}
