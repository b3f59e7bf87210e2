package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"wavex/internal/event"
)

// This file completes verified tasks in a shared directory. Their checks passed while other attempts may
// have edited files, so the checks are run again, together, when no attempt runs. Dependents may start on
// verified work before that.

// stands reports whether the dependents of a task may start: it is completed, or verified in the directory that they
// share.
func (s *State) stands(i int) bool {
	st := s.Tasks[i].Status
	return st == event.Completed || st == event.Verified && s.Config.Isolation != event.Isolated
}

// decideSharedIntegration returns the integration of all verified tasks, or nil. It waits until no task is between
// two attempts, because its unfinished work may break the checks of others. last says that nothing can start.
func decideSharedIntegration(s *State, last bool) event.Body {
	if s.Running() > 0 {
		return nil
	}
	ev := event.IntegrationStarted{Wave: slices.Min(slices.Collect(maps.Keys(s.merges.waiting)))}
	for i := range s.Tasks {
		t := &s.Tasks[i]
		switch {
		case t.Status == event.Verified:
			ev.Tasks = append(ev.Tasks, s.Plan.Tasks[i].ID)
		case t.Tries > 0 && !t.Status.Finished() && (!last || s.Stop != nil):
			return nil
		}
	}
	return ev
}

// startSharedIntegration runs the distinct checks of verified tasks. The loop decides what follows.
func (r *running) startSharedIntegration(b event.IntegrationStarted) {
	checks := taskChecks(r.s, func(i int) bool { return slices.Contains(b.Tasks, r.s.Plan.Tasks[i].ID) })
	work := func(context.Context, func() bool) (v Verification, err error) {
		return Verification{Rechecks: slices.Repeat([]RecheckResult{{Passed: true}}, len(checks))}, nil
	}
	if r.Verify != nil {
		work = r.Verify(r.s, event.CriteriaStarted{Round: r.s.closing.verifications + 1, Wave: b.Wave, Rechecks: checks})
	}
	var v Verification
	var err error
	r.inBackground(func() { v, err = work(r.kill, func() bool { return true }) },
		func(bug error) { err = bug },
		func() event.Body {
			var got Integrated
			if err == nil {
				got, err = checkedTogether(r.s, b, checks, v.Rechecks)
			}
			return onIntegration(r.s, b.Wave, got, err)
		})
}

// checkedTogether returns the result of an integration in a shared directory. A task is completed if all its checks
// passed. The culprit is the task with a failed check that changed files last; the other such tasks stay
// verified.
func checkedTogether(s *State, b event.IntegrationStarted, checks []event.Recheck,
	results []RecheckResult) (Integrated, error) {
	var out Integrated
	var flaky []string
	failed, culprits := map[string]bool{}, map[string]bool{}
	for k, c := range checks {
		if k >= len(results) || results[k].Skipped {
			return Integrated{}, fmt.Errorf("check %d of %s was not run", c.N, event.ListTasks(c.Tasks, 0))
		}
		got := results[k]
		if got.Flaky {
			flaky = append(flaky, got.Check)
		}
		if got.Passed {
			continue
		}
		for _, id := range c.Tasks {
			failed[id] = true
		}
		last := slices.MaxFunc(c.Tasks, func(x, y string) int { return cmp.Compare(s.changedAt(x), s.changedAt(y)) })
		if culprits[last] {
			continue
		}
		culprits[last] = true
		g := event.Regression{Tasks: []string{last}}
		findSuspects(s, &g)
		g.Since = slices.DeleteFunc(g.Since, func(id string) bool { return id == last })
		reason := fmt.Sprintf("check failed: %s: %s", got.Check, got.Reason)
		if g.EarlierSession {
			reason += "; it had passed in an earlier session"
		}
		if len(g.Since) > 0 {
			reason += "; it had passed before these tasks ended: " + event.ListTasks(g.Since, g.More)
		}
		out.Culprits = append(out.Culprits, Culprit{Task: last, Kind: "red", Reason: reason, Detail: got.Output})
	}
	for _, id := range b.Tasks {
		if !failed[id] {
			out.Completed = append(out.Completed, id)
		}
	}
	if len(flaky) > 0 {
		out.Note = "passed only when run again: " + strings.Join(flaky, "; ")
	}
	return out, nil
}

func (s *State) changedAt(task string) int {
	i, _ := s.Index(task)
	return s.Tasks[i].ChangedAt
}

// markCheckedTogether records that the checks of the completed tasks hold after all changes.
func (s *State) markCheckedTogether(b event.IntegrationEnded) {
	for _, id := range b.Completed {
		if i, ok := s.Index(id); ok && s.Tasks[i].checksPassed() {
			s.Tasks[i].PassedAt = s.closing.changeCount
		}
	}
}

// blockBehindFailed blocks those of the tasks that wait for a failed one. Each comes after its blockers.
func (s *State) blockBehindFailed(tasks ...int) {
	for _, i := range tasks {
		if cause, ok := s.failedBlocker(i); ok && s.canBlock(i) {
			s.block(cause, []string{s.Plan.Tasks[i].ID})
		}
	}
}

// failedBlocker returns the root cause of a failed task that task i waits for. ok is false if there is none. A blocker
// whose work stands still holds task i back while the blocker's own blockers do not stand.
func (s *State) failedBlocker(i int) (cause string, ok bool) {
	list := slices.Clone(s.Plan.Graph.Blockers(i))
	for k := 0; k < len(list); k++ {
		j := int(list[k])
		switch {
		case s.isFailed(j) && !s.IsAllowed(j):
			return cmp.Or(s.Tasks[j].RootCause, s.Plan.Tasks[j].ID), true
		case s.stands(j) && !s.frontier.Completed(j):
			for _, b := range s.Plan.Graph.Blockers(j) {
				if !slices.Contains(list, b) {
					list = append(list, b)
				}
			}
		}
	}
	return "", false
}
