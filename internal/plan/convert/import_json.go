package convert

// This file reads linear plans: the stories of a prd.json in the order of their priority, and the
// steps of a state.json. Both are sequential: each task is blocked by the one before it, unless the
// stories name their dependencies.

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
)

func (f *importedPlan) readStories(root *source.Node) {
	type story struct {
		task     *importedTask
		priority float64
	}
	var list []story
	passed := map[string]bool{}
	edges := false
	for _, e := range f.readStoryFields(root) {
		t := f.task(e)
		if t == nil {
			continue
		}
		s := story{task: t}
		if v := e.Get("priority"); v != nil {
			s.priority, _ = strconv.ParseFloat(v.Text, 64) // words like "high" keep the order of the file
		}
		if v := e.Get("passes"); v != nil && v.Text == "true" {
			passed[normalizeID(t.id.text)] = true
			f.notCarried(t.at, "story "+source.Quote(t.id.text)+" passes already; it")
			continue
		}
		edges = edges || len(t.blockers) > 0
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b story) int { return cmp.Compare(a.priority, b.priority) })
	f.tasks = nil
	for i, s := range list {
		t := s.task
		t.blockers = slices.DeleteFunc(t.blockers, func(b phrase) bool { return passed[normalizeID(b.text)] })
		if !edges && i > 0 {
			t.blockers = []phrase{{list[i-1].task.id.text, t.at}}
		}
		f.tasks = append(f.tasks, t)
	}
	if !edges && len(list) > 1 {
		f.Warn(list[1].task.at, plan.CodeGuessed,
			"no story names what it depends on: they run one after the other, in the order of their priority")
	}
	if len(list) == 0 && len(passed) > 0 {
		f.Error(f.at, plan.CodeEmptyPlan, "all stories pass already; there is nothing to do")
	}
}

// readStoryFields reads the name and the request, and returns the stories.
func (f *importedPlan) readStoryFields(root *source.Node) (stories []*source.Node) {
	root.Each(func(name, v *source.Node) {
		switch name.Text {
		case "project", "name", "title":
			f.setOnce(&f.name, f.scalar(v), "name")
		case "description", "overview", "goal":
			if p := f.scalar(v); p.text != "" {
				f.request = append(f.request, p)
			}
		case "userStories", "user_stories", "stories", "tasks":
			stories = append(stories, v.Elements()...)
		default:
			f.warnUnused(name, v)
		}
	})
	return stories
}

func (f *importedPlan) readSteps(root *source.Node) {
	done := map[string]int{} // how many steps with a text are completed
	var completed []string
	for _, e := range root.Get("completedSteps").Elements() {
		done[stepKey(e)]++
		completed = append(completed, source.Quote(f.inlineText(e)))
	}
	root.Each(func(name, v *source.Node) {
		switch name.Text {
		case "spec", "task", "request":
			if p := f.scalar(v); p.text != "" {
				f.request = append(f.request, p)
			}
		case "steps", "remainingSteps":
		case "completedSteps":
			if len(completed) > 0 {
				f.notCarried(v.At, fmt.Sprintf("what is done already, %d of the steps (%s),", len(completed), someOf(completed)))
			}
		default:
			f.warnUnused(name, v)
		}
	})
	var open []*source.Node
	for _, e := range root.Get("steps").Elements() {
		if done[stepKey(e)]--; done[stepKey(e)] < 0 {
			open = append(open, e)
		}
	}
	if left := root.Get("remainingSteps"); left != nil { // it is right even about a step that is completed too
		f.warnForgottenSteps(open, left.Elements())
		open = left.Elements()
	}
	for _, e := range open {
		f.step(e)
	}
	if len(f.tasks) == 0 {
		f.Error(f.at, plan.CodeEmptyPlan, "no step is left to do")
	}
}

// warnForgottenSteps reports the open steps that are not left either.
func (f *importedPlan) warnForgottenSteps(open, left []*source.Node) {
	remain := map[string]int{}
	for _, e := range left {
		remain[stepKey(e)]++
	}
	for _, e := range open {
		if remain[stepKey(e)]--; remain[stepKey(e)] < 0 {
			f.notCarried(e.At, "the step "+source.Quote(f.inlineText(e))+", which is neither completed nor left,")
		}
	}
}

// stepKey returns what tells a step from others: its text, or all of an object without a text.
func stepKey(e *source.Node) string {
	return cmp.Or(stepText(e), string(e.AppendJSON(nil)))
}

// step adds a task for a step, blocked by the one before.
func (f *importedPlan) step(e *source.Node) {
	t := &importedTask{at: e.At, id: phrase{fmt.Sprintf("T-%03d", len(f.tasks)+1), e.At}}
	text := stepText(e)
	subject, rest, _ := strings.Cut(text, "\n")
	if len(subject) > 200 {
		subject, rest = clipText(subject, 200), text
	}
	t.subject, t.action = phrase{strings.TrimSpace(subject), e.At}, phrase{strings.TrimSpace(rest), e.At}
	e.Each(func(name, v *source.Node) {
		switch {
		case v.Kind == source.KindString && strings.TrimSpace(v.Text) == text:
		case slices.Contains(stepFields(), name.Text) && v.Kind == source.KindString:
			t.addAction(f.scalar(v))
		default:
			f.addMetadata(t, name.Text, v)
		}
	})
	if n := len(f.tasks); n > 0 {
		t.blockers = []phrase{{f.tasks[n-1].id.text, e.At}}
	}
	f.tasks = append(f.tasks, t)
}

// stepFields lists the fields with the text of a step, the best first.
func stepFields() []string {
	return []string{"title", "subject", "name", "step", "text", "description"}
}

// stepText returns the text of a step: the step itself, or the first of its fields with a text.
func stepText(e *source.Node) string {
	if e.Kind == source.KindObject {
		for _, name := range stepFields() {
			if v := e.Get(name); v != nil && v.Kind == source.KindString {
				return strings.TrimSpace(v.Text)
			}
		}
	}
	return strings.TrimSpace(e.Text)
}
