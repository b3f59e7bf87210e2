package plan

// This file reads linear plans: the stories of a prd.json, in the order of their
// priority, and the steps of a state.json. Both are done one after the other, so each
// task is blocked by the one before it, unless stories name what they depend on.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func (f *foreign) readStories(root *node) {
	var stories []*node
	root.each(func(name, v *node) {
		switch name.text {
		case "project", "name", "title":
			f.name = f.scalar(v)
			f.name.text = clipped(strings.Join(strings.Fields(f.name.text), " "), 300)
		case "description", "overview", "goal":
			if p := f.scalar(v); p.text != "" {
				f.request = append(f.request, p)
			}
		case "userStories", "user_stories", "stories", "tasks":
			stories = append(stories, v.elements()...)
		default:
			f.unused(name, v)
		}
	})
	type story struct {
		task     *foreignTask
		priority float64
	}
	var list []story
	passed := map[string]bool{}
	edges := false
	for _, e := range stories {
		t := f.task(e)
		if t == nil {
			continue
		}
		s := story{task: t}
		if v := e.get("priority"); v != nil {
			s.priority, _ = strconv.ParseFloat(v.text, 64) // words like "high" keep the order of the file
		}
		if v := e.get("passes"); v != nil && v.text == "true" {
			passed[spelled(t.id.text)] = true
			f.notCarried(t.at, "story "+quote(t.id.text)+" passes already; it")
			continue
		}
		edges = edges || len(t.blockers) > 0
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b story) int {
		switch {
		case a.priority < b.priority:
			return -1
		case a.priority > b.priority:
			return 1
		}
		return 0
	})
	f.tasks = nil
	for i, s := range list {
		t := s.task
		t.metadata = without(t.metadata, "passes")
		t.blockers = slices.DeleteFunc(t.blockers, func(b phrase) bool { return passed[spelled(b.text)] })
		if !edges && i > 0 {
			t.blockers = []phrase{{list[i-1].task.id.text, t.at}}
		}
		f.tasks = append(f.tasks, t)
	}
	if !edges && len(list) > 1 {
		f.warnf(list[1].task.at, CodeGuessed, "no story names what it depends on: they run one after the other, in the order of their priority")
	}
	if len(list) == 0 && len(passed) > 0 {
		f.errorf(f.at, CodeEmptyPlan, "all stories pass already; there is nothing to do")
	}
}

// without is an object less one field; nil when nothing is left.
func without(n *node, name string) *node {
	if n == nil {
		return nil
	}
	out := objectNode(n.at)
	n.each(func(key, v *node) {
		if key.text != name {
			out.set(key.text, v)
		}
	})
	if len(out.items) == 0 {
		return nil
	}
	return out
}

func (f *foreign) readSteps(root *node) {
	steps := root.get("steps").elements()
	done := map[string]bool{}
	for _, e := range root.get("completedSteps").elements() {
		done[stepText(e)] = true
	}
	if left := root.get("remainingSteps"); left != nil {
		steps = left.elements()
	}
	root.each(func(name, v *node) {
		switch name.text {
		case "spec", "task", "request":
			if p := f.scalar(v); p.text != "" {
				f.request = append(f.request, p)
			}
		case "criteria":
			f.mustHaves(v)
		case "steps", "remainingSteps":
		case "completedSteps":
			if n := len(v.elements()); n > 0 {
				f.notCarried(v.at, fmt.Sprintf("what is done already, %d of the steps,", n))
			}
		default:
			f.unused(name, v)
		}
	})
	for _, e := range steps {
		text := stepText(e)
		if done[text] {
			continue
		}
		t := &foreignTask{at: e.at, id: phrase{fmt.Sprintf("T-%03d", len(f.tasks)+1), e.at}}
		subject, rest, _ := strings.Cut(text, "\n")
		if len(subject) > 200 {
			subject, rest = clipped(subject, 200), text
		}
		t.subject, t.action = phrase{strings.TrimSpace(subject), e.at}, phrase{strings.TrimSpace(rest), e.at}
		e.each(func(name, v *node) {
			switch name.text {
			case "title", "name", "description", "step", "text", "subject":
			default:
				f.keep(t, name.text, v)
			}
		})
		if n := len(f.tasks); n > 0 {
			t.blockers = []phrase{{f.tasks[n-1].id.text, e.at}}
		}
		f.tasks = append(f.tasks, t)
	}
	if len(f.tasks) == 0 {
		f.errorf(f.at, CodeEmptyPlan, "no step is left to do")
	}
}

// stepText is what a step says: itself, or the first of its fields that tells.
func stepText(e *node) string {
	if e.kind == kindObject {
		for _, name := range []string{"title", "subject", "name", "step", "text", "description"} {
			if v := e.get(name); v != nil && v.kind == kindString {
				return strings.TrimSpace(v.text)
			}
		}
	}
	return strings.TrimSpace(e.text)
}
