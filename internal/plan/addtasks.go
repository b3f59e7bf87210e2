package plan

// This file lets a plan grow during a run: new tasks join those of the file. It judges a task as
// Parse does and does not know the reason of a new task.

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"wavex/internal/plan/source"
)

// WithTasks returns the plan with further tasks after its own. Each is an object as in the tasks of a
// plan file; their blockedBy may name tasks of the plan and earlier tasks of the list, and they run
// in the given wave (from 1). With does not change p, and the keys of its tasks stay the same. It
// returns an error if a task is invalid, has an id that is taken, or has an unknown blocker.
func (p *Plan) WithTasks(wave int, tasks ...json.RawMessage) (*Plan, error) {
	rest, blockers := make([]json.RawMessage, len(tasks)), make([][]string, len(tasks))
	for i := range tasks {
		var err error
		if rest[i], blockers[i], err = splitBlockers(tasks[i]); err != nil {
			return nil, err
		}
	}
	text, err := json.Marshal(struct {
		Version int               `json:"version"`
		Tasks   []json.RawMessage `json:"tasks"`
	}{Version, rest})
	if err != nil {
		return nil, err
	}
	more, diags := Parse("added.json", text, Options{})
	if more == nil {
		var errs []error
		for _, d := range diags {
			if d.Severity == SeverityError {
				errs = append(errs, errors.New(d.Message))
			}
		}
		return nil, errors.Join(errs...)
	}
	if len(more.Groups) > 0 {
		return nil, errors.New("a task that is added has no foreach")
	}
	q := *p
	q.keys = new(keys)
	q.ids = p.ids.clone()
	q.Tasks = slices.Concat(p.Tasks, more.Tasks)
	q.taskWaves = append(slices.Clone(p.taskWaves), make([]int, len(q.Tasks)-len(p.taskWaves))...)
	for i := len(p.Tasks); i < len(q.Tasks); i++ {
		if _, ok := q.ids.add(q.Tasks[i].ID, i); !ok {
			return nil, fmt.Errorf("there is a task %s already", source.Quote(q.Tasks[i].ID))
		}
		q.Tasks[i].Wave, q.Tasks[i].Pos, q.taskWaves[i] = wave, Pos{}, wave
	}
	edges := p.Graph.Builder()
	for k, names := range blockers {
		at := len(p.Tasks) + k
		for _, name := range names {
			b, ok := q.Lookup(name)
			if !ok || b >= at {
				return nil, fmt.Errorf("task %s is blocked by %s, which is not before it",
					source.Quote(q.Tasks[at].ID), source.Quote(name))
			}
			edges.Edge(at, b)
		}
	}
	q.Graph = edges.Build(len(q.Tasks))
	return &q, nil
}

// splitBlockers returns the object of a task without its blockers, and the blockers.
func splitBlockers(task json.RawMessage) (rest json.RawMessage, blockers []string, err error) {
	const field = "blockedBy"
	var object map[string]json.RawMessage
	if json.Unmarshal(task, &object) != nil || object[field] == nil {
		return task, nil, nil // a value that is not an object is judged with the rest
	}
	if err := json.Unmarshal(object[field], &blockers); err != nil {
		return nil, nil, fmt.Errorf("%s of a task that is added must be a list of ids: %w", field, err)
	}
	delete(object, field)
	rest, err = json.Marshal(object)
	return rest, blockers, err
}

func (x *index) clone() index {
	y := newIndex(0)
	y.small = slices.Clone(x.small)
	maps.Copy(y.numbers, x.numbers)
	maps.Copy(y.names, x.names)
	maps.Copy(y.folded, x.folded)
	return y
}
