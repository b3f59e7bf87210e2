package scheduler

import (
	"fmt"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
)

// This file holds the figures that the tasks of a list share: how many of them run, and how many may fail.

// group is the state of the tasks of a list.
type group struct {
	plan    *plan.Group
	tally   Tally // of its items, without All
	running int
	failed  int // items that failed or are blocked: their last steps are
	lost    int // tasks of these items that failed or are blocked
	cost    budget.USD
}

// itemOf returns the tasks of the item of a task, in their order: its steps, or the task alone.
func (s *State) itemOf(i int) (first, last int) {
	g := s.groupOf(i)
	if g == nil || g.plan.Steps == 0 {
		return i, i
	}
	first = i - s.Plan.Tasks[i].Step + 1
	return first, first + g.plan.Steps - 1
}

// groupOf returns the group of a task, or nil.
func (s *State) groupOf(i int) *group {
	if id := s.Plan.Tasks[i].Group; id != "" {
		return s.group(id)
	}
	return nil
}

// group returns the group with an id, or nil.
func (s *State) group(id string) *group {
	g := s.groups[id]
	if g == nil {
		p := s.Plan.Group(id)
		if p == nil {
			return nil
		}
		g = &group{plan: p}
		s.groups[id] = g
	}
	return g
}

// countInGroup follows the move of a task to another status.
func (s *State) countInGroup(i int, from, to event.Status) {
	g := s.groupOf(i)
	if g == nil {
		return
	}
	first, last := s.itemOf(i)
	count := func(st event.Status, n int) {
		switch st {
		case event.InProgress:
			g.running += n
		case event.Failed, event.Blocked:
			switch {
			case i == last:
				g.failed += n
				g.lost += n
				for j := first; j < last; j++ {
					if s.isFailed(j) {
						g.lost += n
					}
				}
			case s.isFailed(last):
				g.lost += n
			}
		}
	}
	count(from, -1)
	count(to, 1)
	g.tally.count(s.itemStatus(i, from), -1)
	g.tally.count(s.itemStatus(i, to), 1)
}

// itemStatus returns the status of the item of task i, if that has a status.
func (s *State) itemStatus(i int, status event.Status) event.Status {
	first, last := s.itemOf(i)
	of := func(k int) event.Status {
		if k == i {
			return status
		}
		return s.Tasks[k].Status
	}
	failed := false
	for k := first; k <= last; k++ {
		switch of(k) {
		case event.InProgress:
			return event.InProgress
		case event.Failed:
			failed = true
		}
	}
	if failed && of(last) != event.Blocked {
		return event.Failed // the last step stands on work that does not
	}
	return of(last)
}

// isGroupFull reports whether as many tasks of the task's group run as may run at once.
func (s *State) isGroupFull(i int) bool {
	g := s.groupOf(i)
	return g != nil && g.plan.Parallel > 0 && g.running >= g.plan.Parallel
}

// limitedGroup returns the id of a task's group if that has a limit of tasks at once; "": it has none.
func (s *State) limitedGroup(i int) string {
	if g := s.groupOf(i); g != nil && g.plan.Parallel > 0 {
		return g.plan.ID
	}
	return ""
}

// countFailures blocks the descendants of tasks that fail together, if more items of a group fail than may.
func (s *State) countFailures(together []event.Reopened) {
	failing, items := map[*group]int{}, map[int]bool{}
	for _, r := range together {
		if i, ok := s.Index(r.Task); ok && r.Status == event.Failed {
			if _, last := s.itemOf(i); !items[last] {
				items[last] = true
				failing[s.groupOf(i)]++
			}
		}
	}
	for k := range together {
		r := &together[k]
		if i, ok := s.Index(r.Task); ok && r.Status == event.Failed && failing[s.groupOf(i)] > 1 {
			r.Blocked = s.unfinishedDescendants(i, failing[s.groupOf(i)])
		}
	}
}

// updateGroups follows the growth of the plan.
func (s *State) updateGroups() {
	for id, g := range s.groups {
		g.plan = s.Plan.Group(id)
	}
}

// mayFail reports whether a task's item may fail as one of a number of items of its group, besides those that have
// failed. It may not if its last step stands: that step began on verified work of the task, which does not hold.
func (s *State) mayFail(i, items int) bool {
	g := s.groupOf(i)
	if g == nil || g.failed+items > g.plan.AllowedFailures() {
		return false
	}
	_, last := s.itemOf(i)
	return i == last || s.isFailed(last) || s.canBlock(last)
}

// canBlock reports whether a task has not begun, or waits between two attempts: it is blocked if a blocker fails.
func (s *State) canBlock(i int) bool {
	t := &s.Tasks[i]
	return t.Status == event.Pending || t.Status == event.Advising && t.Slot < 0
}

// isFailed reports whether a task failed or is blocked.
func (s *State) isFailed(i int) bool {
	st := s.Tasks[i].Status
	return st == event.Failed || st == event.Blocked
}

// passAllowed marks the tasks of an item as completed in the frontier if it failed and its group allows that. It queues
// the tasks that become ready.
func (s *State) passAllowed(i int) {
	first, last := s.itemOf(i)
	for ; first <= last; first++ {
		if s.IsAllowed(first) {
			for _, d := range s.complete(first) {
				s.enqueue(d)
			}
		}
	}
}

// IsAllowed reports whether task i failed and its group allows that: those who wait for the group do not wait for it;
// or whether it failed to repair a blocker, which then prevents completion by itself.
func (s *State) IsAllowed(i int) bool {
	g := s.groupOf(i)
	if g == nil || !s.isFailed(i) {
		return s.isFailed(i) && s.repairsBlocker(s.Plan.Tasks[i].ID)
	}
	_, last := s.itemOf(i)
	return s.isFailed(last) && g.failed <= g.plan.AllowedFailures()
}

// IsAllowedTask reports whether IsAllowed holds for the task with an id; "": no task.
func (s *State) IsAllowedTask(id string) bool {
	i, ok := s.Index(id)
	return ok && s.IsAllowed(i)
}

// allowedFailures returns the number of failed tasks for which IsAllowed holds.
func (s *State) allowedFailures() (n int) {
	for _, g := range s.groups {
		if g.failed <= g.plan.AllowedFailures() {
			n += g.lost
		}
	}
	return n + len(s.failedRepairs())
}

// Failures returns the number of tasks that failed or are blocked, without those whose groups allow that.
func (s *State) Failures() int { return s.Counts.Failed + s.Counts.Blocked - s.allowedFailures() }

// IsDone reports whether all tasks are completed, but for those that may fail.
func (s *State) IsDone() bool { return s.Counts.Completed+s.allowedFailures() == len(s.Tasks) }

// GroupTally returns how many items of a group are in which state. It does not count them.
func (s *State) GroupTally(p *plan.Group) (t Tally) {
	if g := s.groups[p.ID]; g != nil {
		t = g.tally
	}
	t.All = len(p.Tasks)
	return t
}

// GroupCost returns the cost of the attempts and panels of a group in the run so far.
func (s *State) GroupCost(id string) budget.USD {
	if g := s.groups[id]; g != nil {
		return g.cost
	}
	return 0
}

// AllowedFailures says of each group how many of its items failed as the plan allows, in the order of the plan, and
// which repairs of blockers failed.
func (s *State) AllowedFailures() (lines []string) {
	for k := range s.Plan.Groups {
		p := &s.Plan.Groups[k]
		if g := s.groups[p.ID]; g != nil && 0 < g.failed && g.failed <= p.AllowedFailures() {
			lines = append(lines, fmt.Sprintf("%d of %d items of %s failed; the plan allows %s", g.failed, len(p.Tasks), p.ID,
				p.AllowFailures))
		}
	}
	if ids := s.failedRepairs(); ids != nil {
		lines = append(lines, "the blockers of failed tasks were closed otherwise: "+event.ListTasks(ids, 0))
	}
	return lines
}
