package plan

import (
	"slices"
	"strings"
)

// This file words the mistake of tasks that wait for each other.

// cycleText returns "T-001 -> T-002 -> T-001"; the middle of a long cycle is omitted. An arrow leads to the task that
// waits, as in a critical path; in cycle each task waits for the next.
func (d *decoder) cycleText(cycle []int) string {
	const ends = 10
	cycle = slices.Clone(cycle)
	slices.Reverse(cycle[1:])
	var b strings.Builder
	for k, i := range cycle {
		if len(cycle) > 2*ends+1 && k == ends {
			b.WriteString("... -> ")
		}
		if len(cycle) > 2*ends+1 && k >= ends && k < len(cycle)-ends {
			continue
		}
		b.WriteString(d.plan.Tasks[i].ID)
		b.WriteString(" -> ")
	}
	b.WriteString(d.plan.Tasks[cycle[0]].ID)
	return b.String()
}
