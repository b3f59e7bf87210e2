package scheduler

import (
	"encoding/json"
	"fmt"
	"slices"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
)

// This file adds the tasks of lists that come with the run, as soon as the output with the list is there. Nothing that
// waits for such a group starts before: the list is decided before any start.

// dueList returns the group whose list is there and whose tasks are not, or -1.
func dueList(s *State) int {
	if s.Phase != Executing || s.Stop != nil || s.earlier.undecided > 0 {
		return -1
	}
	for k := range s.Plan.Groups {
		if !s.Plan.Groups[k].Known && s.hasSource(&s.Plan.Groups[k]) {
			return k
		}
	}
	return -1
}

// hasSource reports whether the list of a group comes with the run, and the work that has it stands.
func (s *State) hasSource(g *plan.Group) bool {
	if source := s.Plan.Group(g.Uses); source != nil && !source.Known {
		return false
	}
	tasks, isGroup := s.Plan.Outputs(g.Uses)
	return (isGroup || len(tasks) > 0) &&
		!slices.ContainsFunc(tasks, func(i int) bool { return !s.stands(i) && !s.IsAllowed(i) })
}

// Outputs returns the outputs of a task, or of the items of a group in their order. An item that may fail, and failed,
// has none.
func (s *State) Outputs(id string) (outputs []*runner.Output, isGroup bool, err error) {
	tasks, isGroup := s.Plan.Outputs(id)
	for _, i := range tasks {
		switch o := s.Output(i); {
		case o != nil:
			outputs = append(outputs, o)
		case !s.IsAllowed(i):
			return nil, isGroup, fmt.Errorf("the output of %s is needed and is not there", s.Plan.Tasks[i].ID)
		}
	}
	return outputs, isGroup, nil
}

// onList returns the event that adds the tasks of a list, or stops the run if the list cannot become tasks: before any
// of them has cost money.
func onList(s *State, group int, items []json.RawMessage, err error) event.Body {
	g := &s.Plan.Groups[group]
	var grown *plan.Plan
	if err == nil {
		grown, err = s.Plan.WithItems(g.ID, items)
	}
	if err != nil {
		return event.Draining{Stop: *event.NewStop(event.RunBlocked,
			fmt.Sprintf("the list of %s cannot become tasks: %s", g.ID, err),
			"edit the plan: the task that makes the list, or the foreach of "+g.ID+" (maxItems, key)")}
	}
	if items == nil {
		items = []json.RawMessage{}
	}
	return event.ItemsAdded{Group: g.ID, Items: items, Tasks: plan.IDs(grown, grown.Groups[group].Tasks)}
}

// applyItemsAdded adds the tasks of a list. It skips a list if an edit of the plan makes its source run again, or if
// the plan does not take its items any more.
func (s *State) applyItemsAdded(b event.ItemsAdded) {
	g := s.Plan.Group(b.Group)
	if g == nil || !s.hasSource(g) {
		return
	}
	grown, err := s.Plan.WithItems(b.Group, b.Items)
	if err != nil {
		return
	}
	before, waves := len(s.Plan.Tasks), s.Waves
	s.Plan = grown
	s.updateGroups()
	s.selectItems(before)
	s.grow(before)
	s.closing.planWaves += s.Waves - waves
}

// selectItems selects those of the tasks from number from on that a session needs that is limited to some tasks.
func (s *State) selectItems(from int) {
	if s.selection.selected == nil {
		return
	}
	for i := len(s.selection.selected); i < len(s.Plan.Tasks); i++ {
		s.selection.selected = append(s.selection.selected, i < from) // a task that joined before is selected
	}
	for _, i := range s.Plan.Graph.WithBlockers(s.withGroups(s.Config.Only)...) {
		if i >= from { // it has selected their blockers already
			s.selection.selected[i] = true
		}
	}
}

// withGroups returns the tasks of ids of tasks and of groups; for a group whose list is not known, its blockers.
func (s *State) withGroups(ids []string) (nodes []int) {
	for _, id := range ids {
		tasks, _ := s.Plan.Outputs(id)
		nodes = append(append(nodes, tasks...), s.Plan.ListBlockers(id)...)
	}
	return nodes
}

// moveToWave moves a task that has not begun to another wave.
func (s *State) moveToWave(i, wave int) {
	t := &s.Tasks[i]
	if t.Wave == wave || t.Status.Finished() {
		return
	}
	members := s.queue.members
	members[t.Wave] = slices.DeleteFunc(members[t.Wave], func(member int32) bool { return int(member) == i })
	s.hold(i, t.Status, -1)
	s.Figures.tallies[t.Wave].All--
	t.Wave = wave
	s.Figures.tallies[wave].All++
	s.hold(i, t.Status, 1)
	at, _ := slices.BinarySearch(members[wave], int32(i))
	members[wave] = slices.Insert(members[wave], at, int32(i))
}
