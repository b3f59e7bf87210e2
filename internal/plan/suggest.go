package plan

// This file makes suggestions for mistyped names. They are only text and decide nothing.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"wavex/internal/plan/source"
)

// foreignNames lists names of fields, and their names in other tools, in small letters without separators. The first
// line with a name that the object has counts.
func foreignNames() [][2]string {
	return [][2]string{
		{"subject name text", "title name summary label headline"},
		{"verify criteria", "check checks test tests verification validation acceptance acceptancecriteria expect"},
		{"blockedBy", "needs need requires require after deps waitsfor prerequisites"},
		{"tasks", "jobs steps stages stories userstories todos todo items"},
		{"command run", "cmd run script shell exec"},
		{"prompt description request text", "action instructions instruction details body goal objective"},
		{"budgetUSD budget usd", "budget cost maxcost maxbudget maxusd limit limits money dollars spend"},
		{"mustNot", "forbidden forbid never constraints donot prohibited guardrails"},
		{"parallel", "concurrency maxparallel jobs workers threads"},
		{"foreach list", "matrix items each"},
		{"maxRetries iterations", "retries retry attempts maxattempts"},
	}
}

// suggestField returns what suggestName does for a field that an object does not have.
func suggestField(got string, names []string) string {
	low := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(got))
	for _, line := range foreignNames() {
		if !slices.Contains(strings.Fields(line[1]), low) {
			continue
		}
		for _, own := range strings.Fields(line[0]) {
			if slices.Contains(names, own) {
				return fmt.Sprintf("; did you mean %s?", source.Quote(own))
			}
		}
	}
	return suggestName(got, names)
}

// suggestName returns `; did you mean "x"?` for the nearest of the names. If no name is near, it returns a
// list of the names if they are few, else "".
func suggestName(got string, names []string) string {
	text := DidYouMean(got, names)
	if text == "" && len(names) <= 8 {
		return "; use " + orList(names)
	}
	return text
}

// DidYouMean returns `; did you mean "x"?` for the nearest of the names, or "" if none is near.
func DidYouMean(got string, names []string) string {
	best := Nearest(got, names)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", source.Quote(best))
}

// Nearest returns the one of the names that got is probably a mistake for, or "".
func Nearest(got string, names []string) string {
	best, distance := "", 1+len(got)/3
	low := strings.ToLower(got)
	if len(got) > 64 || got == "" {
		return ""
	}
	for _, n := range names {
		x := max(len(n)-len(got), len(got)-len(n))
		switch {
		case strings.EqualFold(n, got):
			return n
		case strings.HasPrefix(n, low):
			x = 1
		case x <= distance:
			x = levenshtein.ComputeDistance(low, strings.ToLower(n))
		}
		if x < distance || x == distance && best == "" {
			best, distance = n, x
		}
	}
	return best
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

// suggestID is like suggestName, over all task ids. It has a budget: with a bad generator, a big plan would otherwise
// compare for minutes.
func (d *decoder) suggestID(got string) string {
	if d.suggestions -= len(d.plan.Tasks); d.suggestions < 0 {
		return ""
	}
	ids := make([]string, len(d.plan.Tasks))
	for i := range ids {
		ids[i] = d.plan.Tasks[i].ID
	}
	if best := Nearest(got, ids); best != "" && (len(got) > 1 || strings.EqualFold(best, got)) {
		return fmt.Sprintf("; did you mean %s?", source.Quote(best))
	}
	return "; add that task, or remove the entry"
}
