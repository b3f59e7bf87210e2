package hearing

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strconv"

	"wavex/counsel"
	"wavex/internal/proc"
	"wavex/internal/record"
	"wavex/scheduler"
)

// This file convenes the panel for stuck tasks. It chooses the model and makes the case.

// panelModel is asked over the API if neither the plan nor the environment names a model. It is of
// the middle class, since a panel is asked rarely and briefly.
const panelModel = "claude-sonnet-4-5"

func (h *Hearing) apiModel() string {
	return cmp.Or(h.o.Plan.Defaults.Model, os.Getenv("ANTHROPIC_MODEL"), panelModel)
}

// witness adds the changes of the attempt to the panel's case. That needs a git process, which the
// loop's goroutine must not wait for; a worker's goroutine calls Diagnose.
type witness struct {
	*counsel.Panel
	of *Hearing
}

// Diagnose adds the diff to the case and convenes the panel.
func (w witness) Diagnose(ctx context.Context, c counsel.Case) counsel.Verdict {
	var base string
	c.Dir, base = w.of.o.Site.Place(c.Task, c.Dir)
	before := since{dir: c.Dir, base: base}
	if base == "" {
		before = w.of.since(c.Dir)
	}
	c.Diff, _ = before.changes(ctx, c.Files) // on an error the rest is left out
	return w.Panel.Diagnose(ctx, c)
}

// panelCase returns the case of a stuck task. The loop's goroutine calls it.
func (h *Hearing) panelCase(s *scheduler.State, i int, e scheduler.CounselStarted) counsel.Case {
	t, p := &s.Tasks[i], &s.Plan.Tasks[i]
	c := counsel.Case{
		Run: h.o.Config.Run, Task: p.ID, Subject: p.Subject, Description: p.Description + p.Prompt,
		Attempt: e.Attempt, Retries: max(0, s.Retries(i)-t.Tries+1),
		History: t.History, Earlier: t.Earlier, Consulted: t.Consulted, SameError: t.SameError > 1,
		Aspects: p.Aspects, Cap: e.Cap, Thorough: e.Thorough, Dir: s.Plan.Tasks[i].WorkDir(h.o.Config.Dir),
		LogDir: filepath.Join(record.TaskDir(h.o.Config.Loop, h.o.Config.Run, p.ID), "counsel-"+strconv.Itoa(e.Panel)),
	}
	if t.Advice != nil {
		c.Earlier = append(c.Earlier[:len(c.Earlier):len(c.Earlier)], t.Advice.Advice())
	}
	if l := t.Last; l != nil {
		c.Outcome, c.Reason, c.Detail = l.Outcome, l.Reason, l.Detail
		c.Report, c.Checks, c.Signature = l.Report, l.Checks, l.Signature
	}
	for _, f := range p.Files {
		c.Files = append(c.Files, f.Path)
	}
	for _, m := range s.Plan.MustNot {
		c.MustNot = append(c.MustNot, m.Text)
	}
	return c
}

// recoverPanel stops the processes of a panel that an earlier wavex convened and whose end it did
// not record, then prices its calls by their streams. If one of them cannot be priced, the panel
// costs its cap.
func (h *Hearing) recoverPanel(ctx context.Context, e scheduler.CounselStarted) counsel.Verdict {
	// This session has started no process yet, so every process with the run's mark is old.
	_, _ = proc.Sweep(ctx, h.o.Config.Run) // a process that survives is found again after each attempt
	return h.lost().Panel(e)
}

func (h *Hearing) lost() record.Lost {
	return record.Lost{Loop: h.o.Config.Loop, Run: h.o.Config.Run, Prices: h.o.Prices}
}
