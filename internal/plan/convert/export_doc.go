package convert

// This file writes phase plans in JSON, as import_doc.go reads them.

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
)

// WritePhaseDoc returns the plan as a phase plan in JSON, in which waves hold their tasks, and the
// names of the parts that are not carried.
func WritePhaseDoc(p *plan.Plan) (out []byte, notCarried []string) {
	l := &omissions{}
	l.plan(p)
	text := func(s string) *source.Node { return source.Text(s, 0) }
	root := source.Object(0)
	number, title := PhaseNumber(p)
	if number != "" {
		root.Set("phase", text(number))
	}
	members, about := tasksByWave(p)
	root.Set("title", text(title))
	if p.Request != "" {
		root.Set("goal", text(p.Request))
	}
	if len(p.Criteria) > 0 {
		list := source.List(0)
		for _, c := range p.Criteria {
			list.Items = append(list.Items, text(c.Text))
		}
		root.Set("must_haves", list)
	}
	waves := source.List(0)
	claims := claimParserOf(p)
	for w, m := range members {
		if len(m) == 0 {
			continue
		}
		n := source.Object(0).Set("wave", source.Count(w, 0))
		if about[w].Title != "" {
			n.Set("title", text(about[w].Title))
		}
		n.Set("parallel", &source.Node{Kind: source.KindBool, Text: fmt.Sprint(!about[w].Sequential)})
		tasks := source.List(0)
		for _, i := range m {
			tasks.Items = append(tasks.Items, taskDoc(p, i, claims, l))
		}
		waves.Items = append(waves.Items, n.Set("tasks", tasks))
	}
	root.Set("wave_count", source.Count(len(waves.Items), 0)).Set("task_count", source.Count(len(p.Tasks), 0)).Set("waves",
		waves)
	return indented(root.AppendJSON(nil)), l.list
}

func taskDoc(p *plan.Plan, i int, claims *claimParser, l *omissions) *source.Node {
	t := &p.Tasks[i]
	text := func(s string) *source.Node { return source.Text(s, 0) }
	n := source.Object(0).Set("id", text(t.ID))
	if t.Subject != "" {
		n.Set("title", text(t.Subject))
	}
	if len(t.Files) > 0 {
		list := source.List(0)
		for _, f := range t.Files {
			file := source.Object(0).Set("path", text(f.Path))
			if f.Action != "" {
				file.Set("action", text(f.Action))
			}
			list.Items = append(list.Items, file)
		}
		n.Set("files", list)
	}
	if ids := blockerIDs(p, i); len(ids) > 0 {
		list := source.List(0)
		for _, id := range ids {
			l.add(strings.ContainsAny(id, " ;"), "ids with spaces or semicolons as blockers")
			list.Items = append(list.Items, text(id))
		}
		n.Set("depends_on", list)
	}
	if words := agentText(t); words != "" {
		n.Set("action", text(words))
	}
	verify := source.List(0)
	for _, c := range t.Verify {
		kind, attr, words := checkText(p, claims, i, c)
		check := source.Object(0).Set("type", text(kind))
		if name, value, ok := strings.Cut(attr, "="); ok {
			check.Set(name, text(value))
		}
		verify.Items = append(verify.Items, check.Set("check", text(words)))
	}
	for _, c := range t.Criteria {
		verify.Items = append(verify.Items, source.Object(0).Set("type", text("manual")).Set("check", text(c.Text)))
	}
	n.Set("verify", verify)
	for _, name := range slices.Sorted(maps.Keys(t.Metadata)) {
		if slices.Contains(reservedFields(), name) {
			l.add(true, "metadata with the name of a field")
			continue
		}
		budget := source.MaxNodes
		value := source.NewJSON(string(t.Metadata[name]))
		if v := source.ReadTree(value, value.Next(), &budget); v != nil {
			n.Set(name, v)
		}
	}
	return n
}
