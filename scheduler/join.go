package scheduler

import (
	"encoding/json"

	"wavex/internal/plan"
)

// This file lets tasks join a running plan after they were added to its task list. They get a new
// wave after all others, so that running and completed work does not change.

// joined returns the event that adds tasks, or nil if none of them can join. It skips invalid and
// known tasks; the sender has reported them.
func joined(s *State, tasks []json.RawMessage) Body {
	if s.Stop != nil || s.Ended != nil {
		return nil
	}
	ev := TasksAdded{Wave: s.Waves + 1, Origin: FromList}
	p := s.Plan
	for _, raw := range tasks {
		grown, err := p.With(ev.Wave, raw)
		if err != nil {
			continue
		}
		p = grown
		ev.Tasks = append(ev.Tasks, Added{ID: last(p).ID, For: "the task list", Task: raw})
	}
	if ev.Tasks == nil {
		return nil
	}
	return ev
}

func last(p *plan.Plan) *plan.Task { return &p.Tasks[len(p.Tasks)-1] }
