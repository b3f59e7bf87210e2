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

// This file convenes the panel for stuck tasks: who is asked, how, and what it is shown.

// panelModel is asked over the API where neither the plan nor the environment names a
// model: of the middle class, since a panel is asked seldom and briefly.
const panelModel = "claude-sonnet-4-5"

func (h *Hearing) apiModel() string {
	return cmp.Or(h.o.Plan.Defaults.Model, os.Getenv("ANTHROPIC_MODEL"), panelModel)
}

// witness shows the panel what the attempt changed. That takes a git process, which
// the loop's goroutine must not wait for; here it is a worker's.
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
	c.Diff, _ = before.changes(ctx, c.Files) // what cannot be had is left out
	return w.Panel.Diagnose(ctx, c)
}

// panelCase puts a stuck task before the panel. It is called by the loop's goroutine.
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
		c.Outcome, c.Reason, c.Detail, c.Report, c.Checks, c.Signature = l.Outcome, l.Reason, l.Detail, l.Report, l.Checks, l.Signature
	}
	for _, f := range p.Files {
		c.Files = append(c.Files, f.Path)
	}
	for _, m := range s.Plan.MustNot {
		c.MustNot = append(c.MustNot, m.Text)
	}
	return c
}

// recoverPanel stops what is left of a panel that an earlier wavex convened and did not
// see end, then prices its calls by their streams. The panel counts at its cap where one
// of them cannot be priced.
func (h *Hearing) recoverPanel(ctx context.Context, e scheduler.CounselStarted) counsel.Verdict {
	// This session has started nothing yet, so whatever carries the run's mark is old.
	_, _ = proc.Sweep(ctx, h.o.Config.Run) // what cannot be ended is found again after each attempt
	return h.lost().Panel(e)
}

func (h *Hearing) lost() record.Lost {
	return record.Lost{Loop: h.o.Config.Loop, Run: h.o.Config.Run, Prices: h.o.Prices}
}
