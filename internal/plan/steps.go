package plan

// This file reads the steps of a task with foreach: each item becomes a task for each step, and the second step of an
// item waits for its first one only.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wavex/internal/plan/reference"
	"wavex/internal/plan/source"
	"wavex/internal/textfmt"
)

// maxSteps bounds the steps of an item.
const maxSteps = 20

// stepName matches the names of steps.
var stepName = textfmt.Pattern(`^[A-Za-z0-9_-]{1,20}$`)

// groupFields are the fields of a task beside its steps; the others belong into the steps.
func groupFields() []string {
	return append(blockerNames(), "id", "subject", "foreach", "steps", "wave", "metadata")
}

// stepFields returns the fields of a step: those of a task that are not fields of the group, and its name.
func stepFields(task []field[Task]) (fields []field[Task]) {
	for _, f := range task {
		if !slices.Contains(groupFields(), f.name) || f.name == "subject" {
			fields = append(fields, f)
		}
	}
	return append(fields, field[Task]{"name", func(d *decoder, step *Task, t source.Token) {
		if t.Kind != source.KindString {
			d.wrongType(t, source.KindString.String())
			return
		}
		if step.ID = t.Text; !stepName().MatchString(t.Text) {
			d.errorf(t.At, CodeBadID, "the name of a step has at most 20 letters, digits, dashes and underscores, unlike %s",
				source.Quote(t.Text))
		}
	}})
}

// readSteps reads the steps of the current task.
func (d *decoder) readSteps(t source.Token) {
	var steps []Task
	if d.stepType == nil {
		d.stepType = newObjectType("a step", stepFields(d.taskType.fields)...)
	}
	d.longList(t, "a list of steps", func(k int, e source.Token) {
		before, step := d.errors, Task{Pos: d.src.Pos(e.At)}
		set, ok := d.stepType.decode(d, &step, e)
		if !ok {
			return
		}
		if step.ID == "" {
			step.ID = strconv.Itoa(k + 1)
		}
		if slices.ContainsFunc(steps, func(s Task) bool { return strings.EqualFold(s.ID, step.ID) }) {
			d.errorf(e.At, CodeDuplicateID, "two steps have the name %s; rename one", source.Quote(step.ID))
		}
		step.Step = k + 1
		d.finishTask(&step, func(name string) bool { return d.stepType.has(set, name) }, before, e)
		steps = append(steps, step)
	})
	if n := len(steps); (n == 0 || n > maxSteps) && d.errors == 0 {
		d.errorf(t.At, CodeBadValue, "an item has at least one step, and at most %d", maxSteps)
	}
	if d.steps == nil {
		d.steps = map[int][]Task{}
	}
	d.steps[d.task] = steps
}

// checkSteps reports fields that belong into the steps. The output of the last step is that of the item.
func (d *decoder) checkSteps(task *Task, had func(string) bool, t source.Token) {
	if !had("foreach") {
		d.errorf(t.At, CodeConflict, "steps belong to a task with foreach; write tasks with blockedBy instead")
	}
	for _, name := range d.taskType.names() {
		if had(name) && !slices.Contains(groupFields(), name) {
			d.errorf(t.At, CodeConflict, "a task with steps has no %s of its own; put it into the steps", name)
		}
	}
	if steps := d.steps[d.task]; len(steps) > 0 {
		task.Output = steps[len(steps)-1].Output
	}
	task.Reversibility = "2A"
}

// checkStep returns the mistake of a reference to an earlier step of the item; nil: none.
func (d *decoder) checkStep(r *reference.Ref, path string) error {
	task, at := taskOf(path), stepOf(path)
	if len(r.Path) < 3 || r.Path[1].IsIndex || r.Path[2].Name != "output" {
		return fmt.Errorf("write ${steps.NAME.output}, and a path behind it")
	}
	k := slices.IndexFunc(d.steps[task], func(s Task) bool { return s.ID == r.Path[1].Name })
	switch {
	case at == 0:
		return fmt.Errorf("only a step has earlier steps")
	case k < 0 || k+1 >= at:
		return fmt.Errorf("there is no earlier step %s", r.Path[1].Name)
	case d.steps[task][k].Output == nil:
		return fmt.Errorf("step %s has no output", r.Path[1].Name)
	}
	got, err := kindOf(r, d.steps[task][k].Output)
	if err == nil && r.Misfit(got) != "" {
		err = fmt.Errorf("%s", r.Misfit(got))
	}
	return err
}

// stepOf returns the number of the step in a path of a diagnostic; 0: none.
func stepOf(path string) int {
	task, k := 0, -1
	if n, err := fmt.Sscanf(path, "tasks[%d].steps[%d]", &task, &k); n != 2 || err != nil {
		return 0
	}
	return k + 1
}

// Item returns the id of the item of a task with steps: the id without the name of the step.
func (t *Task) Item() string { return t.ID[:strings.LastIndexByte(t.ID, ']')+1] }
