package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/safefile"
	"wavex/internal/usererr"
)

// This file tells the user that wavex writes state to .loop, and after a complete run asks whether to delete it.

// discloseState says, before the first run or request in a project, where state is written.
func discloseState(in loop.Dir, std Stdio) {
	if _, err := os.Stat(in.Path(loop.Journal)); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(std.Err, "wavex: writing state to %s, which is kept; `wavex cancel --purge` removes it\n",
			displayPath(string(in)))
	}
}

// disclose is discloseState for a run. Programs that read the events get no text.
func (r *invocation) disclose() {
	if !r.resume && r.opts.output == "text" {
		discloseState(r.config.Loop, r.std)
	}
}

// mayDelete reports whether a person can be asked to delete .loop if the run completes: once in a project, and
// never if the user's experts are there.
func (r *invocation) mayDelete() bool {
	in := r.config.Loop
	_, err := os.Stat(in.Path(loop.Experts))
	return err != nil && !r.completed && len(runlog.Backups(in)) == 0 && r.opts.output == "text" && !r.opts.yes &&
		canPrompt(r.std)
}

// askToDelete asks, if r.asks, whether to delete .loop after a complete run, and says what to do next. end is the error
// of the run. Work that was not delivered is kept.
func (r *invocation) askToDelete(ctx context.Context, end error) error {
	if !r.asks || end != nil || r.state == nil || r.state.Ended == nil || r.state.Ended.Status != event.RunComplete {
		return end
	}
	sum := report.Of(r.state, nil)
	next := sum.Next()
	d := r.state.Figures.LastDelivery
	if r.config.Isolation == event.Isolated && (d == nil || d.How == "none") || !r.terminalPrompter().promptNoYes(ctx,
		fmt.Sprintf("Delete %s? Its report, logs and costs would be lost, and the next run would do everything again.",
			displayPath(string(r.config.Loop)))) {
		fmt.Fprintln(r.std.Err, next)
		return nil
	}
	lock, err := runlog.Lock(r.config.Loop, r.config.Run)
	if err != nil {
		return err
	}
	if err := removeState(ctx, r.config.Dir, r.config.Loop, lock.Unlock, r.std); err != nil {
		return err
	}
	if r.agent.IsRehearsal() { // else it is about the report, which is gone
		fmt.Fprintln(r.std.Err, next)
	}
	return nil
}

// removeState removes the worktrees of a project and its .loop, whose lock the caller holds.
func removeState(ctx context.Context, dir string, in loop.Dir, unlock func() error, std Stdio) error {
	items, err := gitwork.Clean(ctx, dir, "", false)
	_ = unlock() // some systems cannot remove an open file
	if err != nil {
		return usererr.Blocked(fmt.Errorf("removing worktrees: %w; .loop was not removed", err))
	}
	for _, it := range items {
		if !it.Removed && it.Kind != "branch" {
			return usererr.Blocked(fmt.Errorf("%s stays: %s; .loop was not removed", it.Name, it.Why))
		}
	}
	if err := safefile.RemoveAll(string(in)); err != nil {
		if left, unread := os.ReadDir(string(in)); unread != nil || len(left) > 0 {
			return err
		}
		fmt.Fprintf(std.Err, "emptied %s; the directory itself stays: %v\n", in, err) // a mount
		return nil
	}
	fmt.Fprintf(std.Err, "removed %s\n", in)
	return nil
}
