package run

import (
	"fmt"
	"path/filepath"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/planfile"
)

// This file pauses a run whose project's directory was moved or replaced. Paths of the run name the old place, so
// nothing starts any more. Work under way goes on in the open directory; its turn's end is recorded there, and its
// checks are left to a resume.

// obstacle returns the stop of a run whose project was moved, or nil.
func (r *Session) obstacle() *event.Stop {
	e := r.journal.Moved()
	if e == nil {
		return nil
	}
	advice := "put it back at that path, then resume"
	if path := r.opts.Plan.Path; e.To != "" && !planfile.IsList(path) {
		if rel, err := filepath.Rel(e.From, r.plan.AbsPath()); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		advice = fmt.Sprintf("nothing is lost: move it back and resume, or go on there: cd %s && %s",
			plan.ShellQuote(e.To), event.ResumeCommand(plan.ShellQuote(path), nil))
	}
	return event.NewStop(event.RunBlocked, e.Error(), advice)
}
