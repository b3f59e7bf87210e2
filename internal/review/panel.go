package review

import (
	"context"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/scheduler"
)

// This file convenes the panel for stuck tasks. It makes the case.

// diffPanel adds the changes of the attempt to the panel's case. That needs a git process, which the
// loop's goroutine must not wait for; a worker's goroutine calls Diagnose.
type diffPanel struct {
	*counsel.Panel
	coordinator *Coordinator
}

// Diagnose adds the diff to the case and convenes the panel.
func (w diffPanel) Diagnose(ctx context.Context, c counsel.Case) counsel.Verdict {
	dir, base, done := w.coordinator.opts.Workspace.AttemptDir(ctx, c.Task, c.Dir)
	defer done()
	c.Dir = dir
	from := baseline{dir: c.Dir, base: base}
	if base == "" {
		var end func()
		var err error
		if from, end, err = w.coordinator.baselineOf(ctx, c.Dir); err != nil {
			return w.Panel.Diagnose(ctx, c)
		}
		defer end()
	}
	c.Diff, _ = from.describeFiles(ctx, c.Files) // on an error the rest is left out
	return w.Panel.Diagnose(ctx, c)
}

// PreparePanel returns the case of a stuck task. The loop's goroutine calls it.
func (h *Coordinator) PreparePanel(s *scheduler.State, i int, e event.CounselStarted) counsel.Case {
	t, p := &s.Tasks[i], &s.Plan.Tasks[i]
	c := counsel.Case{
		Task: p.ID, Subject: p.Subject, Description: p.Description + p.Prompt,
		Attempt: e.Attempt, Retries: max(0, s.Retries(i)-t.Tries+1),
		History: t.History, PastAdvice: t.PastAdvice, Consulted: t.Consulted, SameError: t.SameError > 1,
		Aspects: p.Aspects, Cap: e.Cap, Thorough: e.Thorough, Dir: s.Plan.Tasks[i].WorkDir(h.opts.Config.Dir),
		LogDir: h.opts.Config.Loop.Task(h.opts.Config.Run, p.ID, loop.Panel(e.Panel)),
	}
	if t.Advice != nil {
		c.PastAdvice = append(c.PastAdvice[:len(c.PastAdvice):len(c.PastAdvice)], t.Advice.Advice())
	}
	if l := t.Last; l != nil {
		c.Outcome, c.Reason, c.Detail = l.Outcome, l.Reason, l.Detail
		c.Report, c.Checks = l.Report, l.Checks
	}
	for _, f := range p.Files {
		c.Files = append(c.Files, f.Path)
	}
	for _, m := range s.Plan.MustNot {
		c.MustNot = append(c.MustNot, m.Text)
	}
	return c
}
