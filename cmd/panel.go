package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"wavex/counsel"
	"wavex/internal/rehearse"
	"wavex/runner"
	"wavex/scheduler"
)

// This file wires the panel: who is asked, how, and what it is shown.

// panel is who is asked about stuck tasks, changes, and criteria.
func (r *session) panel(who *runner.Agent) (*counsel.Panel, error) {
	roster, err := counsel.LoadRoster(filepath.Join(r.config.Loop, "experts"), r.config.Blocked)
	if err != nil {
		return nil, usage("%s", err)
	}
	p := &counsel.Panel{Caller: caller{who, r.agent.scenario}, Experts: roster, Chair: r.opts.chair}
	if r.overAPI() {
		p.Caller = &counsel.API{BaseURL: os.Getenv("ANTHROPIC_BASE_URL"), Key: os.Getenv("ANTHROPIC_API_KEY"), Model: r.apiModel(), Prices: r.prices, Secrets: r.secrets}
		p.Blind = true
	}
	return p, nil
}

// overAPI tells whether experts are asked without the CLI; a rehearsal asks nobody.
func (r *session) overAPI() bool { return r.opts.counselVia == "api" && r.agent.name != "rehearse" }

// refuseKeyless refuses a panel that could ask nobody, before anything is written.
func (r *session) refuseKeyless() error {
	if r.overAPI() && os.Getenv("ANTHROPIC_API_KEY") == "" {
		return &blockedError{errors.New("--counsel-via api needs ANTHROPIC_API_KEY; without it, leave the flag out")}
	}
	return nil
}

// panelModel is asked over the API where neither the plan nor the environment names a
// model: of the middle class, since a panel is asked seldom and briefly.
const panelModel = "claude-sonnet-4-5"

func (r *session) apiModel() string {
	return cmp.Or(r.plan.Defaults.Model, os.Getenv("ANTHROPIC_MODEL"), panelModel)
}

// witness shows the panel what the attempt changed. That takes a git process, which
// the loop's goroutine must not wait for; here it is a worker's.
type witness struct {
	*counsel.Panel
	session *session
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

// caller puts a panel's questions to the agent; in a rehearsal the scenario says what
// is answered.
type caller struct {
	*runner.Agent
	scenario *rehearse.Scenario
}

// Ask makes one lean call.
func (c caller) Ask(ctx context.Context, q runner.Question) runner.Answer {
	if c.Rehearsal {
		q.Rehearse = c.scenario.Panel(q.Name, standIn(q))
	}
	return c.Agent.Ask(ctx, q)
}

// standIn is what the rehearsal agent answers where no scenario says otherwise: nothing
// to mend, and a blocker, which only a scenario can have made up, stands.
func standIn(q runner.Question) json.RawMessage {
	kind, _, _ := strings.Cut(q.Name, "/")
	switch {
	case q.Rehearse != nil:
	case kind == "review":
		return block(map[string]any{"score": 8, "findings": []any{}})
	case kind == "precheck":
		return block(map[string]any{"verdict": "go", "reason": "a rehearsal: nobody has looked for a reason against it"})
	case kind == "refute":
		return block(map[string]any{"refuted": false, "reason": "a rehearsal: nobody has tried to refute it"})
	}
	return q.Rehearse
}

// panelCase puts a stuck task before the panel. It is called by the loop's goroutine.
func (r *session) panelCase(s *scheduler.State, i int, e scheduler.CounselStarted) counsel.Case {
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
