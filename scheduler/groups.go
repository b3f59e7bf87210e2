package scheduler

import (
	"fmt"

	"wavex/internal/event"
	"wavex/internal/plan"
)

// This file holds what the tasks of a list share: how many of them run, and how many may fail.

// group is the state of the tasks of a list.
type group struct {
	plan    *plan.Group
	running int
	failed  int // items that failed or are blocked
}

// groupOf returns the group of a task, or nil.
func (s *State) groupOf(i int) *group {
	id := s.Plan.Tasks[i].Group
	if id == "" {
		return nil
	}
	g := s.groups[id]
	if g == nil {
		g = &group{plan: s.Plan.Group(id)}
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
	count := func(st event.Status, n int) {
		switch st {
		case event.InProgress:
			g.running += n
		case event.Failed, event.Blocked:
			g.failed += n
		}
	}
	count(from, -1)
	count(to, 1)
}

// isGroupFull reports whether as many tasks of the task's group run as may run at once.
func (s *State) isGroupFull(i int) bool {
	g := s.groupOf(i)
	return g != nil && g.plan.Parallel > 0 && g.running >= g.plan.Parallel
}

// countFailures blocks the descendants of tasks that fail together, if more items of a group fail than may.
func (s *State) countFailures(together []event.Reopened) {
	failing := map[*group]int{}
	for _, r := range together {
		if i, ok := s.Index(r.Task); ok && r.Status == event.Failed {
			failing[s.groupOf(i)]++
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

// mayFail reports whether a number of items of a task's group may fail besides those that have failed.
func (s *State) mayFail(i, items int) bool {
	g := s.groupOf(i)
	return g != nil && g.failed+items <= g.plan.AllowedFailures()
}

// isFailed reports whether a task failed or is blocked.
func (s *State) isFailed(i int) bool {
	st := s.Tasks[i].Status
	return st == event.Failed || st == event.Blocked
}

// IsAllowed reports whether task i failed and its group allows that: those who wait for the group do not wait for it.
func (s *State) IsAllowed(i int) bool {
	if !s.isFailed(i) {
		return false
	}
	g := s.groupOf(i)
	return g != nil && g.failed <= g.plan.AllowedFailures()
}

// IsAllowedTask reports whether IsAllowed holds for the task with an id; "": no task.
func (s *State) IsAllowedTask(id string) bool {
	i, ok := s.Index(id)
	return ok && s.IsAllowed(i)
}

// allowedFailures returns the number of failed tasks that their groups allow.
func (s *State) allowedFailures() (n int) {
	for _, g := range s.groups {
		if g.failed <= g.plan.AllowedFailures() {
			n += g.failed
		}
	}
	return n
}

// Failures returns the number of tasks that failed or are blocked, without those whose groups allow that.
func (s *State) Failures() int { return s.Counts.Failed + s.Counts.Blocked - s.allowedFailures() }

// IsDone reports whether all tasks are completed, but for those that may fail.
func (s *State) IsDone() bool { return s.Counts.Completed+s.allowedFailures() == len(s.Tasks) }

// GroupTally counts the items of a group by the status of their tasks.
func (s *State) GroupTally(g *plan.Group) (t Tally) {
	t.All = len(g.Tasks)
	for _, i := range g.Tasks {
		switch s.Tasks[i].Status {
		case event.InProgress:
			t.Running++
		case event.Completed:
			t.Completed++
		case event.Verified:
			t.Verified++
		case event.Failed:
			t.Failed++
		case event.Blocked:
			t.Blocked++
		}
	}
	return t
}

// AllowedFailures says of each group how many of its items failed as the plan allows, in the order of the plan.
func (s *State) AllowedFailures() (lines []string) {
	for k := range s.Plan.Groups {
		p := &s.Plan.Groups[k]
		if g := s.groups[p.ID]; g != nil && 0 < g.failed && g.failed <= p.AllowedFailures() {
			lines = append(lines, fmt.Sprintf("%d of %d items of %s failed; the plan allows %s", g.failed, len(p.Tasks), p.ID,
				p.AllowFailures))
		}
	}
	return lines
}
