package plan

// This file finds tasks of one wave that declare the same file. That is allowed, because the
// scheduler runs them one after the other; the file only warns.

import (
	"slices"
	"strings"

	"wavex/internal/plan/source"
	"wavex/internal/textfmt"
)

// overlaps warns once for each file and wave, at the second task that declares the file. Tasks that
// all only read a file do not conflict.
func (d *decoder) overlaps() {
	type key struct {
		wave int
		path string
	}
	declared := false
	for i := range d.plan.Tasks {
		declared = declared || len(d.plan.Tasks[i].Files) > 0
	}
	if !declared {
		return
	}
	wave, _ := d.plan.Waves()
	users := make(map[key][]int)
	var order []key // of files with several users
	for i := range d.plan.Tasks {
		for _, f := range d.plan.Tasks[i].Files {
			k := key{wave[i], f.Path}
			tasks := users[k]
			n := len(tasks)
			if n > 0 && (tasks[n-1] == i || sameItem(&d.plan.Tasks[tasks[0]], &d.plan.Tasks[i])) {
				continue
			}
			if users[k] = append(tasks, i); n == 1 {
				order = append(order, k)
			}
		}
	}
	for _, k := range order {
		tasks := users[k]
		writes := func(i int) bool { return slices.Contains(Written(d.plan.Tasks[i].Files), k.path) }
		if !slices.ContainsFunc(tasks, writes) || d.plan.Sequential(k.wave) {
			continue
		}
		i := tasks[1]
		path := []step{{name: "tasks"}, {index: i, element: true}, {name: "files"}}
		d.addDiagnostic(d.taskLocations[i], SeverityWarning, CodeFileOverlap, path,
			"tasks %s of wave %d declare %s and will run one after the other; use blockedBy if their order matters",
			d.taskNames(tasks), k.wave, source.Quote(k.path))
	}
}

// sameItem reports whether two tasks are steps of one item: they follow each other in any case.
func sameItem(a, b *Task) bool { return a.Step > 0 && b.Step > 0 && a.Item() == b.Item() }

// taskNames names tasks, only the first few of many.
func (d *decoder) taskNames(tasks []int) string {
	const most = 5
	names := IDs(d.plan, tasks[:min(most, len(tasks))])
	if more := len(tasks) - most; more > 0 {
		return textfmt.FirstOf(names, most, more)
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
