package scheduler

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"wavex/internal/event"
	"wavex/runner"
)

// This file implements isolation in the loop. A task that is done in its own tree is only verified;
// it is completed when its work passes together with that of the others. It does not use git.
// sharedwork.go has the rules for a shared directory.

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

// mergeQueue counts the verified tasks that wait for their integration.
type mergeQueue struct {
	running bool        // an integration is under way, beside attempts
	waiting map[int]int // number of verified tasks, by wave; no entry is 0
}

func (q *mergeQueue) move(wave int, from, to event.Status) {
	if from == event.Verified {
		if q.waiting[wave]--; q.waiting[wave] == 0 {
			delete(q.waiting, wave)
		}
	}
	if to == event.Verified {
		q.waiting[wave]++
	}
}

// decideIntegration returns the integration that is due, or nil. It takes the verified tasks of the first
// wave that is due. quiet says that nothing runs and nothing can start. integratesAfter names the stops
// after which the run still integrates.
func decideIntegration(s *State, quiet bool) event.Body {
	if len(s.merges.waiting) == 0 || s.merges.running {
		return nil
	}
	if !integratesAfter(s.Stop) {
		return nil
	}
	if s.Config.Isolation != event.Isolated {
		return decideSharedIntegration(s, quiet)
	}
	waves := slices.Sorted(maps.Keys(s.merges.waiting))
	k := slices.IndexFunc(waves, func(w int) bool { return quiet || s.integratesEarly(w) })
	if k < 0 {
		return nil
	}
	wave := waves[k]
	ev := event.IntegrationStarted{Wave: wave}
	for _, i := range s.queue.members[wave] {
		if s.Tasks[i].Status == event.Verified {
			ev.Tasks = append(ev.Tasks, s.Plan.Tasks[i].ID)
		}
	}
	return ev
}

// integratesAfter reports whether the run integrates verified work after a stop; nil: no stop. It does so after
// a pause at a limit, and not after a signal, a breaker or an obstacle.
func integratesAfter(st *event.Stop) bool {
	return st == nil || st.Breaker == "" && st.Status != event.RunInterrupted && st.Status != event.RunBlocked
}

// integratesEarly reports whether the verified tasks of a wave are integrated although attempts run: if
// other tasks wait for one of them, or if they are at least as many as the settled tasks of the wave.
// Each integration repeats the checks of the wave's earlier tasks, and with this rule their number at
// most doubles.
func (s *State) integratesEarly(wave int) bool {
	members := s.queue.members[wave]
	if s.merges.waiting[wave] >= len(members)-s.Tally(wave).Unfinished() {
		return true
	}
	return slices.ContainsFunc(members, func(i int32) bool {
		_, last := s.itemOf(int(i)) // the next step waits for the integration
		return s.Tasks[i].Status == event.Verified && (len(s.files.filesOf[i]) > 0 || int(i) < last ||
			s.Config.Schedule == event.Eager && len(s.Plan.Graph.Dependents(int(i))) > 0)
	})
}

// decideFinish returns the end, or the delivery that must precede it.
func decideFinish(s *State) event.Body {
	if q := decideEndApproval(s); q != nil {
		return q
	}
	if s.Config.Isolation == event.Isolated && s.delivery == nil && s.ranTasks() {
		if s.Stop == nil || s.Counts.Pending == 0 && !s.IsDone() {
			return event.DeliveryStarted{Complete: s.IsDone() && s.Assessment.ExitSignal}
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
	if err != nil && !integratesAfter(s.Stop) {
		return e // the run is stopping, and a resume integrates
	}
	if err != nil {
		where := "is in the project's directory"
		if s.Config.Isolation == event.Isolated {
			where = "of each task is on its own branch, and in .loop"
		}
		e.Stop = event.NewStop(event.RunBlocked, "bringing the wave's work together: "+err.Error(),
			"put the cause right, then resume: the work "+where)
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
	s.countFailures(e.Reopened)
	if len(e.Reopened) > 0 {
		e.Users = s.usersOfReopened(&e)
	}
	return e
}

func (s *State) applyIntegrationEnded(b event.IntegrationEnded) {
	s.merges.running = false
	if b.Stop != nil && (s.Stop == nil || b.Stop.Status == event.RunBlocked && integratesAfter(s.Stop)) {
		s.Stop = b.Stop // it also ends the integrations after a pause
	}
	for _, id := range b.Completed {
		if i, ok := s.Index(id); ok && s.Tasks[i].Status == event.Verified {
			s.files.release(i)
			s.Tasks[i].Commit = b.Commits[id]
			s.move(i, event.Completed)
		}
	}
	if s.Config.Isolation == event.Isolated {
		s.markIntegrated(b)
	} else {
		s.markCheckedTogether(b)
		s.endPhase()
	}
	for _, r := range b.Reopened {
		i, ok := s.Index(r.Task)
		if !ok || s.Tasks[i].Status != event.Verified {
			continue
		}
		s.files.release(i)
		s.dropStep(r.Task)
		t := &s.Tasks[i]
		t.noteResult(r.Result, false)
		t.Stuck = r.Stuck
		t.Continue = false
		t.Next = "retry"
		t.Commit = ""
		s.move(i, r.Status)
		t.Stop, t.outOfRetries = r.TaskStop, r.Status == event.Failed && r.TaskStop == nil
		s.block(r.Task, r.Blocked)
	}
	s.reopenUsers(b.Users)
	if len(b.Reopened) > 0 {
		s.resetFrontier() // dependents that run go on; those that are pending wait again
		clear(s.queue.finishedFront)
		s.blockBehindFailed(slices.Concat(s.Plan.TasksByWave()...)...)
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
