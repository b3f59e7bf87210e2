package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"wavex/internal/async"
	"wavex/internal/event"
	"wavex/internal/hook"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/textfmt"
	"wavex/internal/usererr"
	"wavex/scheduler"
)

type cancelOptions struct {
	purge bool
	wait  time.Duration
}

func newCancel(std Stdio) *cobra.Command {
	var o cancelOptions
	c := &cobra.Command{
		Use:   "cancel [PLAN]",
		Short: "Give up the unfinished run",
		Long: `cancel ends the run in .loop/ of the project directory (or of the plan's project
directory) for good: it cannot be resumed, sessions of Claude Code are no longer
held by it. A wavex at work is asked to stop first, with its running attempts
interrupted, and waited for. The files stay; --purge removes .loop, also that of
a request without a run.

Exit status: 0 cancelled, 2 there is no unfinished run, 5 the wavex at work did
not stop.`,
		Example: "  wavex cancel\n  wavex cancel --purge",
		Args:    optionalArg("a plan file"),
		RunE:    func(c *cobra.Command, args []string) error { return runCancel(c.Context(), args, o, std) },
	}
	c.Flags().BoolVar(&o.purge, "purge", false, "remove .loop with the records of all past runs")
	c.Flags().DurationVar(&o.wait, "wait", time.Minute, "how long to wait for the running wavex to stop")
	return c
}

func runCancel(ctx context.Context, args []string, o cancelOptions, std Stdio) error {
	if err := checkLoopOf(ctx, args); err != nil {
		return err
	}
	if in, is := requestWithoutRun(args); is && o.purge {
		std.tellPlace(filepath.Dir(string(in)))
		return purgeRequest(ctx, in, o.wait, std)
	}
	p, err := findStoredRun(args, std)
	if err != nil {
		return err
	}
	in := p.Loop
	if err := signalOwner(ctx, in, o.wait, std); err != nil {
		return err
	}
	lock, err := runlog.Lock(in, p.State.Config.Run)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	if p, err = runlog.LoadForDisplay(in, p.State.Plan.Path, ""); err != nil { // the run continued until it stopped
		return err
	}
	if last := runlog.Last(p.Events); last.Final() {
		if !o.purge {
			return usage("run %s is over already (%s); there is nothing to cancel", last.Config.Run, last.Ended.Status)
		}
	} else if err := cancelRun(ctx, p, std); err != nil {
		return err
	}
	if !o.purge {
		return nil
	}
	return removeState(ctx, p.State.Config.Dir, in, lock.Unlock, std)
}

// requestWithoutRun returns the .loop directory that the arguments name, if its journal has no run, but a request.
func requestWithoutRun(args []string) (in loop.Dir, is bool) {
	in, _, err := findLoopDirLenient(args)
	if err != nil {
		return "", false
	}
	events, err := runlog.Read(in)
	return in, err == nil && len(events) > 0 && runlog.Last(events) == nil
}

// purgeRequest removes a .loop directory that has no run.
func purgeRequest(ctx context.Context, in loop.Dir, wait time.Duration, std Stdio) error {
	if err := signalOwner(ctx, in, wait, std); err != nil {
		return err
	}
	lock, err := runlog.Lock(in, "")
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	return removeState(ctx, filepath.Dir(string(in)), in, lock.Unlock, std)
}

// signalOwner asks the wavex process that holds the folder to stop, with the signals that its user
// would send: the first to start nothing more, the second, once the journal records the first, to
// interrupt running attempts.
func signalOwner(ctx context.Context, in loop.Dir, wait time.Duration, std Stdio) error {
	pid, err := journal.LockOwner(in)
	if err != nil {
		return usererr.Blocked(err)
	}
	if pid == 0 {
		return nil
	}
	self, err := os.FindProcess(pid)
	if err == nil {
		err = self.Signal(syscall.SIGTERM)
	}
	if err != nil {
		return usererr.Blocked(fmt.Errorf(
			"wavex process %d is at work and cannot be asked to stop (%w); stop it, then cancel again", pid, err))
	}
	fmt.Fprintf(std.Err, "wavex process %d is asked to stop\n", pid)
	late, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	asked := false
	for {
		now, err := journal.LockOwner(in)
		if err == nil && now != pid {
			return nil // the next TryLock finds the other process
		}
		if err == nil && !asked && isDraining(in) {
			asked = true
			_ = self.Signal(syscall.SIGTERM) // if it is gone, the next look sees it
		}
		if async.Sleep(late, 50*time.Millisecond) != nil {
			return usererr.Blocked(fmt.Errorf("wavex process %d still works at it after %s; stop it, then cancel again", pid,
				wait))
		}
	}
}

// askOwner asks the wavex at work in a .loop directory to start nothing more, or to interrupt its attempts too, and
// returns the answer for the person who asks.
func askOwner(in loop.Dir, interrupt bool) string {
	h, err := journal.LockHolder(in)
	pid := h.PID
	switch {
	case err != nil:
		return "the wavex at work cannot be found: " + err.Error()
	case pid == 0:
		return "no wavex is at work"
	case !interrupt && drainSignal == nil:
		return "this system has no signal that drains"
	case !interrupt && !h.Drains:
		return fmt.Sprintf("wavex process %d cannot drain: it is an older wavex, or no run; it can be stopped", pid)
	}
	s, words := drainSignal, "asked to start nothing more; running attempts may finish"
	if interrupt {
		s, words = syscall.SIGTERM, "asked to interrupt its running attempts"
	}
	owner, err := os.FindProcess(pid)
	if err == nil {
		err = owner.Signal(s)
	}
	if err != nil {
		return fmt.Sprintf("wavex process %d cannot be asked to stop: %v", pid, err)
	}
	return fmt.Sprintf("wavex process %d is %s", pid, words)
}

// isDraining reports whether the journal says that a signal has stopped the session.
func isDraining(in loop.Dir) bool {
	events, err := runlog.Read(in)
	if err != nil {
		return false
	}
	for i := len(events) - 1; i >= 0; i-- {
		if stop, _ := events[i].Stops(); stop != nil && stop.Status == event.RunInterrupted {
			return true
		} else if events[i].Beginning() != nil {
			return false
		}
	}
	return false
}

// cancelRun ends the run's remaining processes and records the end of the run.
func cancelRun(ctx context.Context, p *runlog.History, std Stdio) error {
	run := p.State.Config.Run
	if _, err := proc.Sweep(ctx, run); err != nil && !errors.Is(err, proc.ErrUnsupported) {
		fmt.Fprintln(std.Err, "wavex: warning:", err)
	}
	var end event.RunEnded
	var ends []func() event.Body
	var away []string // attempts that no wavex awaits any more
	for _, b := range runlog.UnfinishedEnds(p.State, p.Loop) {
		ends = append(ends, func() event.Body { return b })
		w := event.Event{Body: b}.Ends()
		if w.Kind == event.Attempt && !w.Charged && p.State.Config.Workers.Engine != "" {
			away = append(away, w.Task)
		}
	}
	a := runlog.Appender{State: p.State, Events: p.Events}
	if err := a.Append(std.Err, append(ends, func() event.Body {
		end = scheduler.EndAfterCancel(p.State)
		return end
	})...); err != nil {
		return err
	}
	_ = hook.WriteEnd(p.Loop, end) // without a card, hooks let every session go
	if len(away) > 0 {
		fmt.Fprintf(std.Err, "wavex: warning: attempts that are with workers may go on to their limits, and count at "+
			"their caps: %s\n", textfmt.Line(event.ListTasks(away, 0)))
	}
	sum := report.Of(p.State, nil)
	fmt.Fprintf(std.Err, "cancelled run %s: %s, %s spent\n", run, sum.Done(), end.Cost.Spent())
	return nil
}
