package convert

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
)

// This file recognises by its shape which tool wrote a plan. It reads no more than that takes.

// textProblem returns the problem that makes markdown unreadable, or nil.
func textProblem(src string) *source.Problem {
	if len(src) > maxImport {
		return &source.Problem{At: 0, Code: plan.CodeTooLarge,
			Message: "the file is larger than 16 MB, which no plan in markdown is"}
	}
	if off, message := source.EncodingProblem(src); message != "" {
		return &source.Problem{At: source.Location(off), Code: plan.CodeEncoding, Message: message}
	}
	return nil
}

// detectMarkdown returns the form of a markdown file; "" for JSON and YAML.
func detectMarkdown(name, src string) Form {
	markdown := false
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json", ".yaml", ".yml":
		return ""
	case ".md", ".markdown":
		markdown = true
	default:
		first := strings.TrimLeft(src, " \t\r\n")
		name, _, _ := strings.Cut(first, ":")
		if own, _ := ownFields(); first == "" || first[0] == '{' || first[0] == '[' || own[name] {
			return ""
		}
	}
	if len(src) > maxImport {
		if markdown {
			return formUnknown
		}
		return ""
	}
	for line := range markdownLines(src) {
		if !line.code && taskTag(line.text) > 0 {
			return FormPhase
		}
	}
	if markdown {
		return cmp.Or(boxForm(src), formUnknown)
	}
	return ""
}

// ownFields returns the names of the fields that plans have, and tasks, and that no other tool is known to use.
func ownFields() (ofPlan, ofTask map[string]bool) {
	own := func(names []string, shared ...string) map[string]bool {
		set := map[string]bool{}
		for _, name := range names {
			set[name] = !slices.Contains(shared, name)
		}
		return set
	}
	ofPlan = own(plan.PlanFields(), "$schema", "name", "request", "criteria", "links", "waves", "tasks")
	ofTask = own(plan.TaskFields(), "id", "description", "wave", "files", "verify", "criteria", "estimate", "metadata",
		"steps", "output", "agent", "dir", "blockedBy", "addBlockedBy", "depends", "depends_on", "dependsOn", "dependencies")
	return ofPlan, ofTask
}

// detection holds the marks of the tool that wrote a JSON or YAML file.
type detection struct {
	source.Tokens
	ofPlan, ofTask map[string]bool
	own            bool            // it has a field that only wavex has
	form           Form            // by the fields of the file
	taskForm       Form            // by the fields of its tasks
	likely         bool            // a task has a field that few other tools have
	marks          map[string]bool // fields of the file; of tasks with a dot before the name
}

// detectForm returns the foreign form of a JSON or YAML file; "" for a native plan and for an unknown form. A file with
// a field that only wavex has is never foreign, whatever else it has. marked is the form whose marks it bears.
func detectForm(s source.Tokens, marked Form) Form {
	d := detection{Tokens: s, form: marked, marks: map[string]bool{}}
	d.ofPlan, d.ofTask = ownFields()
	if s.Next().Kind == source.KindObject {
		d.fields(d.planField)
	}
	switch {
	case d.own:
		return ""
	case d.form != "":
		return d.form
	case d.likely:
		return ""
	case d.taskForm != FormStories && isTaskMaster(d.marks):
		return FormTaskMaster
	case d.taskForm == "" && isBeads(d.marks, s):
		return FormBeads
	}
	return d.taskForm
}

// fields calls read for each field of an object, which must consume the value, until the file is known to be wavex's.
func (d *detection) fields(read func(name string, value source.Token)) {
	for {
		name := d.Next()
		if name.Kind != source.KindString || d.own {
			return
		}
		read(name.Text, d.Next())
	}
}

func (d *detection) planField(name string, value source.Token) {
	form := Form("")
	switch name {
	case "phase", "must_haves", "mustHaves", "wave_count", "task_count", "key_links":
		form = FormPhaseDoc
	case "userStories", "user_stories", "stories":
		form = FormStories
	}
	d.form = cmp.Or(d.form, form)
	switch name {
	case "version", "params", "parallel", "schedule", "defaults", "setup": // other tools may have them too
		d.likely = d.likely || name != "version" || value.Text == "1"
	default:
		d.own = d.own || d.ofPlan[name]
	}
	d.mark("", name)
	switch name {
	case "tasks", "userStories", "user_stories", "stories":
		d.list(value, d.taskField)
	case "steps", "remainingSteps":
		d.list(value, d.stepField)
	case "waves":
		d.list(value, func(name string, value source.Token) {
			if name != "tasks" {
				d.Skip(value)
				return
			}
			d.form = cmp.Or(d.form, FormPhaseDoc)
			d.list(value, d.taskField)
		})
	default:
		if value.Kind == source.KindObject && !d.ofPlan[name] {
			d.fields(d.tagField)
			return
		}
		d.Skip(value)
	}
}

// list calls read for each field of the objects of a list.
func (d *detection) list(list source.Token, read func(name string, value source.Token)) {
	if list.Kind != source.KindArray {
		d.Skip(list)
		return
	}
	for !d.own {
		switch e := d.Next(); e.Kind {
		case source.KindObject:
			d.fields(read)
		case source.KindEnd, source.KindBad:
			return
		default:
			d.Skip(e)
		}
	}
}

func (d *detection) taskField(name string, value source.Token) {
	d.own = d.own || d.ofTask[name]
	d.mark(".", name)
	if name == "id" && value.Kind == source.KindNumber {
		d.mark(".", "number")
	}
	switch name {
	case "blockedBy", "addBlockedBy", "criteria", "verify":
		d.likely = true
	case "passes", "acceptanceCriteria", "acceptance_criteria":
		d.taskForm = FormStories
	case "title", "action", "done", "test_required", "user_observable":
		d.taskForm = cmp.Or(d.taskForm, FormPhaseDoc)
	}
	d.Skip(value)
}

// mark notes a field of the file, or one of a task if before is a dot.
func (d *detection) mark(before, name string) {
	if len(d.marks) < 1000 { // a hostile file has more
		d.marks[before+name] = true
	}
}

// tagField reads a field of an object that may be a tag of Task Master.
func (d *detection) tagField(name string, value source.Token) {
	if name == "tasks" && value.Kind == source.KindArray {
		d.mark(".", "tagged")
		form := d.taskForm
		d.list(value, d.taskField)
		d.taskForm = form // that of other tools is not within a tag
		return
	}
	d.mark("tag.", name)
	d.Skip(value)
}

// isTaskMaster reports whether the fields of a file and of its tasks are those of Task Master, and no other tool's.
func isTaskMaster(has map[string]bool) bool {
	owns := has[".testStrategy"] || has[".subtasks"]
	if has[".wave"] || has["waves"] || has[".tagged"] == has["tasks"] || !owns && (has[".action"] || has[".files"]) {
		return false
	}
	strong := owns || has[".number"]
	weak := has[".testStrategy"] || has[".subtasks"] || has[".details"] || has[".dependencies"] || has[".priority"]
	return has[".status"] && strong && weak || has[".tagged"] && has["tag.metadata"]
}

// isBeads reports whether the first object of a file, which s has read, is an issue of beads.
func isBeads(has map[string]bool, s source.Tokens) bool {
	lines, ok := s.(*source.JSON)
	return has["id"] && has["title"] && has["status"] && !has["tasks"] && ok && (has["issue_type"] || lines.More())
}

// stepField reads a field of a step, which has a text and no more that a plan could use.
func (d *detection) stepField(name string, value source.Token) {
	d.own = d.own || name != "subject" && (d.ofTask[name] || name == "verify" || name == "files" || name == "blockedBy")
	d.Skip(value)
}

// boxForm returns the form of a file with boxes; "" if it has none.
func boxForm(src string) Form {
	var first, whole, sections bool
	numbered, boxes := 0, 0
	for l := range markdownLines(src) {
		if level, text := l.heading(); level > 0 {
			m := boxNumber().FindStringSubmatch(text)
			sections = sections || level > 1 && m != nil && m[2] != ""
		}
		m := boxLine().FindStringSubmatch(l.text)
		if l.code || m == nil {
			continue
		}
		if taskNumber().MatchString(m[3]) {
			return FormSpecKit
		}
		n := boxNumber().FindStringSubmatch(m[3])
		if boxes++; n != nil {
			numbered++
			first = first || boxes == 1
			whole = whole || !strings.Contains(n[1], ".")
		}
	}
	switch {
	case boxes == 0:
		return ""
	case sections:
		return FormOpenSpec
	case first && whole && numbered > 1:
		return FormKiro
	case first:
		return FormOpenSpec
	}
	return FormChecklist
}
