package scheduler

import (
	"cmp"
	"context"
	"fmt"

	"wavex/internal/event"
	"wavex/runner"
)

// This file implements isolation in the loop. A task that is done in its own tree is only verified;
// it is completed when its work passes together with that of the others. It does not use git.

// Integrated is the result of an integration.
type Integrated struct {
	Commit    string
	Completed []string
	Commits   map[string]string // see IntegrationEnded
	Culprits  []Culprit
	Note      string
}

// Culprit is a task whose work makes the integration fail.
type Culprit struct{ Task, Kind, Reason, Detail string }

// Integrator combines the work of isolated tasks. Both methods are called from a worker goroutine,
// never at the same time, and may be called again for the same work after a crash. An error is a
// problem that the user must solve.
type Integrator interface {
	Integrate(ctx context.Context, wave int, tasks []string) (Integrated, error)
	Deliver(ctx context.Context, complete bool) (event.DeliveryEnded, error)
}

// decideIntegration returns the integration that is due, or nil.
func decideIntegration(s *State) event.Body {
	if s.queue.awaitingIntegration == 0 {
		return nil
	}
	ev := event.IntegrationStarted{Wave: s.Wave}
	for i := range s.Tasks {
		if s.Tasks[i].Status == event.Verified {
			ev.Tasks = append(ev.Tasks, s.Plan.Tasks[i].ID)
		}
	}
	return ev
}

// decideFinish returns the end, or the delivery that must precede it.
func decideFinish(s *State) event.Body {
	if q := decideEndApproval(s); q != nil {
		return q
	}
	if s.Config.Isolation == event.Isolated && s.delivery == nil && s.Counts.Completed > 0 {
		if s.Stop == nil || s.Counts.Pending == 0 && s.Counts.Completed < len(s.Tasks) {
			return event.DeliveryStarted{Complete: s.Counts.Completed == len(s.Tasks) && s.ExitSignal}
		}
	}
	if stop := stopOfTasks(s); stop != nil && s.Stop == nil {
		return event.Draining{Stop: *stop}
	}
	return decideRunEnd(s)
}

// onIntegration returns the consequences of an integration. Only the culprits are reopened.
func onIntegration(s *State, wave int, r Integrated, err error) event.IntegrationEnded {
	e := event.IntegrationEnded{Wave: wave, Commit: r.Commit, Completed: r.Completed, Commits: r.Commits, Note: r.Note}
	if err != nil {
		e.Stop = event.NewStop(event.RunBlocked, "bringing the wave's work together: "+err.Error(),
			"nothing is lost: the work of each task is on its own branch; put the cause right, then resume")
		return e
	}
	for _, c := range r.Culprits {
		i, ok := s.Index(c.Task)
		if !ok {
			continue
		}
		res := runner.Result{Outcome: runner.Wrong, Reason: fmt.Sprintf("%s: %s", c.Kind, c.Reason), Detail: c.Detail,
			Signature: "integration " + c.Kind + ": " + c.Reason, Session: s.Tasks[i].Session, Contained: true}
		a := event.AttemptEnded{Task: c.Task, Status: event.Pending, Stuck: s.Tasks[i].Stuck}
		onStuck(s, i, res, &a)
		stopOnFailFast(s, &a)
		if a.Stop != nil && e.Stop == nil {
			e.Stop = a.Stop
		}
		e.Reopened = append(e.Reopened, event.Reopened{Task: c.Task, Kind: c.Kind, Result: res, Status: a.Status,
			Stuck: a.Stuck, Blocked: a.Blocked, TaskStop: a.TaskStop})
	}
	return e
}

func (s *State) applyIntegrationEnded(b event.IntegrationEnded) {
	s.endPhase()
	s.Stop = cmp.Or(s.Stop, b.Stop)
	for _, id := range b.Completed {
		if i, ok := s.Index(id); ok && s.Tasks[i].Status == event.Verified {
			s.Tasks[i].Commit = b.Commits[id]
			s.move(i, event.Completed)
		}
	}
	s.markIntegrated(b)
	for _, r := range b.Reopened {
		i, ok := s.Index(r.Task)
		if !ok || s.Tasks[i].Status != event.Verified {
			continue
		}
		t := &s.Tasks[i]
		t.noteResult(r.Result, false)
		t.Stuck = r.Stuck
		t.Continue = false
		t.Next = "retry"
		t.Commit = ""
		s.move(i, r.Status)
		t.Stop = r.TaskStop
		s.block(r.Task, r.Blocked)
	}
}

// block blocks the tasks that depend on a failed task.
func (s *State) block(root string, ids []string) {
	for _, id := range ids {
		if j, ok := s.Index(id); ok && !s.Tasks[j].Status.Finished() {
			s.Tasks[j].RootCause = root
			s.move(j, event.Blocked)
		}
	}
}
