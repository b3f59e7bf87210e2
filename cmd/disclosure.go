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
	"wavex/internal/runlog"
	"wavex/internal/usererr"
)

// This file tells the user that wavex writes state to .loop, and deletes the state of a complete run if a person
// asked for that.

// discloseState says, before the first run or request in a project, where state is written. It asks p whether to
// delete the state after a complete run; nil: there is no person, and the state is kept.
func discloseState(ctx context.Context, in loop.Dir, p *prompter, std Stdio) (remove bool) {
	if _, err := os.Stat(in.Path(loop.Journal)); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	where := displayPath(string(in))
	if _, err := os.Stat(in.Path(loop.Experts)); err == nil {
		p = nil // they are the user's
	}
	if p != nil {
		return p.promptNoYes(ctx, fmt.Sprintf("Writing state to %s. Delete it after a complete run?", where))
	}
	fmt.Fprintf(std.Err, "wavex: writing state to %s, which is kept; `wavex cancel --purge` removes it\n", where)
	return false
}

// disclose is discloseState for a run. Programs that read the events get no text.
func (r *invocation) disclose(ctx context.Context) {
	o := r.opts
	if r.resume || o.output != "text" {
		return
	}
	var p *prompter
	if !o.yes && canPrompt(r.std) {
		p = r.terminalPrompter()
	}
	if discloseState(ctx, r.config.Loop, p, r.std) {
		r.opts.deleteState = true
	}
}

// deleteState removes .loop after a complete run if the person at the terminal asked for that.
func (r *invocation) deleteState(ctx context.Context, end error) error {
	switch in := r.config.Loop; {
	case !r.opts.deleteState:
		return end
	case end != nil || r.state == nil || r.state.Ended == nil || r.state.Ended.Status != event.RunComplete:
		fmt.Fprintln(r.std.Err, "wavex: the run is not complete, so its state is kept; `wavex cancel --purge` removes it")
		return end
	default:
		lock, err := runlog.Lock(in, r.config.Run)
		if err != nil {
			return err
		}
		return removeState(ctx, r.config.Dir, in, lock.Unlock, r.std)
	}
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
	if err := os.RemoveAll(string(in)); err != nil {
		if left, unread := os.ReadDir(string(in)); unread != nil || len(left) > 0 {
			return err
		}
		fmt.Fprintf(std.Err, "emptied %s; the directory itself stays: %v\n", in, err) // a mount
		return nil
	}
	fmt.Fprintf(std.Err, "removed %s\n", in)
	return nil
}
