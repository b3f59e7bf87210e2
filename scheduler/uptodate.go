package scheduler

import (
	"cmp"
	"maps"
	"time"

	"wavex/internal/event"
	"wavex/internal/plan"
)

// This file decides which tasks that an earlier run completed are up to date, and completes them
// without an attempt. It is pure; the files and the checks are looked at elsewhere, by the run's first
// verification.

// earlierWork holds what a run takes over from an earlier one.
type earlierWork struct {
	*event.EarlierWork     // nil: nothing
	undecided          int // tasks that may be up to date
}

// UpToDate reports whether the task was completed by an earlier run and not run again.
func (t *Task) UpToDate() bool { return t.Earlier != nil && t.Status == event.Completed }

// undecided reports whether it is not known yet if the task is up to date.
func (t *Task) undecided() bool { return t.Earlier != nil && t.Status == event.Pending }

// applyEarlier takes over the work of an earlier run that still has the plan's content keys. The plan may have
// been edited since the run began.
func (s *State) applyEarlier(work *event.EarlierWork) {
	s.earlier = earlierWork{EarlierWork: work}
	s.takeEarlier(nil)
}

// takeEarlier takes over earlier work for the tasks in fresh, whose keys are new; nil means all tasks.
func (s *State) takeEarlier(fresh map[int]bool) {
	if s.earlier.EarlierWork == nil {
		return
	}
	for k, work := range s.earlier.Tasks {
		i, ok := s.Index(work.Task)
		if ok && s.Tasks[i].Key == work.Key && s.Tasks[i].Status == event.Pending && (fresh == nil || fresh[i]) {
			s.Tasks[i].Earlier = &s.earlier.Tasks[k]
			s.earlier.undecided++
		}
	}
}

// applyDoubts makes tasks undecided that are completed, verified, or pending and may be completed. Their work is looked
// at before the run goes on. A verified one may be integrated already, if a remote has its work.
func (s *State) applyDoubts(tasks []event.EarlierTask) {
	for k := range tasks {
		i, ok := s.Index(tasks[k].Task)
		if !ok || s.Tasks[i].Key != tasks[k].Key || s.Tasks[i].undecided() {
			continue
		}
		switch s.Tasks[i].Status {
		case event.Completed, event.Verified:
			s.Tasks[i].Earlier = &tasks[k]
			s.files.release(i) // a verified task in a tree of its own holds them
			s.move(i, event.Pending)
		case event.Pending:
			s.Tasks[i].Earlier = &tasks[k]
		default:
			continue
		}
		s.earlier.undecided++
	}
	if s.earlier.undecided > 0 {
		s.resetFrontier()
	}
}

// decideEarlier returns the verification of the tasks that an earlier run completed, or nil. If they are the
// whole plan, it also verifies the criteria that need no judge.
func decideEarlier(s *State, now time.Time) event.Body {
	if s.earlier.undecided == 0 || s.Stop != nil {
		return nil
	}
	if over := s.Ledger.OverWall(now.Sub(s.SessionStart)); over != nil {
		return event.Draining{Stop: s.limitStop(over)}
	}
	if s.closing.failedVerifications >= maxUnanswered {
		return decideUnverifiable(s, "the tasks that an earlier run completed")
	}
	ev := event.CriteriaStarted{Round: s.closing.verifications + 1,
		Rechecks: taskChecks(s, func(i int) bool { return s.Tasks[i].undecided() })}
	for i := range s.Tasks {
		if s.Tasks[i].undecided() {
			ev.Earlier = append(ev.Earlier, s.Plan.Tasks[i].ID)
		}
	}
	if len(ev.Earlier) < len(s.Tasks) {
		return ev
	}
	for _, c := range s.Assessment.Criteria {
		if cond := s.Condition(c.ID); cond != nil && (cond.Check != nil || cond.Verification == event.Assumption) {
			ev.Only = append(ev.Only, c.ID)
		}
	}
	return ev
}

// onEarlier adds the result for the tasks of an earlier run to e, the end of their verification. The evidence
// of that run counts for criteria that need a judge, if nothing runs again.
func onEarlier(s *State, b event.CriteriaStarted, v Verification, e *event.CriteriaEnded) {
	due, unknown := map[string]string{}, map[string]bool{}
	maps.Copy(due, v.Missing)
	for k, r := range b.Rechecks {
		got := RecheckResult{Skipped: true}
		if k < len(v.Rechecks) {
			got = v.Rechecks[k]
		}
		for _, id := range r.Tasks {
			switch {
			case got.Skipped:
				unknown[id] = true
			case !got.Passed:
				due[id] = cmp.Or(due[id], "check failed: "+got.Check+": "+got.Reason)
			}
		}
	}
	e.UpToDate = &event.UpToDate{Tasks: []string{}}
	spreadDue(s, b.Earlier, due, unknown)
	whole := len(b.Earlier) == len(s.Tasks) && len(due) == 0 && len(unknown) == 0
	for _, id := range b.Earlier {
		i, _ := s.Index(id)
		switch {
		case due[id] != "":
			e.UpToDate.Due = append(e.UpToDate.Due, event.DueTask{Task: id, Reason: due[id]})
		case unknown[id]:
		case !whole && leavesNoFile(&s.Plan.Tasks[i]):
			if len(unknown) == 0 {
				e.UpToDate.Due = append(e.UpToDate.Due, event.DueTask{Task: id,
					Reason: "a command without declared files is only up to date together with the whole plan"})
			}
		default:
			e.UpToDate.Tasks = append(e.UpToDate.Tasks, id)
			e.UpToDate.Changed = append(e.UpToDate.Changed, v.Changed[id]...)
		}
	}
	if !whole || s.earlier.EarlierWork == nil {
		return
	}
	for _, c := range s.earlier.Criteria {
		c.Round = b.Round
		e.Criteria = append(e.Criteria, c)
	}
}

// spreadDue makes tasks due that use the output of a task that runs again.
func spreadDue(s *State, earlier []string, due map[string]string, unknown map[string]bool) {
	whole := len(earlier) == len(s.Tasks) && len(due) == 0 && len(unknown) == 0
	undecided := map[string]bool{}
	for _, id := range earlier {
		undecided[id] = true
	}
	runs := func(i int) bool {
		id := s.Plan.Tasks[i].ID
		return due[id] != "" || !undecided[id] && !s.stands(i) ||
			!whole && !s.stands(i) && leavesNoFile(&s.Plan.Tasks[i])
	}
	for again := true; again; {
		again = false
		for _, id := range earlier {
			i, _ := s.Index(id)
			for _, used := range s.Plan.Tasks[i].Uses() {
				tasks, _ := s.Plan.Outputs(used)
				for _, j := range tasks {
					if due[id] == "" && runs(j) {
						due[id], again = "it uses the output of "+s.Plan.Tasks[j].ID+", which runs again", true
					}
				}
			}
		}
	}
}

// leavesNoFile reports whether a task is a command that declares no file. Nothing shows whether its effect is
// still there.
func leavesNoFile(p *plan.Task) bool { return p.Command != "" && len(plan.Written(p.Files)) == 0 }

func (s *State) applyUpToDate(b event.CriteriaEnded) {
	for _, id := range b.UpToDate.Tasks {
		if i, ok := s.Index(id); ok && s.Tasks[i].undecided() {
			s.earlier.undecided--
			if len(s.Plan.Tasks[i].Verify) > 0 {
				s.Tasks[i].PassedAt = s.closing.changeCount
			}
			s.move(i, event.Completed)
			s.settleOwn(i)
		}
	}
	for _, d := range b.UpToDate.Due {
		if i, ok := s.Index(d.Task); ok && s.Tasks[i].undecided() {
			s.earlier.undecided--
			if s.ownRecord(i) {
				s.undo(i)
			}
			s.Tasks[i].Earlier = nil
		}
	}
	if s.earlier.undecided > 0 { // the run is stopping, or some checks could not be made
		s.closing.failedVerifications, s.closing.verificationError = s.closing.failedVerifications+1,
			"some checks were not made"
	}
	s.Assessment.updateCriteria(b.Criteria)
	for _, c := range s.Assessment.Criteria {
		if c.Round != b.Round {
			return
		}
	}
	if s.IsDone() {
		s.closing.verifiedAt, s.closing.recheckedAt = s.closing.workCount, s.closing.changeCount
	}
}

// ownRecord reports whether an undecided task was completed by this run, and has its records.
func (s *State) ownRecord(i int) bool {
	e := s.Tasks[i].Earlier
	return e.Run == s.Config.Run && e.Commit == ""
}

// settleOwn ends the doubt about a completed task of this run.
func (s *State) settleOwn(i int) {
	t := &s.Tasks[i]
	if s.ownRecord(i) {
		t.Earlier = nil
	} else if t.Earlier.Commit != "" {
		t.Commit = t.Earlier.Commit
	}
}

// complete marks a task whose work stands in the frontier and returns the pending tasks that become ready. A task
// whose work stands while a blocker of it runs again holds its dependents back until then.
func (s *State) complete(i int) (ready []int) {
	if s.frontier.Completed(i) || s.frontier.UnmetBlockers(i) > 0 {
		return nil
	}
	for _, d := range s.frontier.Complete(i) {
		switch {
		case s.Tasks[d].Status == event.Pending:
			ready = append(ready, d)
		case s.stands(d) || s.IsAllowed(d):
			ready = append(ready, s.complete(d)...)
		}
	}
	return ready
}

// ranTasks reports whether this run completed a task by work of its own.
func (s *State) ranTasks() bool {
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if t.Status == event.Completed && (t.Earlier == nil || t.Earlier.Run == s.Config.Run) {
			return true
		}
	}
	return false
}
