package scheduler

import (
	"encoding/json"

	"wavex/internal/event"
)

// This file lets tasks join a running plan after they were added to its task list. They get a new
// wave after all others, so that running and completed work does not change.

// onAddedTasks returns the event that adds tasks, or nil if none of them can join. It skips invalid and
// known tasks; the sender has reported them.
func onAddedTasks(s *State, tasks []json.RawMessage) event.Body {
	if s.Stop != nil || s.Phase == Ended {
		return nil
	}
	ev := event.TasksAdded{Wave: s.Waves + 1, Origin: event.FromList}
	p := s.Plan
	for _, raw := range tasks {
		grown, err := p.WithTasks(ev.Wave, raw)
		if err != nil {
			continue
		}
		p = grown
		ev.Tasks = append(ev.Tasks, event.Added{ID: p.Tasks[len(p.Tasks)-1].ID, For: "the task list", Task: raw})
	}
	if ev.Tasks == nil {
		return nil
	}
	return ev
}
