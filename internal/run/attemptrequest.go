package run

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/proc"
	"wavex/internal/runlog"
	"wavex/internal/safefile"
	"wavex/internal/userdata"
	"wavex/runner"
	"wavex/scheduler"
)

// This file makes the request of an attempt, and the result of an attempt whose end was not
// recorded.

// attemptRequest returns the request of an attempt. The loop's goroutine calls it.
func (r *Session) attemptRequest(s *scheduler.State, i int, e event.AttemptStarted) (runner.Request, error) {
	t, err := r.resolveTask(s, i)
	if err != nil {
		return runner.Request{}, err
	}
	req := runner.Request{
		Run: r.config.Run, Task: t.ID, Attempt: e.Attempt, Slot: e.Slot,
		Dir: t.WorkDir(r.config.Dir), LogDir: r.config.Loop.Task(r.config.Run, t.ID, loop.Attempt(e.Attempt)),
		Baseline: r.config.Loop.Task(r.config.Run, t.ID, loop.Digests), Command: t.Command,
		Session: e.Session, Resume: e.Resume, Settings: r.settings(s.Plan, i), Cap: e.Cap,
		Files: t.Files, Checks: t.Verify, MustNot: s.Plan.MustNot, Rehearse: r.opts.Agent.Block(s.Plan, t),
		Reviewed: s.Config.Review != event.ReviewOff,
	}
	if t.Output != nil {
		req.Output = &runner.OutputSpec{Schema: t.Output, Dir: r.config.Loop.Path(loop.Outputs), Lines: t.Lines}
	}
	if req.Protect = s.Plan.ProtectPaths; t.Command == "" || len(t.Verify) > 0 {
		req.Trees = r.trees(s.Plan, i)
	}
	if t.Command == "" || r.opts.Wall.Strict() {
		req.Closed = r.ownPaths()
	}
	req.Env, req.Adopted = maps.Clone(t.Env), r.adopted[t.ID] == e.Attempt
	if t.Command != "" {
		// The attempt's own folder is made when its first file is written.
		return req, r.ensureTasksDir()
	}
	req.Guards = r.guardedFiles(t)
	b := r.promptBrief(s, i, e)
	b.Task = t
	req.Prompt = buildPrompt(s.Plan, i, b)
	if e.Resume && s.Tasks[i].Last != nil {
		req.Worker = s.Tasks[i].Last.Worker
	}
	if b.Continues {
		b.Continues, b.Interrupts = false, b.More || b.Interrupts
		req.FullPrompt = buildPrompt(s.Plan, i, b)
	}
	if err := safefile.MkdirAll(req.LogDir, 0o700); err != nil {
		return req, err
	}
	return req, nil
}

// settings returns how attempts of task i are started: as the plan says, with the run's policy where that says nothing
// or is overridden.
func (r *Session) settings(p *plan.Plan, i int) plan.Settings {
	s, c := p.Settings(i), r.config.Policy
	wins := func(field string, planned bool) bool { return !planned || slices.Contains(c.Force, field) }
	if c.Edits != "" && wins("edits", s.PolicyEdits != "") {
		s.PolicyEdits = c.Edits
	}
	if c.Deny != nil && wins("deny", s.PolicyDeny != nil) {
		s.PolicyDeny = c.Deny
	}
	if c.Repeat != nil && wins("repeat", s.PolicyRepeat != nil) {
		s.PolicyRepeat = c.Repeat
	}
	if c.Ask != nil && wins("ask", s.PolicyAsk != nil) {
		s.PolicyAsk = c.Ask
	}
	if c.AskTimeout > 0 && wins("ask-timeout", s.PolicyAskTimeout > 0) {
		s.PolicyAskTimeout = c.AskTimeout
	}
	return s
}

// resolveTask returns a task with the outputs that it refers to.
func (r *Session) resolveTask(s *scheduler.State, i int) (*plan.Task, error) {
	t := &s.Plan.Tasks[i]
	outputs := map[string]json.RawMessage{}
	for _, id := range t.Uses() {
		var err error
		if outputs[id], err = r.output(s, id); err != nil {
			return nil, fmt.Errorf("task %s: %w", t.ID, err)
		}
	}
	return t.Resolve(r.config.Run, outputs, func(value json.RawMessage) (string, error) {
		return runner.KeepFile(r.config.Loop.Path(loop.Outputs), value)
	})
}

// output returns the output of a task, or the list of those of a group.
func (r *Session) output(s *scheduler.State, id string) (json.RawMessage, error) {
	outputs, isGroup, err := s.Outputs(id)
	if err != nil {
		return nil, err
	}
	all := []json.RawMessage{}
	for _, o := range outputs {
		value, err := o.Read(r.config.Loop.Path(loop.Outputs))
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	if !isGroup && len(all) == 1 {
		return all[0], nil
	}
	return json.Marshal(all)
}

// items returns the list of a group from the output of a task.
func (r *Session) items(s *scheduler.State, group int) ([]json.RawMessage, error) {
	output, err := r.output(s, s.Plan.Groups[group].Uses)
	if err != nil {
		return nil, err
	}
	return s.Plan.Items(group, output)
}

// ensureTasksDir makes sure, once, that the folder of the attempts' files exists.
func (r *Session) ensureTasksDir() error {
	if r.tasksDirMade {
		return nil
	}
	err := safefile.MkdirAll(r.config.Loop.Run(r.config.Run, loop.Tasks), 0o755)
	r.tasksDirMade = err == nil
	return err
}

// promptBrief returns the part of the prompt that is not in the plan.
func (r *Session) promptBrief(s *scheduler.State, i int, e event.AttemptStarted) brief {
	t := &s.Tasks[i]
	b := brief{Loop: string(r.config.Loop), Conditions: precheckConditions(t), Continues: e.Resume,
		More: e.Why == "continue", UserData: userdata.Existing()}
	b.Context, b.Notes = readContext(r.config.Track)
	for _, j := range s.Plan.Graph.Blockers(i) {
		done := blocker{ID: s.Plan.Tasks[j].ID, Subject: s.Plan.Tasks[j].Subject}
		if last := s.Tasks[j].Last; last != nil {
			done.Report = last.Report
		}
		b.Blockers = append(b.Blockers, done)
	}
	if t.Last == nil {
		return b
	}
	if t.Last.Outcome == runner.Interrupted {
		b.Interrupts, b.Cut = true, t.Last.Detail
		return b
	}
	if !t.Last.Outcome.Stuck() {
		return b
	}
	// Only an interrupted attempt is continued, not other attempts that end without a fault of the task.
	b.Interrupts = e.Resume && e.Why == "again"
	b.Previous = &previousTry{Error: t.Last.Reason, Attempt: max(1, e.Try-1), Of: s.Retries(i)}
	if t.Last.Detail != "" {
		b.Previous.Error += "\n" + t.Last.Detail
	}
	if len(t.Last.Changed) > 0 && t.Last.Outcome != runner.Wrong {
		// The attempt was stopped while it worked, so its changes may be useful.
		b.Previous.Error += "\nIt had changed these files by then, look at them before you start over: " +
			strings.Join(t.Last.Changed, ", ")
	}
	if t.Advice != nil {
		b.Previous.Analysis, b.Previous.Fix, b.Previous.Dissent = t.Advice.Analysis, t.Advice.Fix, t.Advice.Dissent
	}
	return b
}

// recovery ends the processes of an earlier session, which carry the run's mark, and returns the results of
// its open work. This session has started no process yet.
func (r *Session) recovery(ctx context.Context) scheduler.Recovery {
	_, err := proc.Sweep(ctx, r.config.Run) // a process that survives is found again after each attempt
	here := recovery{runlog.Recovery{Loop: r.config.Loop, Run: r.config.Run, Agent: r.state.Config.Agent,
		Prices: r.opts.Prices}, r.describeCut, err == nil}
	if !r.isElsewhere() {
		return here
	}
	return recoveryElsewhere{here, r.adoptElsewhere,
		func(e event.AttemptStarted) runner.Result { return r.endElsewhere(ctx, e) }}
}

// recovery is a Recovery after the end of the processes, if contained is set.
type recovery struct {
	runlog.Recovery
	describeCut func(event.AttemptStarted) string
	contained   bool
}

func (l recovery) Attempt(e event.AttemptStarted) runner.Result {
	res := l.Recovery.Attempt(e)
	res.Contained, res.Detail = l.contained, l.describeCut(e)
	return res
}

// recoveryElsewhere is a Recovery of attempts on other machines, which run on.
type recoveryElsewhere struct {
	recovery
	adopt func(event.AttemptStarted)
	end   func(event.AttemptStarted) runner.Result
}

func (l recoveryElsewhere) Adopts(e event.AttemptStarted) bool {
	l.adopt(e)
	return true
}

func (l recoveryElsewhere) Attempt(e event.AttemptStarted) runner.Result { return l.end(e) }

// precheckConditions returns the conditions of the experts who let a task begin.
func precheckConditions(t *scheduler.Task) []string {
	if t.Challenge == nil {
		return nil
	}
	return t.Challenge.Conditions
}

// ownPaths returns the run's own files: .loop, and the plan.
func (r *Session) ownPaths() []string {
	own := []string{string(r.config.Loop)}
	if !planfile.IsList(r.plan.Path) {
		own = append(own, r.plan.AbsPath())
	}
	return own
}

// checkWrapper returns the proc.Spec.Wrapper of checks in a working tree that are made outside of attempts.
func (r *Session) checkWrapper(tree string) []string {
	return runner.CheckWrapper(r.opts.Wall, tree, r.ownPaths())
}
