package convert

// This file reads the issues.jsonl of beads: one issue on each line, with links to others.

import (
	"cmp"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
)

// readLines returns a list of the first value and those that follow it; nil if one is broken.
func readLines(s source.Tokens, first *source.Node, size *int) *source.Node {
	lines, ok := s.(*source.JSON)
	if first == nil || !ok {
		return nil
	}
	list := source.List(first.At, first)
	for lines.More() {
		e := source.ReadTree(s, s.Next(), size)
		if e == nil {
			return nil
		}
		list.Items = append(list.Items, e)
	}
	return list
}

func (f *importedPlan) readBeads(root *source.Node) {
	byID := map[string]*importedTask{}
	status := map[*importedTask]string{}
	for _, e := range root.Items {
		t := f.task(without(e, "status", "design", "notes", "acceptance_criteria", "dependencies"))
		if t == nil {
			continue
		}
		t.section("Design", f.field(e, "design").text)
		t.section("Notes", f.field(e, "notes").text)
		if p := f.field(e, "acceptance_criteria"); p.text != "" {
			t.claims = append(t.claims, claim{kind: "manual", phrase: p})
		}
		byID[t.id.text], status[t] = t, f.statusOf(e)
	}
	var missing []string                  // ids that are not in the file
	parents := map[*importedTask]phrase{} // children of a blocked parent are blocked as well
	for _, e := range root.Items {
		for _, d := range e.Get("dependencies").Elements() {
			waits, of := f.beadLink(e, d)
			switch {
			case of.text == "":
			case byID[waits] == nil:
				missing = append(missing, source.Quote(waits))
			case byID[of.text] == nil:
				missing = append(missing, source.Quote(of.text))
			default:
				byID[waits].blockers = append(byID[waits].blockers, of)
				if isChild(d) {
					parents[byID[of.text]] = phrase{waits, of.at}
				}
			}
		}
	}
	if len(missing) > 0 {
		f.Warn(f.at, plan.CodeNotCarried, "links to issues that are not in the file were left out: %s", someOf(missing))
	}
	own := map[*importedTask][]phrase{} // the blockers of a parent that are not its children
	for child, parent := range parents {
		p := byID[parent.text]
		for _, b := range p.blockers {
			if parents[byID[b.text]].text != parent.text {
				own[child] = append(own[child], b)
			}
		}
	}
	for child, blockers := range own {
		child.blockers = append(child.blockers, blockers...)
	}
	f.keepOpen(status)
}

// isChild reports whether a link is that of a child to its parent.
func isChild(d *source.Node) bool {
	return d.Get("type") != nil && strings.EqualFold(d.Get("type").Text, "parent-child")
}

// beadLink returns the issue that waits and the one it waits for; nothing if a link is no order. A parent waits for
// its children.
func (f *importedPlan) beadLink(issue, d *source.Node) (waits string, of phrase) {
	if d.Kind != source.KindObject {
		return f.field(issue, "id").text, f.scalar(d)
	}
	from := cmp.Or(f.field(d, "issue_id").text, f.field(issue, "id").text)
	to := f.field(d, "depends_on_id").text
	switch kind := strings.ToLower(f.field(d, "type").text); kind {
	case "blocks", "waits-for", "conditional-blocks", "":
		return from, phrase{to, d.At}
	case "parent-child":
		return to, phrase{from, d.At}
	case "related", "discovered-from", "relates-to", "duplicates", "supersedes":
	default:
		f.Warn(d.At, plan.CodeGuessed, "the link of %s to %s is of the kind %s, which was taken for no order",
			source.Quote(from), source.Quote(to), source.Quote(kind))
	}
	return "", phrase{}
}
