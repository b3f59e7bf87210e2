package report

import (
	"fmt"

	"wavex/internal/plan"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// This file describes the tasks of lists together.

// Group is a task with foreach: how many of its items are in which state.
type Group struct {
	ID            string `json:"id"`
	Known         bool   `json:"known"` // whether its list is known
	Items         int    `json:"items"`
	Completed     int    `json:"completed"`
	Failed        int    `json:"failed"` // with those that are blocked
	Running       int    `json:"running,omitempty"`
	AllowFailures string `json:"allow_failures,omitempty"` // how many items may fail; "": none
	MaxItems      int    `json:"-"`

	CostUSD   float64 `json:"cost_usd"`
	BudgetUSD float64 `json:"budget_usd,omitempty"` // of all its tasks together; 0: none of its own
}

// GroupsOf returns the groups of a run, in the order of the plan.
func GroupsOf(s *scheduler.State) (groups []Group) {
	for k := range s.Plan.Groups {
		groups = append(groups, groupOf(s, &s.Plan.Groups[k]))
	}
	return groups
}

func groupOf(s *scheduler.State, p *plan.Group) Group {
	t := s.GroupTally(p)
	return Group{ID: p.ID, Known: p.Known, Items: len(p.Tasks), Completed: t.Completed, Failed: t.Failed + t.Blocked,
		Running: t.Running, AllowFailures: p.AllowFailures, MaxItems: p.MaxItems,
		CostUSD: s.GroupCost(p.ID).Float(), BudgetUSD: p.BudgetUSD.Float()}
}

// String returns the group in one line.
func (g Group) String() string {
	switch {
	case !g.Known:
		return fmt.Sprintf("%s: the list is not known yet, at most %s", textfmt.Line(g.ID),
			Plural(g.MaxItems, "item", "items"))
	case g.Items == 0:
		return textfmt.Line(g.ID) + ": no items, which is complete"
	}
	l := fmt.Sprintf("%s: %d of %s completed", textfmt.Line(g.ID), g.Completed, Plural(g.Items, "item", "items"))
	if g.Running > 0 {
		l += fmt.Sprintf(", %d running", g.Running)
	}
	if g.Failed > 0 {
		l += fmt.Sprintf(", %d failed", g.Failed)
	}
	if g.Failed > 0 && g.AllowFailures != "" {
		l += fmt.Sprintf(" (the plan allows %s)", g.AllowFailures)
	}
	if g.BudgetUSD > 0 {
		l += fmt.Sprintf(", $%.2f of $%.2f", g.CostUSD, g.BudgetUSD)
	}
	return l
}
