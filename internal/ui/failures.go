package ui

import (
	"cmp"
	"fmt"
	"slices"

	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// This file keeps failures in sight: the live part repeats those whose lines of record have scrolled off the screen.

const (
	maxKeptFailures = 20 // of which the live part knows the texts
	maxFailureLines = 7
)

// failures holds the failed tasks of a run.
type failures struct {
	tasks map[string]bool
	kept  []failure // the last ones, the newest last
}

// failure is a failed task.
type failure struct {
	task   string // its id
	head   string
	output []string // the end of its output, and the command that shows all of it
	row    int      // number of the first line of record about it
	below  int      // rows of the screen that lines of record take from that one on
	gone   bool     // they have moved it off the screen
}

// update follows an event whose first line of record has a number.
func (f *failures) update(e event.Event, s *scheduler.State, row int) {
	for _, id := range e.Failed() {
		f.add(s, id, row)
	}
	if len(f.tasks) == s.Counts.Failed {
		return
	}
	failed := func(id string) bool {
		i, ok := s.Index(id)
		return ok && s.Tasks[i].Status == event.Failed
	}
	f.kept = slices.DeleteFunc(f.kept, func(x failure) bool { return !failed(x.task) })
	for id := range f.tasks {
		if !failed(id) {
			delete(f.tasks, id)
		}
	}
	for i := 0; i < len(s.Tasks) && len(f.tasks) < s.Counts.Failed; i++ {
		if s.Tasks[i].Status == event.Failed {
			f.add(s, s.Plan.Tasks[i].ID, row)
		}
	}
}

// add adds a task that has failed.
func (f *failures) add(s *scheduler.State, id string, row int) {
	i, ok := s.Index(id)
	if !ok || f.tasks[id] || s.Tasks[i].Status != event.Failed {
		return
	}
	if f.tasks == nil {
		f.tasks = map[string]bool{}
	}
	f.tasks[id] = true
	t, reason, output := &s.Tasks[i], "", ""
	if l := t.Last; l != nil {
		reason, output = l.Reason, report.FailedOutput(l.Checks, l.Detail)
	}
	if t.Stop != nil {
		reason = cmp.Or(reason, t.Stop.Reason)
	}
	f.kept = append(f.kept, failure{task: id, head: taskLabel(s, id) + "  " + fitText(reason),
		output: report.OutputLines(id, output), row: row})
	f.kept = f.kept[max(len(f.kept)-maxKeptFailures, 0):]
}

// scroll notes that a line of record with a number took rows of the screen.
func (f *failures) scroll(row, rows int) {
	for k := range f.kept {
		if f.kept[k].row <= row {
			f.kept[k].below += rows
		}
	}
}

// leave notes which failures have at least so many rows from theirs on. They stay in the live part, also when that
// becomes shorter.
func (f *failures) leave(below int) {
	for k := range f.kept {
		f.kept[k].gone = f.kept[k].gone || f.kept[k].below >= below
	}
}

// lines returns at most room lines about the failures that have left the screen: the newest with the end of its output,
// and the others as far as there is room.
func (f *failures) lines(columns, room int, ascii bool) (out []string) {
	var gone []failure
	for _, x := range slices.Backward(f.kept) {
		if x.gone {
			gone = append(gone, x)
		}
	}
	if len(gone) == 0 || room < 1 {
		return nil
	}
	sign := marks[markBad].sign
	if ascii {
		sign = marks[markBad].ascii
	}
	others := len(gone) - 1
	more := len(f.tasks) - len(f.kept) // older ones, whose texts are not kept
	output := gone[0].output
	output = output[max(len(output)-max(room-1-min(others+more, 2), 0), 0):]
	heads := min(others, room-1-len(output))
	if hidden := others + more - heads; hidden > 0 && heads > 0 {
		heads--
	}
	for k, x := range gone[:1+heads] {
		out = append(out, sign+" "+x.head)
		if k == 0 {
			out = append(out, output...)
		}
	}
	if hidden := others + more - heads; hidden > 0 && len(out) < room {
		out = append(out, fmt.Sprintf("  and %d more failed: wavex status", hidden))
	}
	for k := range out {
		out[k] = textfmt.Truncate(out[k], columns, ascii)
	}
	return out
}
