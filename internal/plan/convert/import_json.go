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
			f.name = f.scalar(v)
			f.name.text = clipText(strings.Join(strings.Fields(f.name.text), " "), 300)
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
	steps := root.Get("steps").Elements()
	done := map[string]bool{}
	for _, e := range root.Get("completedSteps").Elements() {
		done[stepText(e)] = true
	}
	if left := root.Get("remainingSteps"); left != nil {
		steps = left.Elements()
	}
	root.Each(func(name, v *source.Node) {
		switch name.Text {
		case "spec", "task", "request":
			if p := f.scalar(v); p.text != "" {
				f.request = append(f.request, p)
			}
		case "criteria":
			f.mustHaves(v)
		case "steps", "remainingSteps":
		case "completedSteps":
			if n := len(v.Elements()); n > 0 {
				f.notCarried(v.At, fmt.Sprintf("what is done already, %d of the steps,", n))
			}
		default:
			f.warnUnused(name, v)
		}
	})
	for _, e := range steps {
		text := stepText(e)
		if done[text] {
			continue
		}
		t := &importedTask{at: e.At, id: phrase{fmt.Sprintf("T-%03d", len(f.tasks)+1), e.At}}
		subject, rest, _ := strings.Cut(text, "\n")
		if len(subject) > 200 {
			subject, rest = clipText(subject, 200), text
		}
		t.subject, t.action = phrase{strings.TrimSpace(subject), e.At}, phrase{strings.TrimSpace(rest), e.At}
		e.Each(func(name, v *source.Node) {
			switch name.Text {
			case "title", "name", "description", "step", "text", "subject":
			default:
				f.addMetadata(t, name.Text, v)
			}
		})
		if n := len(f.tasks); n > 0 {
			t.blockers = []phrase{{f.tasks[n-1].id.text, e.At}}
		}
		f.tasks = append(f.tasks, t)
	}
	if len(f.tasks) == 0 {
		f.Error(f.at, plan.CodeEmptyPlan, "no step is left to do")
	}
}

// stepText returns the text of a step: the step itself, or the first of its fields with a text.
func stepText(e *source.Node) string {
	if e.Kind == source.KindObject {
		for _, name := range []string{"title", "subject", "name", "step", "text", "description"} {
			if v := e.Get(name); v != nil && v.Kind == source.KindString {
				return strings.TrimSpace(v.Text)
			}
		}
	}
	return strings.TrimSpace(e.Text)
}
