package scheduler

import (
	"cmp"
	"fmt"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/runner"
)

// This file asks a panel about tasks of reversibility 1 before their wave begins. A refused task is
// blocked, with the tasks that depend on it. Conditions of the panel are passed to the agent.

// findIrreversible returns the plan's tasks of reversibility 1.
func (s *State) findIrreversible() []int32 {
	var out []int32
	for i := range s.Plan.Tasks {
		if s.Plan.Tasks[i].Reversibility == "1" {
			out = append(out, int32(i))
		}
	}
	return out
}

// decidePrecheck returns the challenge that is due, or nil. wait reports whether it waits for money that
// may be released.
func decidePrecheck(s *State) (body event.Body, wait bool) {
	if !s.Config.Precheck {
		return nil, false
	}
	for _, i := range s.irreversibleTasks {
		t := &s.Tasks[i]
		due := t.Wave == s.Wave
		if s.Config.Schedule == event.Eager {
			due = s.frontier.UnmetBlockers(int(i)) == 0
		}
		if !due || !s.mayStart(int(i)) || t.Status != event.Pending || t.Challenge != nil {
			continue
		}
		id := s.Plan.Tasks[i].ID
		limit, err := s.jobCap(precheckKey(id, t.Prechecks+1), panelCap)
		switch {
		case err != nil && (s.Running() > 0 || s.closing.lightRunning):
			return nil, true
		case err != nil:
			return event.Draining{Stop: s.limitStop(err)}, false
		}
		return event.PrecheckStarted{Task: id, Key: t.Key, N: t.Prechecks + 1, Cap: limit}, false
	}
	return nil, false
}

func (s *State) applyPrecheckEnded(b event.PrecheckEnded) {
	s.finish(precheckKey(b.Task, b.N), b.Challenge.Cost, 0, false)
	s.endPhase()
	s.Stop = cmp.Or(s.Stop, b.Stop)
	i, ok := s.Index(b.Task)
	if !ok || s.Tasks[i].Key != b.Key {
		return
	}
	t := &s.Tasks[i]
	t.Cost += b.Challenge.Cost
	t.CounselCost += b.Challenge.Cost
	if b.Challenge.Error != "" || t.Status != event.Pending {
		return
	}
	c := b.Challenge
	t.Challenge = &c
	if !c.Go {
		s.move(i, event.Blocked)
		s.block(b.Task, b.Blocked)
	}
}

// onChallenge returns the consequences of a challenge.
func onChallenge(s *State, b event.PrecheckStarted, c counsel.Challenge) event.PrecheckEnded {
	e := event.PrecheckEnded{Task: b.Task, Key: b.Key, N: b.N, Challenge: c}
	i, ok := s.Index(b.Task)
	switch {
	case c.Error != "":
		e.Stop = precheckStop(b.Task, c)
	case !c.Go && ok:
		e.Blocked = s.unfinishedDescendants(i, 1)
	}
	return e
}

// precheckStop returns the stop of a run whose pre-check failed, or nil if the run itself was
// stopped.
func precheckStop(task string, c counsel.Challenge) *event.Stop {
	reason := fmt.Sprintf("the pre-check of task %s, which is hard to undo: %s", task, c.Error)
	switch c.Failure {
	case runner.Interrupted:
		return nil
	case runner.Limited, runner.Throttled, runner.Unauthorised:
		return outcomeStop(c.Failure, reason, "task")
	}
	return event.NewStop(event.RunBlocked, reason, event.AdvicePrecheck)
}

// PrecheckRefusals returns the tasks that a pre-check refused, each with the reason.
func (s *State) PrecheckRefusals() []string {
	var out []string
	for _, i := range s.irreversibleTasks {
		if t := &s.Tasks[i]; t.Status == event.Blocked && t.Challenge != nil && !t.Challenge.Go {
			out = append(out, s.Plan.Tasks[i].ID+": "+t.Challenge.Reason)
		}
	}
	return out
}
