package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/secret"
)

func newRuns(std Stdio) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "runs [PLAN]",
		Short: "List the runs of the journal",
		Long: `runs lists the runs in the journal in .loop/ of the project directory (or of the
plan's project directory) and those that --fresh moved aside, the newest first:
how each ended, tasks completed, cost, time worked. wavex report RUN tells more
about one of them. (* after a cost: a subscription; the cost is not billed.)

Exit status: 0 listed, 2 there is no run here.`,
		Example: "  wavex runs\n  wavex runs --output json\n  wavex report 20260102-030405-k3j5 --html > report.html",
		Args:    optionalArg("a plan file"),
		RunE:    func(_ *cobra.Command, args []string) error { return runRuns(args, output, std) },
	}
	outputFlag(c, &output)
	return c
}

func runRuns(args []string, output string, std Stdio) error {
	var list []report.RunEntry
	err := eachJournal(args, std, func(movedTo string, events []event.Event, alive bool) {
		for _, p := range report.Runs(events, time.Now(), alive) {
			p.MovedTo = movedTo
			list = append(list, p)
		}
	}, func() bool { return len(list) > 0 })
	if err != nil {
		return err
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

// eachJournal calls do for the journals that --fresh moved aside, with the names of their directories, and then for
// the one in .loop. If found is false after that, it returns the error that there is no run.
func eachJournal(args []string, std Stdio, do func(movedTo string, events []event.Event, alive bool),
	found func() bool) error {
	in, _, err := findLoopDirLenient(args)
	if err != nil {
		return err
	}
	std.tellPlace(filepath.Dir(string(in)))
	for _, dir := range runlog.Backups(in) {
		events, alive, err := runlog.ReadSettled(dir)
		if err != nil {
			fmt.Fprintln(std.Err, "wavex: warning:", err)
			continue
		}
		do(filepath.Base(string(dir)), events, alive)
	}
	events, alive, err := runlog.ReadSettled(in)
	if err != nil {
		return err
	}
	if do("", events, alive); !found() {
		return runlog.NoRunError(in)
	}
	return nil
}
