package scheduler

import (
	"encoding/json"

	"wavex/internal/plan"
)

// This file lets tasks join a run that somebody added to its task list meanwhile. They get
// a wave of their own behind all others, so that nothing that runs or is done changes.

// joined is what tasks that were brought lead to; nil when none of them can join any more. A
// task that is no task, or is known already, is passed over: who brings it has said so.
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
