package plan

// This file lists the fields of plans and tasks, and reads those that are not settings, checks or
// blockers. It sees one task at a time; blockers.go has the rules for several tasks.

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"math/bits"
	"strings"

	"wavex/budget"
	"wavex/internal/plan/source"
)

// Version is the only supported version of plans.
const Version = 1

func planFields() []field[Plan] {
	return append([]field[Plan]{
		{"$schema", func(d *decoder, _ *Plan, t source.Token) { d.str(t) }},
		{"version", func(d *decoder, p *Plan, t source.Token) {
			if (t.Kind != source.KindNumber && t.Kind != source.KindString) || t.Text != "1" {
				d.errorf(t.At, CodeUnsupportedVersion, "this wavex reads plans of version %d; write %d, or update wavex",
					Version, Version)
				d.src.Skip(t)
			}
		}},
		{"name", func(d *decoder, p *Plan, t source.Token) { d.singleLine(&p.Name, t) }},
		{"params", func(d *decoder, _ *Plan, t source.Token) { d.params(t) }},
		{"request", func(d *decoder, p *Plan, t source.Token) { d.text(&p.Request, t) }},
		{"budget", func(d *decoder, p *Plan, t source.Token) {
			if t.Kind == source.KindNumber || t.Kind == source.KindString {
				d.errorf(t.At, CodeWrongType, "expected an object, found %s; did you mean {usd: %s}?", t.Kind, t.Text)
				return
			}
			d.limitType.decode(d, &p.Budget, t)
		}},
		{"parallel", func(d *decoder, p *Plan, t source.Token) { p.Parallel, _ = d.count(t, 1) }},
		{"schedule", func(d *decoder, p *Plan, t source.Token) { d.enum(&p.Schedule, t, "waves", "eager") }},
		{"defaults", func(d *decoder, p *Plan, t source.Token) { d.defaultsType.decode(d, &p.Defaults, t) }},
		{"criteria", func(d *decoder, p *Plan, t source.Token) { d.conditions(&p.Criteria, t) }},
		{"mustNot", func(d *decoder, p *Plan, t source.Token) { d.conditions(&p.MustNot, t) }},
		{"links", func(d *decoder, p *Plan, t source.Token) { d.links(t) }},
		{"waves", func(d *decoder, p *Plan, t source.Token) { d.waves(t) }},
		{"tasks", func(d *decoder, p *Plan, t source.Token) {
			d.longList(t, "a list of tasks", func(i int, e source.Token) { d.readTask(i, e) })
		}},
		{"rehearse", func(d *decoder, p *Plan, t source.Token) { p.Rehearse = d.rehearse(t) }},
	}, isolationFields()...)
}

// PlanFields returns the names of the fields that a plan may have.
func PlanFields() []string { return newObjectType("", planFields()...).names() }

// TaskFields returns the names of the fields that a task may have.
func TaskFields() []string { return newObjectType("", taskFields()...).names() }

// taskFields returns the fields of a task. The names of blockedBy come first, so that they have the
// lowest bits in seen.
func taskFields() []field[Task] {
	var fields []field[Task]
	for k, name := range blockerNames() {
		fields = append(fields, field[Task]{name, func(d *decoder, _ *Task, t source.Token) {
			if d.blockedBy++; d.blockedBy == 2 {
				d.aliasLocation = t.At
			}
			d.blockers(uint8(k), t)
		}})
	}
	fields = append(fields,
		field[Task]{"id", func(d *decoder, task *Task, t source.Token) {
			var ok bool
			d.idLocation = t.At
			if task.ID, ok = d.id(t); ok {
				if why := invalidIDReason(task.ID); why != "" {
					d.errorf(t.At, CodeBadID, "task id %s %s; ids name folders: use letters, digits, - and _",
						source.Quote(task.ID), why)
				}
			}
		}},
		field[Task]{"subject", func(d *decoder, task *Task, t source.Token) { d.singleLine(&task.Subject, t) }},
		field[Task]{"description", func(d *decoder, task *Task, t source.Token) { d.text(&task.Description, t) }},
		field[Task]{"activeForm", func(d *decoder, task *Task, t source.Token) { d.singleLine(&task.ActiveForm, t) }},
		field[Task]{"prompt", func(d *decoder, task *Task, t source.Token) { d.prompt(&task.Prompt, t) }},
		field[Task]{"command", func(d *decoder, task *Task, t source.Token) { d.nonEmptyString(&task.Command, t) }},
		field[Task]{"foreach", func(d *decoder, _ *Task, t source.Token) { d.readForeach(t) }},
		field[Task]{"steps", func(d *decoder, _ *Task, t source.Token) { d.readSteps(t) }},
		field[Task]{"wave", func(d *decoder, task *Task, t source.Token) { d.wave(&task.Wave, t) }},
		field[Task]{"files", func(d *decoder, task *Task, t source.Token) { task.Files = d.fileList(t) }},
		field[Task]{"verify", func(d *decoder, task *Task, t source.Token) { task.Verify = d.verify(t) }},
		field[Task]{"criteria", func(d *decoder, task *Task, t source.Token) { d.conditions(&task.Criteria, t) }},
		field[Task]{"output", func(d *decoder, task *Task, t source.Token) { task.Output = d.outputSchema(t) }},
		field[Task]{"aspects", func(d *decoder, task *Task, t source.Token) { d.stringList(&task.Aspects, t) }},
		field[Task]{"exclusive", func(d *decoder, task *Task, t source.Token) { d.stringList(&task.Exclusive, t) }},
		field[Task]{"reversibility", func(d *decoder, task *Task, t source.Token) {
			if t.Kind == source.KindNumber {
				t.Kind = source.KindString // 1 counts as "1"
			}
			d.enum(&task.Reversibility, t, "2A", "2B", "1")
		}},
		field[Task]{"budgetUSD", func(d *decoder, task *Task, t source.Token) {
			d.positiveUSD(&task.BudgetUSD, t, "a share of the run's budget")
		}},
		field[Task]{"estimate", func(d *decoder, task *Task, t source.Token) { d.estimateType.decode(d, &task.Estimate, t) }},
		field[Task]{"metadata", func(d *decoder, task *Task, t source.Token) { d.metadata(task, t) }},
		field[Task]{"rehearse", func(d *decoder, task *Task, t source.Token) { task.Rehearse = d.rehearse(t) }},
	)
	for _, f := range settingsFields() {
		fields = append(fields, field[Task]{f.name, func(d *decoder, task *Task, t source.Token) {
			if task.Settings == nil {
				task.Settings = new(Settings)
			}
			f.read(d, task.Settings, t)
		}})
	}
	return fields
}

func (d *decoder) positiveUSD(dst *budget.USD, t source.Token, without string) {
	u, ok := d.usd(t)
	if ok && u == 0 {
		d.errorf(t.At, CodeBadNumber, "must be more than 0; leave the field out for %s", without)
	}
	*dst = u
}

func estimateFields() []field[Estimate] {
	return []field[Estimate]{
		{"seconds", func(d *decoder, e *Estimate, t source.Token) { e.Seconds, _ = d.number(t, maxDuration.Seconds()) }},
		{"usd", func(d *decoder, e *Estimate, t source.Token) { e.USD, _ = d.usd(t) }},
	}
}

// growTasks makes room for one more task, which begins at a location. If there is no room, it estimates the number of
// all tasks from the bytes of the tasks before, and grows at most eightfold, because few tasks tell little about the
// others. In YAML, where locations are not in bytes, it doubles the room.
func (d *decoder) growTasks(at source.Location) {
	n := len(d.plan.Tasks)
	if n < cap(d.plan.Tasks) {
		return
	}
	all := 64
	if n > 0 {
		all = min(max(int(float64(n)*1.05*float64(d.length)/float64(max(at, 1))), 2*n), 8*n)
	}
	d.plan.Tasks = append(make([]Task, 0, all), d.plan.Tasks...)
}

// readTask reads one element of tasks. It keeps a task with mistakes, because the index of a task
// is its number. After the last mistake that is shown, it reads no more tasks.
func (d *decoder) readTask(i int, t source.Token) {
	if d.errors >= maxDiagnostics {
		d.src.Skip(t)
		return
	}
	before := d.errors
	d.task, d.blockedBy = i, 0
	d.growTasks(t.At)
	d.plan.Tasks = append(d.plan.Tasks, Task{Pos: d.src.Pos(t.At)})
	d.taskLocations = append(d.taskLocations, t.At)
	task := &d.plan.Tasks[i]
	set, ok := d.taskType.decode(d, task, t)
	if !ok {
		return
	}
	if !d.taskType.has(set, "id") {
		d.errorf(t.At, CodeMissingField, `a task needs an id, like "T-%03d"`, i+1)
	} else if task.ID != "" {
		d.register(i, d.idLocation)
	}
	if bits.OnesCount64(uint64(set)&(1<<len(blockerNames())-1)) > 1 {
		d.warnf(d.aliasLocation, CodeMixedAliases,
			"blockers are given under more than one name; all of them count, but blockedBy alone is clearer")
	}
	had := func(name string) bool { return d.taskType.has(set, name) }
	if had("steps") {
		d.checkSteps(task, had, t)
		return
	}
	d.finishTask(task, had, before, t)
}

// finishTask applies the rules for several fields of a task. before is the number of errors before the task.
func (d *decoder) finishTask(task *Task, had func(string) bool, before int, t source.Token) {
	switch {
	case !had("subject") && !had("prompt") && !had("command"):
		d.errorf(t.At, CodeNoWork, "task %s has neither subject nor prompt nor command; say what to do",
			source.Quote(task.ID))
	case had("command") && had("prompt"):
		d.errorf(t.At, CodeConflict, "task %s has both command and prompt; a command runs without an agent, so keep one, or split the task", source.Quote(task.ID))
	}
	if task.Output != nil && !had("command") {
		d.requireObject(task.Output)
	}
	if !had("verify") {
		if run := VerifyCommand(task.Description); run != "" {
			d.checks.scratch = append(d.checks.scratch, Check{Run: run})
			task.Verify = d.checks.flush()
		}
	}
	task.Reversibility = cmp.Or(task.Reversibility, "2A")
	// If the task has another mistake, that mistake may be in its check.
	if d.errors == before && !task.HasCheck() {
		d.warnf(t.At, CodeNoCheck, "task %s has no check, so nothing but the agent's word will show that it is done; add verify", source.Quote(task.ID))
	}
}

func (d *decoder) register(i int, at source.Location) {
	id := d.plan.Tasks[i].ID
	other, ok := d.ids.add(id, i)
	if ok {
		if other >= firstLater {
			d.later.tasks[other-firstLater] = int32(i)
		}
		return
	}
	first := d.plan.Tasks[other]
	switch {
	case first.ID == id:
		d.errorf(at, CodeDuplicateID, "duplicate task id %s, first used in line %d; rename one", source.Quote(id),
			first.Pos.Line)
	case strings.EqualFold(first.ID, id):
		d.errorf(at, CodeDuplicateID, "task id %s differs from %s in line %d by case alone, which is one folder on macOS and Windows; rename one", source.Quote(id), source.Quote(first.ID), first.Pos.Line)
	default:
		d.errorf(at, CodeDuplicateID, "task ids %s and %s (line %d) are the same number; rename one", source.Quote(id),
			source.Quote(first.ID), first.Pos.Line)
	}
}

func (d *decoder) metadata(task *Task, t source.Token) {
	if t.Kind != source.KindObject {
		d.wrongType(t, source.KindObject.String())
		return
	}
	task.Metadata = map[string]json.RawMessage{}
	for {
		name := d.src.Next()
		if name.Kind != source.KindString || d.full() {
			return
		}
		d.enter(step{name: name.Text})
		value := d.src.Raw(d.src.Next())
		switch _, twice := task.Metadata[name.Text]; {
		case twice:
			d.errorf(name.At, CodeDuplicateField, "field %s is given twice; keep one", source.Quote(name.Text))
		case len(task.Metadata) == maxList:
			d.errorf(name.At, CodeTooLarge, "metadata has at most %d fields", maxList)
		default:
			task.Metadata[name.Text] = value
		}
		d.leave()
	}
}

// schema is for editors. The decoder does not use it: the decoder has more rules (ids, edges, files) and reports
// positions. A test compares the two.
//
//go:embed schema.json
var schema []byte

// Schema returns the JSON Schema (2020-12) of plan files. The caller may keep the bytes.
func Schema() []byte { return append([]byte(nil), schema...) }
