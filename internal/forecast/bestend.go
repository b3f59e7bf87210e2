package forecast

import (
	"fmt"
	"strings"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/report"
)

// BestEnd is the best possible end of a run of a plan with the default flags, by the plan's text.
type BestEnd struct {
	Verdict string   `json:"verdict"`         // as of a complete run, or "refused": the gate cannot pass
	Notes   []string `json:"notes,omitempty"` // the reasons, and the conditions that wavex cannot look at
}

// refused is the verdict of a plan that the gate refuses unless the user accepts assumptions.
const refused = "refused"

// Best returns the best possible end of a run.
func Best(p *plan.Plan) BestEnd {
	var assumed, unshown, irreversible, unseen []string
	criteria := func(task string, list []plan.Condition) {
		for k, c := range list {
			id := fmt.Sprintf("C-%d", k+1)
			if task != "" {
				id = task + "/" + id
			}
			if c.Verification == event.Assumption && c.Check == nil {
				assumed = append(assumed, id)
			}
		}
	}
	criteria("", p.Criteria)
	for i := range p.Tasks {
		t := &p.Tasks[i]
		criteria(t.ID, t.Criteria)
		if t.Reversibility == "1" {
			irreversible = append(irreversible, t.ID)
		}
		if t.Command == "" && len(t.Verify)+len(t.Criteria)+len(t.Files)+len(p.Criteria) == 0 {
			unshown = append(unshown, t.ID)
		}
	}
	for _, c := range p.MustNot {
		if c.Check == nil {
			unseen = append(unseen, c.Text)
		}
	}
	b := BestEnd{Verdict: report.Ship}
	note := func(verdict string, ids []string, format string) {
		if len(ids) == 0 {
			return
		}
		if verdict != "" {
			b.Verdict = verdict
		}
		b.Notes = append(b.Notes, fmt.Sprintf(format, event.ListTasks(ids, 0)))
	}
	note(report.Monitor, irreversible, "hard to undo: %s")
	note(refused, assumed, "assumptions, which need --accept-assumptions: %s")
	note("", unshown, "no check, no criterion and no file; only a review of their edits can show them: %s")
	note("", unseen, "must not be true, and has no check, so only reviewers look at it: %s")
	return b
}

// String returns the end and its reasons in lines.
func (b BestEnd) String() string {
	l := "ends at best: " + b.Verdict + "\n"
	if b.Verdict == refused {
		l = "ends at best: refused by the gate\n"
	}
	for _, n := range b.Notes {
		l += "  " + n + "\n"
	}
	return strings.TrimSuffix(l, "\n")
}
