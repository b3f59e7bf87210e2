package session

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strconv"

	"wavex/counsel"
	"wavex/internal/refuse"
	"wavex/runner"
	"wavex/scheduler"
)

// This file wires the panel: who is asked, how, and what it is shown.

// panel is who is asked about stuck tasks, changes, and criteria.
func (r *Session) panel(who *runner.Agent) (*counsel.Panel, error) {
	roster, err := counsel.LoadRoster(filepath.Join(r.config.Loop, "experts"), r.config.Blocked)
	if err != nil {
		return nil, refuse.Usage("%s", err)
	}
	p := &counsel.Panel{Caller: r.opts.Agent.Caller(who), Experts: roster, Chair: r.opts.Chair}
	if r.opts.OverAPI {
		p.Caller = &counsel.API{BaseURL: os.Getenv("ANTHROPIC_BASE_URL"), Key: os.Getenv("ANTHROPIC_API_KEY"), Model: r.apiModel(), Prices: r.opts.Prices, Secrets: r.opts.Secrets}
		p.Blind = true
	}
	return p, nil
}

// panelModel is asked over the API where neither the plan nor the environment names a
// model: of the middle class, since a panel is asked seldom and briefly.
const panelModel = "claude-sonnet-4-5"

func (r *Session) apiModel() string {
	return cmp.Or(r.plan.Defaults.Model, os.Getenv("ANTHROPIC_MODEL"), panelModel)
}

// witness shows the panel what the attempt changed. That takes a git process, which
// the loop's goroutine must not wait for; here it is a worker's.
type witness struct {
	*counsel.Panel
	session *Session
}

// Diagnose adds the diff to the case and convenes the panel.
func (w witness) Diagnose(ctx context.Context, c counsel.Case) counsel.Verdict {
	var base string
	c.Dir, base = w.session.trees.space.Place(c.Task, c.Dir)
	before := since{dir: c.Dir, base: base}
	if base == "" {
		before = w.session.since(c.Dir)
	}
	c.Diff = before.changes(ctx, c.Files)
	return w.Panel.Diagnose(ctx, c)
}

// panelCase puts a stuck task before the panel. It is called by the loop's goroutine.
func (r *Session) panelCase(s *scheduler.State, i int, e scheduler.CounselStarted) counsel.Case {
	t, p := &s.Tasks[i], &s.Plan.Tasks[i]
	c := counsel.Case{
		Run: r.config.Run, Task: p.ID, Subject: p.Subject, Description: p.Description + p.Prompt,
		Attempt: e.Attempt, Retries: max(0, s.Retries(i)-t.Tries+1),
		History: t.History, Earlier: t.Earlier, Consulted: t.Consulted, SameError: t.SameError > 1,
		Aspects: p.Aspects, Cap: e.Cap, Thorough: e.Thorough, Dir: r.workDir(s.Plan, i),
		LogDir: filepath.Join(r.taskDir(p.ID), "counsel-"+strconv.Itoa(e.Panel)),
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
