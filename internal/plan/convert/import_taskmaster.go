package convert

// This file reads the tasks.json of Task Master: {"tasks": [...]}, or one such object for each tag. It also leaves
// out the tasks of any form that do not run.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
	"wavex/internal/textfmt"
)

func (f *importedPlan) readTaskMaster(root *source.Node) {
	if root.Get("tasks") == nil {
		root = f.chooseTag(root)
	}
	status := map[*importedTask]string{}
	root.Each(func(name, v *source.Node) {
		switch name.Text {
		case "tasks":
			for _, e := range v.Elements() {
				if t := f.taskMasterTask(e); t != nil {
					status[t] = f.statusOf(e)
				}
			}
		case "metadata":
			f.setOnce(&f.name, f.field(v, "projectName"), "name")
			if p := f.field(v, "description"); p.text != "" {
				f.request = append(f.request, p)
			}
			without(v, "projectName", "description", "created", "updated").Each(f.warnUnused)
		default:
			f.warnUnused(name, v)
		}
	})
	known := map[string]bool{}
	for t := range status {
		known[t.id.text] = true
	}
	for t := range status {
		for i, b := range t.blockers { // a subtask, as in 2.1, ends with its task
			if id, _, _ := strings.Cut(b.text, "."); !known[b.text] && known[id] {
				t.blockers[i].text = id
			}
		}
	}
	f.keepOpen(status)
}

// chooseTag returns the tag that the plan is made of: master, or the only one with tasks.
func (f *importedPlan) chooseTag(root *source.Node) *source.Node {
	chosen := source.Object(root.At)
	master := false
	var names []string
	root.Each(func(name, v *source.Node) {
		switch tasks := v.Get("tasks"); {
		case tasks == nil:
			f.warnUnused(name, v)
		case len(tasks.Elements()) > 0:
			names = append(names, source.Quote(name.Text))
			if master = master || name.Text == "master"; name.Text == "master" || len(names) == 1 {
				chosen = v
			}
		}
	})
	const found = "the file has tasks under the tags %s; "
	switch {
	case len(names) < 2:
	case master:
		f.Warn(chosen.At, plan.CodeNotCarried, found+"those of master were read: to run others, import a file that has "+
			"their tag alone", someOf(names))
	default:
		f.Error(chosen.At, plan.CodeConflict, found+"keep the tag that is to run and remove the others", someOf(names))
	}
	return chosen
}

// someOf returns the first of some names, and how many more there are.
func someOf(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// taskMasterTask reads a task. Its subtasks become steps, and its test strategy a criterion and checks.
func (f *importedPlan) taskMasterTask(e *source.Node) *importedTask {
	t := f.task(without(e, "status", "subtasks", "testStrategy"))
	if t == nil {
		return nil
	}
	var steps strings.Builder
	for _, s := range e.Get("subtasks").Elements() {
		f.writeStep(&steps, s)
	}
	if steps.Len() > 0 {
		t.sections = append(t.sections, "Steps:\n"+steps.String())
	}
	t.strategy(f.field(e, "testStrategy"))
	return t
}

// writeStep writes a subtask as a box of a list, with its texts below.
func (f *importedPlan) writeStep(b *strings.Builder, s *source.Node) {
	box, status := "[ ]", f.statusOf(s)
	if isDone(status) {
		box = "[x]"
	}
	title := strings.TrimSpace(f.field(s, "id").text + " " + cmp.Or(f.field(s, "title").text, s.Text))
	fmt.Fprintf(b, "- %s %s", box, strings.Join(strings.Fields(title), " "))
	if status != "" && status != "pending" && !isDone(status) {
		fmt.Fprintf(b, " (%s)", status)
	}
	b.WriteString("\n")
	without(s, "id", "title", "status", "parentId", "updatedAt").Each(func(name, v *source.Node) {
		text := ""
		switch {
		case name.Text == "description" || name.Text == "details":
			text = f.scalar(v).text
		case says(v):
			text = name.Text + ": " + f.inlineText(v)
		}
		if text != "" {
			b.WriteString("  " + strings.ReplaceAll(text, "\n", "\n  ") + "\n")
		}
	})
}

// These patterns find the commands of a test strategy: a text in backticks that begins a clause or follows "run",
// unless the words before or after it say that it is not to be run, or fails.
var (
	quotedCommand = textfmt.Pattern("(?i)(?:^|[\\n,;:.*-]|\\b(?:run|execute|running|and|command))\\s*`([^`\\n<>]{1,500})`")
	failing       = textfmt.Pattern(`(?i)^[^.;\n]{0,40}\b(?:fails?|failing|errors?|rejects?|not|non-zero|[1-9])\b`)
	notToRun      = textfmt.Pattern(`(?i)\b(?:not|never|no|avoid|without|before|after|instead|don't|until|unless|if)\b` +
		`[^.;\n]*$`)
)

// strategy adds a test strategy: a criterion, and the commands in it that leave no doubt. Those in brackets are
// examples, and those on indented lines parts of a procedure.
func (t *importedTask) strategy(p phrase) {
	only := strings.Trim(strings.TrimPrefix(strings.TrimPrefix(p.text, "Run "), "run "), "` .")
	if isCheckCommand(only) {
		t.claims = append(t.claims, claim{command: only, phrase: phrase{at: p.at}})
		t.section("Test strategy", p.text)
		return
	}
	if p.text != "" {
		t.claims = append(t.claims, claim{kind: "manual", phrase: p})
	}
	for _, m := range quotedCommand().FindAllStringSubmatchIndex(p.text, 100) {
		command := p.text[m[2]:m[3]]
		line := p.text[strings.LastIndexByte(p.text[:m[2]], '\n')+1 : m[2]]
		if isCheckCommand(command) && !failing().MatchString(p.text[m[1]:]) && !notToRun().MatchString(p.text[:m[2]]) &&
			!strings.HasPrefix(line, " ") && strings.Count(line, "(") <= strings.Count(line, ")") {
			t.claims = append(t.claims, claim{command: command, phrase: phrase{at: p.at}})
		}
	}
}

func (f *importedPlan) statusOf(e *source.Node) string {
	return strings.ToLower(f.field(e, "status").text)
}

// keepOpen leaves out the tasks that do not run, by their status. No task waits for them.
func (f *importedPlan) keepOpen(status map[*importedTask]string) {
	out := map[string]string{} // status by id
	var names []string
	var open []*importedTask
	at := f.at
	for _, t := range f.tasks {
		switch s := status[t]; {
		case isDone(s) || isDropped(s):
			if len(names) == 0 {
				at = t.at
			}
			out[normalizeID(t.id.text)] = s
			names = append(names, source.Quote(t.id.text)+" ("+s+")")
			continue
		case s != "" && s != "pending" && s != "open":
			if !slices.Contains([]string{"in-progress", "in_progress", "todo", "to-do", "review", "blocked"}, s) {
				f.Warn(t.at, plan.CodeGuessed, "task %s has the status %s, which is not known: it runs", source.Quote(t.id.text),
					source.Quote(s))
			}
			f.addMetadata(t, "status", source.Text(s, t.at))
		}
		open = append(open, t)
	}
	if len(names) > 0 {
		f.Warn(at, plan.CodeNotCarried, "%d of %d tasks do not run: %s", len(names), len(f.tasks), someOf(names))
	}
	if f.tasks = open; len(open) == 0 {
		f.Error(f.at, plan.CodeEmptyPlan, "no task is open; there is nothing to do")
	}
	for _, t := range open {
		has := map[string]bool{}
		t.blockers = slices.DeleteFunc(t.blockers, func(b phrase) bool {
			id := normalizeID(b.text)
			again := has[id]
			has[id] = true
			if s := out[id]; !again && (s == "deferred" || strings.HasPrefix(s, "cancel")) {
				f.Warn(b.at, plan.CodeGuessed, "task %s waits for %s, which is %s: it runs without it", source.Quote(t.id.text),
					source.Quote(b.text), s)
			}
			return again || out[id] != ""
		})
	}
}
