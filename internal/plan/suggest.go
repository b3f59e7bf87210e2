package plan

// This file makes suggestions for mistyped names. They are only text and decide nothing.

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"

	"wavex/internal/plan/source"
)

// suggestName returns `; did you mean "x"?` for the nearest of the names. If no name is near, it returns a
// list of the names if they are few, else "".
func suggestName(got string, names []string) string {
	best, distance := "", 1+len(got)/3
	low := strings.ToLower(got)
	if len(got) <= 64 {
		for _, n := range names {
			if x := levenshtein.ComputeDistance(low, strings.ToLower(n)); x < distance || (x == distance && best == "") {
				best, distance = n, x
			}
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("; did you mean %s?", source.Quote(best))
	case len(names) <= 8:
		return "; use " + orList(names)
	}
	return ""
}

// orList returns `"a", "b" or "c"`.
func orList(names []string) string {
	var b strings.Builder
	for i, n := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(source.Quote(n))
	}
	return b.String()
}

// suggestID is like hint, over all task ids. It has a budget: with a bad generator, a big plan would
// otherwise compare for minutes.
func (d *decoder) suggestID(got string) string {
	best, distance := "", 1+len(got)/4
	if len(got) > 64 {
		return ""
	}
	for i := range d.plan.Tasks {
		id := d.plan.Tasks[i].ID
		if d.suggestions--; d.suggestions < 0 {
			return ""
		}
		if id == "" || len(id) > len(got)+distance || len(got) > len(id)+distance {
			continue
		}
		if strings.EqualFold(id, got) {
			return fmt.Sprintf("; did you mean %s?", source.Quote(id))
		}
		if x := levenshtein.ComputeDistance(got, id); x < len(got) && (x < distance || (x == distance && best == "")) {
			best, distance = id, x
		}
	}
	if best == "" {
		return "; add that task, or remove the entry"
	}
	return fmt.Sprintf("; did you mean %s?", source.Quote(best))
}
