package convert

// This file makes tasks of the boxes of a file, and orders them.

import (
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
)

// maxBoxEdges bounds the blockers that the order of a file may need.
const maxBoxEdges = 1 << 20

// box is one box of a file.
type box struct {
	task     importedTask
	mark     byte // between the brackets
	optional bool // [ ]* of Kiro
	beside   bool // [P]: may run beside the boxes around it
	gate     bool // a person must look
	width    int  // of the indentation
	parent   *box
	children []*box
	phase    int      // counts the headings of phases
	lines    []string // text below the box
	needs    []phrase // keys of boxes that it waits for

	begun      bool     // in the order of the tasks
	live, told bool     // a box in it becomes a task; a task has its text
	ends       []string // ids of the tasks that stand for it; none if it is done
}

// boxReader reads the boxes of one file.
type boxReader struct {
	noID []string // boxes of spec-kit without an id
	*importedPlan
	of       Form
	boxes    []*box
	keys     map[string]*box // by id
	ids      map[string]int  // how many boxes have an id
	phases   int
	top      *box   // last box that a line may belong to
	list     bool   // the last line at the left edge was of a list
	blank    bool   // the last line was blank
	fence    string // mark of an indented fence
	accept   bool   // below "Acceptance:"
	heading  phrase
	prose    []string // of the section, outside boxes
	proseAt  source.Location
	from, to int // lines of prose; 0: none
	number   int // of the line
	held     int // boxes of the section

	before, run []string // see orderBoxes
	lastPhase   int
	edges, done int
	beside      bool // a box has [P]
}

// orderBoxes makes tasks of the boxes that are to run. Boxes come as written, nested ones before the box that they are
// in, and declared blockers before all. The tasks of a run of [P] wait for those that stand before the run in its
// phase; any other task also waits for the run. Boxes that make no task pass the order on.
func (r *boxReader) orderBoxes() {
	for _, b := range r.boxes {
		r.visit(b)
	}
	switch n := len(r.tasks); {
	case r.done > 0 && n > 0:
		r.Warn(r.boxes[0].task.at, plan.CodeNotCarried, "boxes that are ticked and were left out: %d of %d", r.done,
			len(r.boxes))
	case n == 0 && len(r.boxes) > 0:
		r.Error(r.boxes[0].task.at, plan.CodeEmptyPlan, "no box is left to run; boxes that are ticked: %d of %d",
			r.done, len(r.boxes))
	}
	if !r.beside && len(r.tasks) > 1 {
		r.Warn(r.tasks[1].at, plan.CodeGuessed, "no task is marked [P]: they run one after the other, as written; "+
			"put [P] before the text of those that may run side by side, or edit blockedBy after wavex import")
	}
}

// visit puts a box into the order, after those that it waits for.
func (r *boxReader) visit(b *box) {
	if b.begun || r.edges > maxBoxEdges {
		return
	}
	if b.begun = true; b.mark != 'x' && b.mark != 'X' {
		b.ends = []string{b.task.id.text} // for those in a cycle
	}
	for _, key := range b.needs {
		if n := r.keys[normalizeID(key.text)]; n != nil {
			r.visit(n)
		}
	}
	for _, c := range b.children {
		r.visit(c)
	}
	if !b.beside || b.phase != r.lastPhase {
		if r.lastPhase = b.phase; len(r.run) > 0 {
			r.before, r.run = r.run, nil
		}
	}
	active := r.of == FormKiro || b.mark == ' '
	switch quoted := source.Quote(b.task.id.text + " " + b.task.subject.text); {
	case b.mark == 'x' || b.mark == 'X':
		r.done++
	case !active:
		b.ends = nil
		r.Warn(b.task.at, plan.CodeNotCarried, "the box %s is marked [%c], neither open nor done: it does not run, "+
			"and no task waits for it; mark it [ ] if it is to run", quoted, b.mark)
	case b.gate:
		r.look(b)
	case r.of == FormKiro && b.live:
		b.ends = r.before
	default:
		if b.mark != ' ' {
			r.Warn(b.task.at, plan.CodeGuessed, "the task %s is marked [%c], in progress: it runs from the start",
				quoted, b.mark)
		}
		r.addTask(b)
	}
}

// look makes a criterion of a box that asks for a person: of the task before it, or of the plan.
func (r *boxReader) look(b *box) {
	b.ends = r.before
	text := strings.Join(strings.Fields(b.task.subject.text+"\n"+strings.Join(b.lines, "\n")), " ")
	of := "the plan"
	if n := len(r.tasks); n > 0 {
		t := r.tasks[n-1]
		t.manual = append(t.manual, phrase{text, b.task.at})
		of = "task " + source.Quote(t.id.text)
	} else {
		r.criteria = append(r.criteria, phrase{text, b.task.at})
	}
	r.Warn(b.task.at, plan.CodeManualCheck, "%s asks for a person: it became a criterion of %s",
		source.Quote(b.task.subject.text), of)
}

// addTask makes a task of a box.
func (r *boxReader) addTask(b *box) {
	t, known := &b.task, map[string]bool{}
	add := func(ids []string) {
		for _, id := range ids {
			if !known[id] {
				known[id] = true
				t.blockers = append(t.blockers, phrase{id, t.at})
			}
		}
	}
	add(r.before)
	if !b.beside {
		add(r.run)
	}
	for _, c := range b.children {
		add(c.ends)
	}
	for _, key := range b.needs {
		if n := r.keys[normalizeID(key.text)]; n != nil {
			add(n.ends)
		} else {
			r.Warn(key.at, plan.CodeNotCarried, "%s waits for %s, which is not in the file; it does not wait",
				source.Quote(t.id.text), source.Quote(key.text))
		}
	}
	if r.edges += len(t.blockers); r.edges > maxBoxEdges {
		r.Error(t.at, plan.CodeTooLarge, "so many [P] tasks wait for so many others; put a task without [P] between them")
		return
	}
	t.action = phrase{dedent(strings.Join(b.lines, "\n")), t.at}
	for p := b.parent; p != nil; p = p.parent {
		if r.of == FormKiro && !p.told {
			t.section(p.task.subject.text, dedent(strings.Join(p.lines, "\n")))
			t.manual = append(t.manual, p.task.manual...)
		}
		p.live, p.told = true, true
	}
	if b.parent != nil {
		t.section("Part of", b.parent.task.subject.text)
	}
	if r.tasks = append(r.tasks, t); b.beside {
		r.run = append(r.run, t.id.text)
	} else {
		r.before, r.run = b.ends, nil
	}
}
