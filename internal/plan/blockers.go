package plan

// This file converts blockedBy to a graph and reports its mistakes: unknown tasks, self-edges,
// cycles. It keeps no list of blockers; edges go straight to the graph.

import (
	"slices"
	"strings"

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
	r := blockerName{at: t.At, task: int32(d.task), element: -1, name: name}
	if t.Kind == source.KindString || t.Kind == source.KindNumber {
		d.blocker(r, t)
		return
	}
	d.longList(t, "a list of task ids", func(i int, e source.Token) {
		r.at, r.element = e.At, int32(i)
		d.blocker(r, e)
	})
}

func (d *decoder) blocker(r blockerName, t source.Token) {
	id, ok := d.id(t)
	if !ok {
		return
	}
	blocker, known := d.ids.find(id)
	if !known {
		if blocker = int32(firstLater + len(d.later)); len(d.later) < maxLater {
			d.later = append(d.later, laterTask{id, -1})
			d.ids.set(id, blocker)
		}
	}
	switch {
	case d.currentBlockers.checkAndAdd(r.task, blocker):
		if d.warnings >= maxDiagnostics { // a path and a text for each would take minutes
			d.warnings++
			return
		}
		d.addDiagnostic(r.at, SeverityWarning, CodeDuplicateBlocker, r.path(),
			"%s is already among the blockers of this task; once is enough", source.Quote(id))
	case blocker < firstLater:
		d.edges.Edge(int(r.task), int(blocker))
	case len(d.later) == maxLater || len(d.forward) == maxForward:
		d.errorf(r.at, CodeTooLarge, "too many blockers come before their tasks; put tasks behind their blockers")
	default:
		d.forward = append(d.forward, forward{r, blocker - firstLater})
	}
}

// firstLater is the first number of a task that was named before it was read. No plan file has room for so many tasks.
const firstLater = 1 << 30

// maxLater and maxForward bound the tasks that are named before they are read, and their names: those of a hostile file
// would take all memory.
const (
	maxLater   = 4 << 20
	maxForward = 16 << 20
)

// laterTask is a task that is named as a blocker before it is read. The index of ids has its number until then.
type laterTask struct {
	id   string
	task int32 // -1: it was not read yet
}

// forward is a blocker that was not read yet.
type forward struct {
	blockerName
	later int32 // into later of the decoder
}

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

// resolveBlockers adds the edges to blockers that were named before their tasks, builds the graph, and reports unknown
// tasks, self-edges and cycles.
func (d *decoder) resolveBlockers() {
	d.suggestions = 5_000_000
	for _, f := range d.forward {
		if d.full() {
			break
		}
		switch later := d.later[f.later]; later.task {
		case -1:
			d.addDiagnostic(f.at, SeverityError, CodeUnknownTask, f.path(), "unknown task %s in %s%s", source.Quote(later.id),
				blockerNames()[f.name], d.suggestID(later.id))
		case f.task:
			d.addDiagnostic(f.at, SeverityError, CodeSelfEdge, f.path(), "task %s is blocked by itself; remove the entry",
				source.Quote(d.plan.Tasks[f.task].ID))
		default:
			d.edges.Edge(int(f.task), int(later.task))
		}
	}
	d.forward, d.later = nil, nil
	d.plan.Graph = d.edges.Build(len(d.plan.Tasks))
	d.addReferenceEdges()
	for _, cycle := range d.plan.Graph.Cycles() {
		path := []step{{name: "tasks"}, {index: cycle[0], element: true}}
		d.addDiagnostic(d.taskLocations[cycle[0]], SeverityError, CodeCycle, path,
			"cycle: %s; each must be done before the next, so none can start: remove one of these from a blockedBy",
			d.cycleText(cycle))
	}
}

// cycleText returns "T-001 -> T-002 -> T-001"; the middle of a long cycle is omitted. An arrow leads to the task that
// waits, as in a critical path; in cycle each task waits for the next.
func (d *decoder) cycleText(cycle []int) string {
	const ends = 10
	cycle = slices.Clone(cycle)
	slices.Reverse(cycle[1:])
	var b strings.Builder
	for k, i := range cycle {
		if len(cycle) > 2*ends+1 && k == ends {
			b.WriteString("... -> ")
		}
		if len(cycle) > 2*ends+1 && k >= ends && k < len(cycle)-ends {
			continue
		}
		b.WriteString(d.plan.Tasks[i].ID)
		b.WriteString(" -> ")
	}
	b.WriteString(d.plan.Tasks[cycle[0]].ID)
	return b.String()
}
