package plan

// This file converts blockedBy to a graph and reports its mistakes: unknown tasks, self-edges,
// cycles. It keeps no list of blockers; edges go straight to the graph.

import (
	"slices"

	"wavex/internal/plan/source"
)

// blockerNames returns the field's own name and its names in other tools.
func blockerNames() []string {
	return []string{"blockedBy", "addBlockedBy", "depends", "depends_on", "dependsOn", "dependencies"}
}

// blockerName is the place where a task names a blocker.
type blockerName struct {
	at      source.Location
	task    int32
	element int32 // its index in the list; -1 for a single value
	name    uint8 // of the field, into blockerNames
}

// blockers reads the blockers of the current task: a list of ids, or one id.
func (d *decoder) blockers(name uint8, t source.Token) {
	d.eachBlocker(blockerName{task: int32(d.task), name: name}, t, d.blocker)
}

// eachBlocker calls read for each value of a list of blockers, or for one id.
func (d *decoder) eachBlocker(r blockerName, t source.Token, read func(blockerName, source.Token)) {
	if t.Kind == source.KindString || t.Kind == source.KindNumber {
		r.at, r.element = t.At, -1
		read(r, t)
		return
	}
	d.longList(t, "a list of task ids", func(i int, e source.Token) {
		r.at, r.element = e.At, int32(i)
		read(r, e)
	})
}

func (d *decoder) blocker(r blockerName, t source.Token) {
	id, ok := d.id(t)
	if !ok {
		return
	}
	blocker, ok := d.taskNumber(id)
	if !ok {
		d.misnamed.add(r.task)
		return
	}
	if d.currentBlockers.checkAndAdd(r.task, blocker) {
		if d.warnings >= maxDiagnostics { // a path and a text for each would take minutes
			d.warnings++
			return
		}
		d.addDiagnostic(r.at, SeverityWarning, CodeDuplicateBlocker, r.path(),
			"%s is already among the blockers of this task; once is enough", source.Quote(id))
		return
	}
	d.edges.Edge(int(r.task), int(blocker))
}

// firstLater is the first number of a task that was named before it was read. No plan file has room for so many tasks.
const firstLater = 1 << 30

// laterTasks holds the tasks that are named as blockers before they are read. The index of ids has their numbers until
// then, so that the order of the tasks costs no memory for each blocker.
type laterTasks struct {
	tasks []int32 // by number less firstLater: the task, or -1
	most  int
}

// taskNumber returns the task with an id, or the number of one that was not read yet. It returns false if too many are
// named before they are read, as in a hostile file.
func (d *decoder) taskNumber(id string) (int32, bool) {
	n, known := d.ids.find(id)
	if known || len(d.later.tasks) == d.later.most {
		return n, known
	}
	n = int32(firstLater + len(d.later.tasks))
	d.later.tasks = append(d.later.tasks, -1)
	d.ids.set(id, n)
	return n, true
}

// taskSet is a set of tasks.
type taskSet []bool

func (s *taskSet) add(task int32) {
	if n := int(task) + 1; n > len(*s) {
		*s = append(*s, make([]bool, n-len(*s))...)
	}
	(*s)[task] = true
}

func (s taskSet) has(task int) bool { return task < len(s) && s[task] }

// blockerSet remembers the blockers of one task at a time. Few tasks have more than a handful, and
// searching those is faster than marks in a table of all tasks.
type blockerSet struct {
	task int32
	few  []int32
	many map[int32]bool // used once there are more than a few
}

// checkAndAdd adds a blocker, and reports whether it was there already.
func (n *blockerSet) checkAndAdd(task, blocker int32) bool {
	if task != n.task {
		n.task, n.few, n.many = task, n.few[:0], nil
	}
	if n.many != nil {
		was := n.many[blocker]
		n.many[blocker] = true
		return was
	}
	if slices.Contains(n.few, blocker) {
		return true
	}
	if n.few = append(n.few, blocker); len(n.few) > 32 {
		n.many = make(map[int32]bool)
		for _, b := range n.few {
			n.many[b] = true
		}
	}
	return false
}

func (r blockerName) path() []step {
	p := []step{{name: "tasks"}, {index: int(r.task), element: true}, {name: blockerNames()[r.name]}}
	if r.element >= 0 {
		p = append(p, step{index: int(r.element), element: true})
	}
	return p
}

// resolveBlockers gives blockers that were named before their task its place, builds the graph, and reports unknown
// tasks, self-edges and cycles.
func (d *decoder) resolveBlockers() {
	d.suggestions = 5_000_000
	d.edges.ReplaceBlockers(firstLater, d.later.tasks, func(task int) { d.misnamed.add(int32(task)) })
	d.later = laterTasks{}
	if d.misnamed != nil {
		d.reportBlockers()
	}
	d.plan.Graph = d.edges.Build(len(d.plan.Tasks))
	d.addReferenceEdges()
	for _, cycle := range d.plan.Graph.Cycles() {
		path := []step{{name: "tasks"}, {index: cycle[0], element: true}}
		d.addDiagnostic(d.taskLocations[cycle[0]], SeverityError, CodeCycle, path,
			"cycle: %s; each must be done before the next, so none of them can start: remove one of these blockedBy entries",
			d.cycleText(cycle))
	}
}

// reportBlockers reads the file again, and reports the blockers of misnamed that are no other task. Few files have
// any, and the positions of all blockers would take more memory than the plan. The other blockers become edges, which
// most of them are already.
func (d *decoder) reportBlockers() {
	names := blockerNames()
	d.src.Restart()
	d.src.Next()
	d.eachField(func(field string, list source.Token) {
		if field != "tasks" || list.Kind != source.KindArray || d.misnamed == nil {
			d.src.Skip(list)
			return
		}
		d.longList(list, "", func(i int, task source.Token) {
			if task.Kind != source.KindObject || !d.misnamed.has(i) {
				d.src.Skip(task)
				return
			}
			d.eachField(func(field string, value source.Token) {
				k := slices.Index(names, field)
				if k < 0 {
					d.src.Skip(value)
					return
				}
				d.eachBlocker(blockerName{task: int32(i), name: uint8(k)}, value, d.judgeBlocker)
			})
		})
		d.misnamed = nil // a second list is a mistake that was reported
	})
}

// eachField calls read for each field of the object that was opened last. read must consume the value.
func (d *decoder) eachField(read func(name string, value source.Token)) {
	for {
		name := d.src.Next()
		if name.Kind != source.KindString || d.full() {
			return
		}
		read(name.Text, d.src.Next())
	}
}

// judgeBlocker reports a blocker that is not a task, or is the task itself.
func (d *decoder) judgeBlocker(r blockerName, t source.Token) {
	if t.Kind != source.KindString && t.Kind != source.KindNumber {
		d.src.Skip(t)
		return
	}
	switch i, ok := d.ids.get(t.Text); {
	case !ok:
		d.addDiagnostic(r.at, SeverityError, CodeUnknownTask, r.path(), "unknown task %s in %s%s", source.Quote(t.Text),
			blockerNames()[r.name], d.suggestID(t.Text))
	case i == r.task:
		d.addDiagnostic(r.at, SeverityError, CodeSelfEdge, r.path(), "task %s is blocked by itself; remove the entry",
			source.Quote(d.plan.Tasks[i].ID))
	default:
		d.edges.Edge(int(r.task), int(i))
	}
}
