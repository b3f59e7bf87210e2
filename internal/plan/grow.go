package plan

// This file lets a plan grow while it runs: tasks that were decided on the way join
// those of the file. It judges a task as Parse does and knows nothing of why it came.

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"wavex/dag"
	"wavex/internal/plan/source"
)

// With is the plan with further tasks behind its own, each an object as in the tasks
// of a plan file; they are blocked by none and run in the given wave (from 1). The plan
// itself is not changed, and the keys of its tasks stay what they are. An error means
// that a task is no task, or has an id that is taken.
func (p *Plan) With(wave int, tasks ...json.RawMessage) (*Plan, error) {
	text, err := json.Marshal(struct {
		Version int               `json:"version"`
		Tasks   []json.RawMessage `json:"tasks"`
	}{Version, tasks})
	if err != nil {
		return nil, fmt.Errorf("adding tasks: %w", err)
	}
	more, diags := Parse("added.json", text, Options{})
	if more == nil {
		var errs []error
		for _, d := range diags {
			if d.Severity == SeverityError {
				errs = append(errs, errors.New(d.Message))
			}
		}
		return nil, fmt.Errorf("adding tasks: %w", errors.Join(errs...))
	}
	q := *p
	q.keys = new(keys)
	q.ids = p.ids.clone()
	q.Tasks = slices.Concat(p.Tasks, more.Tasks)
	q.floor = append(slices.Clone(p.floor), make([]int, len(q.Tasks)-len(p.floor))...)
	for i := len(p.Tasks); i < len(q.Tasks); i++ {
		if _, ok := q.ids.add(q.Tasks[i].ID, i); !ok {
			return nil, fmt.Errorf("adding tasks: there is a task %s already", source.Quote(q.Tasks[i].ID))
		}
		q.Tasks[i].Wave, q.Tasks[i].Pos, q.floor[i] = wave, Pos{}, wave
	}
	edges := dag.NewBuilder(len(q.Tasks), p.Graph.Edges())
	for i := range p.Tasks {
		for _, b := range p.Graph.Blockers(i) {
			edges.Edge(i, int(b))
		}
	}
	q.Graph = edges.Build(len(q.Tasks))
	return &q, nil
}

func (x *index) clone() index {
	y := index{slices.Clone(x.small), map[uint64]int32{}, map[string]int32{}}
	maps.Copy(y.numbers, x.numbers)
	maps.Copy(y.names, x.names)
	return y
}
