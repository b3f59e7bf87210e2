package report

import (
	"fmt"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/textfmt"
)

// PlanDiff returns the lines that only one of two plans has, those of the old one with "-". old may be nil. Prompts
// are not compared.
func PlanDiff(old, now *plan.Plan) string {
	if old == nil {
		return "  the plan before is not known"
	}
	var diff []string
	only := func(sign string, has, lacks []string) {
		known := map[string]bool{}
		for _, l := range lacks {
			known[l] = true
		}
		for _, l := range has {
			if !known[l] {
				diff = append(diff, "  "+sign+" "+textfmt.Clip(textfmt.Line(l), 300))
			}
		}
	}
	before, after := planLines(old), planLines(now)
	only("-", before, after)
	only("+", after, before)
	if diff == nil {
		return "  other parts of it changed, such as prompts, limits or protected paths"
	}
	const most = 40
	if n := len(diff) - most; n > 0 {
		diff = append(diff[:most], fmt.Sprintf("  and %d lines more", n))
	}
	return strings.Join(diff, "\n")
}

// planLines describes a plan in lines that can be compared one by one.
func planLines(p *plan.Plan) (lines []string) {
	condition := func(kind string, list []plan.Condition) {
		for _, c := range list {
			l := kind + ": " + c.Text
			if c.Check != nil {
				l += ": " + c.Check.Describe()
			}
			lines = append(lines, l)
		}
	}
	condition("criterion", p.Criteria)
	condition("must not", p.MustNot)
	for i := range p.Tasks {
		t := &p.Tasks[i]
		lines = append(lines, strings.TrimSpace(t.ID+": "+t.Title()+" "+t.Command))
		for _, c := range t.Verify {
			lines = append(lines, t.ID+" verify: "+c.Describe())
		}
		condition(t.ID+" criterion", t.Criteria)
		for _, f := range t.Files {
			lines = append(lines, fmt.Sprintf("%s file: %s %s", t.ID, f.Action, f.Path))
		}
		for _, d := range p.Graph.Blockers(i) {
			lines = append(lines, t.ID+" blocked by: "+p.Tasks[d].ID)
		}
	}
	return lines
}
