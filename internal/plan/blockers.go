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

// maxReferences bounds the blockers that come before their tasks: each is held until the end of the
// file, in 48 bytes.
const maxReferences = 1 << 17

// blockerName is a blocker that was named before its task was read.
type blockerName struct {
	at      source.Location
	id      string
	task    int32
	element int32 // its index in the list; -1 for a single value
	name    uint8 // of the field, into blockerNames
}

// blockers reads the blockers of the current task: a list of ids, or one id.
func (d *decoder) blockers(name uint8, t source.Token) {
	if t.Kind == source.KindString || t.Kind == source.KindNumber {
		d.blocker(blockerName{task: int32(d.task), element: -1, name: name}, t)
		return
	}
	d.longList(t, "a list of task ids", func(i int, e source.Token) {
		d.blocker(blockerName{task: int32(d.task), element: int32(i), name: name}, e)
	})
}

func (d *decoder) blocker(r blockerName, t source.Token) {
	id, ok := d.id(t)
	if !ok {
		return
	}
	if i, known := d.ids.get(d.plan.Tasks, id); known {
		d.edge(r.task, i, r, t.At)
		return
	}
	if len(d.unresolved) == maxReferences {
		d.errorf(t.At, CodeTooLarge, "too many blockers come before their tasks; write a task after its blockers")
		return
	}
	r.at, r.id = t.At, id
	d.unresolved = append(d.unresolved, r)
}

func (d *decoder) edge(task, blocker int32, r blockerName, at source.Location) {
	if d.currentBlockers.checkAndAdd(task, blocker) {
		d.addDiagnostic(at, SeverityWarning, CodeDuplicateBlocker, r.path(),
			"%s is already among the blockers of this task; once is enough", source.Quote(d.plan.Tasks[blocker].ID))
		return
	}
	d.edges.Edge(int(task), int(blocker))
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

// resolveBlockers resolves the remaining references, builds the graph, and reports cycles.
func (d *decoder) resolveBlockers() {
	d.suggestions = 5_000_000
	for _, r := range d.unresolved {
		i, ok := d.ids.get(d.plan.Tasks, r.id)
		switch {
		case d.full():
		case !ok:
			d.addDiagnostic(r.at, SeverityError, CodeUnknownTask, r.path(), "unknown task %s in %s%s", source.Quote(r.id),
				blockerNames()[r.name], d.suggestID(r.id))
		case i == r.task:
			d.addDiagnostic(r.at, SeverityError, CodeSelfEdge, r.path(), "task %s is blocked by itself; remove the entry",
				source.Quote(d.plan.Tasks[i].ID))
		default:
			d.edge(r.task, i, r, r.at)
		}
	}
	d.unresolved = nil
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
