package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"wavex/internal/journal"
	"wavex/internal/record"
	"wavex/internal/report"
	"wavex/scheduler"
)

// This file is the one question that wavex asks: what shall become of an unfinished
// run. It is asked of a person at a terminal only; where nobody sits, stdin is never
// read.

// mayAsk tells whether a person can be asked: nothing on the command line answered
// already, the output is for people, and there is a terminal at both ends.
func (r *launch) mayAsk() bool {
	o := r.opts
	if o.resuming || o.resume || o.fresh || o.output != "text" || o.changed("if-unfinished") {
		return false
	}
	return r.std.interactive()
}

// interactive tells whether a person can be asked.
func (s Stdio) interactive() bool {
	if s.Terminal != nil {
		return s.Terminal()
	}
	return os.Getenv("CI") == "" && isTerminal(s.In) && isTerminal(s.Err)
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// ask asks whether the unfinished run shall be resumed (LEDGER S0-45): yes, no for a
// fresh start, or its status first, after which it asks again. No answer at all is an
// answer too: nothing is started.
func (r *launch) ask(past []scheduler.Event, last *record.Run) (resume bool, err error) {
	s := scheduler.NewState(r.plan)
	if err := s.Replay(past); err != nil {
		return false, err
	}
	sum := report.Of(s, past)
	fmt.Fprintf(r.std.Err, "An unfinished run of %s is here: %d of %s completed, %s spent", last.Plan,
		sum.Counts.Completed, report.Plural(len(sum.Tasks), "task", "tasks"), sum.Cost.Spent())
	if sum.Reason != "" {
		fmt.Fprintf(r.std.Err, " (%s)", sum.Reason)
	}
	fmt.Fprint(r.std.Err, ".\n[Y]es resumes it, [n]o starts afresh and keeps the old run aside.\n")
	in := bufio.NewReader(r.std.In)
	r.std.In, r.std.Terminal = in, func() bool { return true } // later questions go on reading here
	for {
		fmt.Fprint(r.std.Err, "Resume the run? [Y/n/status] ")
		line, err := in.ReadString('\n')
		if err != nil && !(errors.Is(err, io.EOF) && strings.TrimSpace(line) != "") {
			fmt.Fprintln(r.std.Err)
			return false, usage("no answer, so nothing was started; --resume or --fresh answers beforehand")
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "", "y", "yes", "r", "resume":
			return true, nil
		case "n", "no", "f", "fresh":
			return false, nil
		case "s", "status":
			fmt.Fprint(r.std.Err, "\n", sum.Table(0, r.opts.ascii), "\n")
		default:
			fmt.Fprintln(r.std.Err, "Please answer yes, no or status.")
		}
	}
}

// unfinished decides on a person's behalf, or asks, what becomes of an unfinished run. A
// run that is under way is refused before anybody is asked about it.
func (r *launch) unfinished(past []scheduler.Event, last *record.Run, dir string) (*scheduler.Config, error) {
	if !r.mayAsk() {
		return &last.Config, nil
	}
	if err := journal.Free(filepath.Join(dir, ".loop")); err != nil {
		return nil, err
	}
	resume, err := r.ask(past, last)
	if err != nil {
		return nil, err
	}
	if !resume {
		r.opts.fresh = true
		return nil, nil
	}
	return &last.Config, nil
}
