package tasklist

// This file converts a list to a plan. Each task becomes a task of a native plan, which package
// plan checks; the diagnostics refer to the task's own file. It runs nothing.

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"wavex/internal/jsonobject"
	"wavex/internal/plan"
	"wavex/internal/plan/source"
)

// The metadata fields of wavex. Loops of this kind share the first four.
const (
	metaWave         = "wave"         // the wave it ran in, from 1
	metaLoop         = "loopId"       // the last run that worked on it
	metaVerification = "verification" // the evidence of its completion
	metaStuck        = "stuckCount"   // attempts that ended stuck
	metaAdded        = "remediation"  // the id of a task that the run itself added
	metaPlanID       = "planId"       // the id in the plan that it was exported from
	metaFields       = "wavex"        // plan fields without a place in a list
	metaInternal     = "_internal"    // the CLI's own tasks, which it hides
)

// Plan returns the list as a plan, with all its diagnostics. The plan is nil if a diagnostic is an
// error. The error means that there is no readable list.
//
// Completed tasks are omitted, and no task waits for them, except those that the run named by run
// completed, because a resume needs them. Tasks that this run added are omitted too: its journal
// has them. With "" there is no such run.
func (l *List) Plan(ctx context.Context, run string) (*plan.Plan, []plan.Diagnostic, error) {
	tasks, bad, err := l.Read(ctx)
	if err != nil {
		return nil, nil, err
	}
	ds := make([]plan.Diagnostic, 0, len(bad))
	for _, b := range bad {
		ds = append(ds, b.diagnostic())
	}
	all, left := len(tasks), map[string]bool{}
	tasks = slices.DeleteFunc(tasks, func(t *Task) bool {
		left[t.ID] = !t.isPartOf(run)
		return left[t.ID]
	})
	if len(tasks) == 0 && len(bad) == 0 {
		text := "the list has no tasks; create some in a session that uses it, or put a plan there: " +
			"wavex export --task-list " + l.Name + " PLAN"
		if all > 0 {
			text = fmt.Sprintf("nothing is left to do: all %d tasks of the list are completed", all)
		}
		ds = append(ds, plan.Diagnostic{Severity: plan.SeverityError, Code: plan.CodeEmptyPlan, Message: text, File: l.Dir})
	}
	out := jsontext.Value(`{"version":1,"name":`)
	out = append(out, jsonobject.Quote(l.Name)...)
	out = append(out, `,"tasks":[`...)
	edges := blockers(tasks, left)
	for i, t := range tasks {
		if i > 0 {
			out = append(out, ',')
		}
		o, wrong := t.planTask(edges[t.ID], run == "")
		if wrong != nil {
			wrong.File, wrong.Src = l.file(t.ID), t.src
			ds = append(ds, wrong.diagnostic())
		}
		out = append(out, o.Value()...)
		if t.Status == InProgress && t.Owner != Owner {
			ds = append(ds, l.inProgressWarning(t))
		}
	}
	out = append(out, "]}"...)
	if plan.HasErrors(ds) { // more diagnostics would only repeat it
		return nil, ds, nil
	}
	_ = out.Compact() // its parts are JSON; white space does not change the plan
	p, judged := plan.Parse(l.Dir+".json", out, plan.Options{})
	for _, d := range judged {
		ds = append(ds, l.relocate(d, tasks))
	}
	if p != nil {
		p.Path = l.Dir
		for i := range p.Tasks {
			p.Tasks[i].Pos = plan.Pos{Line: 1, Column: 1} // each task has its own file
		}
	}
	return p, ds, nil
}

// inProgressWarning warns about a task that a session may be working on.
func (l *List) inProgressWarning(t *Task) plan.Diagnostic {
	who := "somebody"
	if t.Owner != "" {
		who = source.Quote(t.Owner)
	}
	d := plan.Diagnostic{Severity: plan.SeverityWarning, Code: plan.CodeGuessed, File: l.file(t.ID), Path: "status",
		Message: fmt.Sprintf("task %s is in progress already: %s may be at work on it; the run starts it anew", t.ID, who)}
	d.Line, d.Column = position(t.src, t.offset("status"))
	return d
}

// isPartOf reports whether a task is part of the plan for a run.
func (t *Task) isPartOf(run string) bool {
	ours := run != "" && t.Metadata.Text(metaLoop) == run
	switch {
	case t.Metadata.Get(metaInternal) != nil:
		return false
	case t.Metadata.Get(metaAdded) != nil && ours:
		return false
	}
	return ours || t.Status != Completed
}

// blockers returns the blockers of each task, without the omitted ones, which are done; left has all tasks, and whether
// they are omitted. A blocker may be written in any spelling of the id of a task (plan.NumericID). An edge
// counts even if only one of the two files has it. A blocker without a file stays: the plan's
// reader refuses it.
func blockers(tasks []*Task, left map[string]bool) map[string][]string {
	edges := map[string][]string{}
	spelling := map[uint64]string{} // of the ids that are numbers
	for id := range left {
		if n, ok := plan.NumericID(id); ok && (spelling[n] == "" || id < spelling[n]) {
			spelling[n] = id
		}
	}
	own := func(id string) string {
		n, ok := plan.NumericID(id)
		if _, listed := left[id]; listed || !ok || spelling[n] == "" {
			return id
		}
		return spelling[n]
	}
	add := func(id, blocker string) {
		id, blocker = own(id), own(blocker)
		if !left[blocker] && !slices.Contains(edges[id], blocker) {
			edges[id] = append(edges[id], blocker)
		}
	}
	for _, t := range tasks {
		for _, b := range t.BlockedBy {
			add(t.ID, b)
		}
	}
	for _, t := range tasks {
		for _, id := range t.Blocks {
			add(id, t.ID) // ignored if there is no such task
		}
	}
	return edges
}

// planTask converts the task to a task of a plan. A new one can have no list; those of earlier versions could.
func (t *Task) planTask(blockers []string, isNew bool) (o jsonobject.Object, wrong *FileError) {
	o.Set("id", jsonobject.Quote(t.ID))
	text := func(name, s string) {
		if s != "" {
			o.Set(name, jsonobject.Quote(s))
		}
	}
	text("subject", strings.Join(strings.Fields(t.Subject), " "))
	text("description", t.Description)
	text("activeForm", strings.Join(strings.Fields(t.ActiveForm), " "))
	if len(blockers) > 0 {
		o.Set("blockedBy", quoteJSONList(blockers))
	}
	if v := t.Metadata.Get(metaFields); v != nil {
		at := t.offset("metadata", metaFields)
		more, err := parseObject(v, at)
		if err != nil {
			return o, &FileError{At: at, Code: plan.CodeWrongType,
				Text: "metadata.wavex must be an object with fields of a plan's task"}
		}
		for _, m := range more {
			if m.Name == "foreach" && isNew {
				return o, &FileError{At: m.At, Code: plan.CodeConflict,
					Text: "a task list has no place for a list (foreach); run the task by a plan file"}
			}
			if o.Get(m.Name) != nil || m.Name == "metadata" {
				return o, &FileError{At: m.At, Code: plan.CodeConflict,
					Text: fmt.Sprintf("the task has %s already; remove it from metadata.wavex", source.Quote(m.Name))}
			}
			o.Set(m.Name, m.Value)
		}
	}
	rest := t.Metadata
	for _, name := range []string{metaWave, metaLoop, metaVerification, metaStuck, metaAdded, metaFields} {
		rest.Set(name, nil)
	}
	if len(rest) > 0 {
		o.Set("metadata", rest.Value())
	}
	return o, nil
}

// relocate moves a diagnostic of the generated plan to the task file that it is about.
func (l *List) relocate(d plan.Diagnostic, tasks []*Task) plan.Diagnostic {
	d.File, d.Line, d.Column = l.Dir, 0, 0
	if d.Code == plan.CodeDuplicateID {
		d.Message = strings.Replace(d.Message, " (line 1)", "", 1) // a line of the generated plan
	}
	rest, ok := strings.CutPrefix(d.Path, "tasks[")
	number, rest, found := strings.Cut(rest, "]")
	i, err := strconv.Atoi(number)
	if !ok || !found || err != nil || i < 0 || i >= len(tasks) {
		return d
	}
	t := tasks[i]
	d.File, d.Path = l.file(t.ID), strings.TrimPrefix(rest, ".")
	name, _, _ := strings.Cut(strings.Trim(d.Path, `["]`), "[")
	name, _, _ = strings.Cut(name, ".")
	at := t.offset(name)
	if at == 0 && t.Metadata.Get(metaFields) != nil {
		if at = t.offset("metadata", metaFields, name); at != 0 {
			d.Path = "metadata.wavex." + d.Path
		}
	}
	d.Line, d.Column = position(t.src, at)
	return d
}

// offset returns the offset in the file of the value at path; 0 if there is none.
func (t *Task) offset(path ...string) int {
	o, at := t.raw, 0
	for i, name := range path {
		k := o.Index(name)
		if k < 0 {
			return 0
		}
		at = o[k].At
		if i == len(path)-1 {
			break
		}
		var err error
		if o, err = parseObject(o[k].Value, at); err != nil {
			return at
		}
	}
	return at
}

// diagnostic returns the mistake with its position.
func (e *FileError) diagnostic() plan.Diagnostic {
	d := plan.Diagnostic{Severity: plan.SeverityError, Code: e.Code, Message: e.Text, File: e.File}
	if e.MaybePartial {
		d.Message += "; Claude Code does not show this task, so mend the file or remove it"
	}
	if filepath.IsAbs(e.File) && e.Src != nil {
		d.Line, d.Column = position(e.Src, e.At)
	}
	return d
}

// position returns the line and the column (in bytes), both from 1.
func position(src []byte, at int) (line, column int) {
	at = min(at, len(src))
	return 1 + bytes.Count(src[:at], []byte("\n")), at - bytes.LastIndexByte(src[:at], '\n')
}
