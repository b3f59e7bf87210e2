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
	type users struct {
		tasks  []int
		writes bool
	}
	declared := false
	for i := range d.plan.Tasks {
		declared = declared || len(d.plan.Tasks[i].Files) > 0
	}
	if !declared {
		return
	}
	wave, _ := d.plan.Waves()
	// Most files have one user, so the map holds numbers, and lists only for files with several
	// users.
	first := make(map[key]int32)
	shared := make(map[key]*users)
	var order []key
	for i := range d.plan.Tasks {
		for _, f := range d.plan.Tasks[i].Files {
			k := key{wave[i], f.Path}
			j, taken := first[k]
			if !taken {
				first[k] = int32(i)
				continue
			}
			if int(j) == i || sameItem(&d.plan.Tasks[j], &d.plan.Tasks[i]) {
				continue
			}
			u := shared[k]
			if u == nil {
				u = &users{tasks: []int{int(j)}, writes: writes(d.plan.Tasks[j].Files, f.Path)}
				shared[k] = u
				order = append(order, k)
			}
			if u.tasks[len(u.tasks)-1] != i {
				u.tasks = append(u.tasks, i)
			}
			u.writes = u.writes || f.Writes()
		}
	}
	for _, k := range order {
		u := shared[k]
		if !u.writes || d.plan.Sequential(k.wave) {
			continue
		}
		i := u.tasks[1]
		path := []step{{name: "tasks"}, {index: i, element: true}, {name: "files"}}
		d.addDiagnostic(d.taskLocations[i], SeverityWarning, CodeFileOverlap, path,
			"tasks %s of wave %d declare %s and will run one after the other; use blockedBy if their order matters",
			d.taskNames(u.tasks), k.wave, source.Quote(k.path))
	}
}

// sameItem reports whether two tasks are steps of one item: they follow each other in any case.
func sameItem(a, b *Task) bool { return a.Step > 0 && b.Step > 0 && a.Item() == b.Item() }

func writes(files []File, path string) bool {
	return slices.ContainsFunc(files, func(f File) bool { return f.Path == path && f.Writes() })
}

// taskNames names tasks, only the first few of many.
func (d *decoder) taskNames(tasks []int) string {
	const most = 5
	names := IDs(d.plan, tasks[:min(most, len(tasks))])
	if more := len(tasks) - most; more > 0 {
		return textfmt.FirstOf(names, most, more)
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
