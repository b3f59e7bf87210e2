package plan

// This file writes phase plans in JSON, as import_doc.go reads them.

import (
	"fmt"
	"slices"
	"strings"
)

// WritePhaseDoc is the plan as a phase plan in JSON, waves holding their tasks, and
// what that could not carry.
func WritePhaseDoc(p *Plan) (out []byte, notCarried []string) {
	l := &lost{}
	l.plan(p)
	text := func(s string) *node { return textNode(s, 0) }
	root := objectNode(0)
	number, title := p.PhaseNumber()
	if number != "" {
		root.set("phase", text(number))
	}
	members, about := p.grouped()
	root.set("title", text(title))
	if p.Request != "" {
		root.set("goal", text(p.Request))
	}
	if len(p.Criteria) > 0 {
		list := listNode(0)
		for _, c := range p.Criteria {
			list.items = append(list.items, text(c.Text))
		}
		root.set("must_haves", list)
	}
	waves := listNode(0)
	claims := p.claims()
	for w, m := range members {
		if len(m) == 0 {
			continue
		}
		n := objectNode(0).set("wave", countNode(w, 0))
		if about[w].Title != "" {
			n.set("title", text(about[w].Title))
		}
		n.set("parallel", &node{kind: kindBool, text: fmt.Sprint(!about[w].Sequential)})
		tasks := listNode(0)
		for _, i := range m {
			tasks.items = append(tasks.items, p.taskDoc(i, claims, l))
		}
		waves.items = append(waves.items, n.set("tasks", tasks))
	}
	root.set("wave_count", countNode(len(waves.items), 0)).set("task_count", countNode(len(p.Tasks), 0)).set("waves", waves)
	return indented(root.appendJSON(nil)), l.list
}

func (p *Plan) taskDoc(i int, claims *claims, l *lost) *node {
	t := &p.Tasks[i]
	text := func(s string) *node { return textNode(s, 0) }
	n := objectNode(0).set("id", text(t.ID))
	if t.Subject != "" {
		n.set("title", text(t.Subject))
	}
	if len(t.Files) > 0 {
		list := listNode(0)
		for _, f := range t.Files {
			file := objectNode(0).set("path", text(f.Path))
			if f.Action != "" {
				file.set("action", text(f.Action))
			}
			list.items = append(list.items, file)
		}
		n.set("files", list)
	}
	if ids := p.blockerIDs(i); len(ids) > 0 {
		list := listNode(0)
		for _, id := range ids {
			l.add(strings.ContainsAny(id, " ;"), "ids with spaces or semicolons as blockers")
			list.items = append(list.items, text(id))
		}
		n.set("depends_on", list)
	}
	if work := t.work(); work != "" {
		n.set("action", text(work))
	}
	verify := listNode(0)
	for _, c := range t.Verify {
		kind, attr, words := p.inWords(claims, i, c)
		check := objectNode(0).set("type", text(kind))
		if name, value, ok := strings.Cut(attr, "="); ok {
			check.set(name, text(value))
		}
		verify.items = append(verify.items, check.set("check", text(words)))
	}
	for _, c := range t.Criteria {
		verify.items = append(verify.items, objectNode(0).set("type", text("manual")).set("check", text(c.Text)))
	}
	n.set("verify", verify)
	for _, name := range sortedNames(t.Metadata) {
		if slices.Contains(taskWords(), name) {
			l.add(true, "metadata with the name of a field")
			continue
		}
		budget := maxNodes
		source := newJSONSource(string(t.Metadata[name]))
		if v := readTree(source, source.next(), &budget); v != nil {
			n.set(name, v)
		}
	}
	return n
}
