package report

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// This file describes the tasks of lists together, and decides which of them tables leave out.

// Group is a task with foreach: how many of its items are in which state.
type Group struct {
	ID            string `json:"id"`
	Known         bool   `json:"known"` // whether its list is known
	Items         int    `json:"items"`
	Completed     int    `json:"completed"`
	Verified      int    `json:"verified,omitempty"`
	Failed        int    `json:"failed"`            // with those that are blocked
	Blocked       int    `json:"blocked,omitempty"` // part of Failed
	Running       int    `json:"running,omitempty"`
	Waiting       int    `json:"waiting,omitempty"`
	AllowFailures string `json:"allow_failures,omitempty"` // how many items may fail; "": none
	MaxItems      int    `json:"-"`
	List          string `json:"-"` // where the list comes from, for people

	CostUSD float64    `json:"cost_usd"`
	Cost    budget.USD `json:"-"` // CostUSD
	Sum     Task       `json:"-"` // of its tasks: attempts, panels, tokens and time
}

// GroupsOf returns the groups of a run, in the order of the plan. It looks at no task.
func GroupsOf(s *scheduler.State) (groups []Group) {
	for k := range s.Plan.Groups {
		groups = append(groups, GroupOf(s, &s.Plan.Groups[k]))
	}
	return groups
}

// GroupOf returns one group of a run, without its row.
func GroupOf(s *scheduler.State, p *plan.Group) Group {
	t := s.GroupTally(p)
	return Group{ID: p.ID, Known: p.Known, Items: t.All, Completed: t.Completed, Verified: t.Verified,
		Failed: t.Failed + t.Blocked, Blocked: t.Blocked, Running: t.Running,
		Waiting:       t.Unfinished() - t.Verified - t.Running,
		AllowFailures: p.AllowFailures, MaxItems: p.MaxItems, List: p.List,
		CostUSD: s.GroupCost(p.ID).Float(), Cost: s.GroupCost(p.ID)}
}

// Stopped returns the group of a run at which no process works: what ran waits.
func (g Group) Stopped() Group {
	g.Waiting, g.Running = g.Waiting+g.Running, 0
	return g
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
	return l
}

// Progress returns how many items are completed, and "" or the items in other states: "3/20" and "1 running, 16
// waiting".
func (g Group) Progress() (done, others string) {
	if !g.Known {
		return "unknown", "at most " + Plural(g.MaxItems, "item", "items")
	}
	var parts []string
	for _, n := range []struct {
		n    int
		word string
	}{{g.Verified, "verified"}, {g.Running, "running"}, {g.Failed - g.Blocked, "failed"}, {g.Blocked, "blocked"},
		{g.Waiting, "waiting"}} {
		if n.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n.n, n.word))
		}
	}
	return fmt.Sprintf("%d/%d", g.Completed, g.Items), strings.Join(parts, ", ")
}

// rowText returns the last cell of a group's row.
func (g Group) rowText() string {
	_, others := g.Progress()
	text := Plural(g.Items, "item", "items")
	switch {
	case !g.Known:
		text = others
	case others != "":
		text += ", " + others
	}
	if g.List != "the plan" {
		text += " (" + textfmt.Line(g.List) + ")"
	}
	return text
}

// cells returns a group's row of the table.
func (g Group) cells() []string {
	done, _ := g.Progress()
	panels := "-"
	if g.Sum.Panels > 0 {
		panels = strconv.Itoa(g.Sum.Panels)
	}
	return []string{textfmt.Line(g.ID), done, strconv.Itoa(g.Sum.Attempts), panels,
		g.Cost.Spent(), FormatTokens(g.Sum.Usage.Total()), FormatDuration(g.Sum.Duration), "-",
		g.rowText()}
}

// isFolded reports whether the row of a task's list stands for it: it is done, has not begun, or is blocked by another.
func (t *Task) isFolded() bool {
	switch t.Status {
	case event.Completed, event.Verified:
		return t.Group != ""
	case event.Pending:
		return t.Group != "" && t.Attempts == 0 && t.Outcome == ""
	case event.Blocked:
		return t.Group != "" && t.Root != ""
	}
	return false
}

// addUpGroups adds the tasks to the sums of their groups.
func (r *Summary) addUpGroups() {
	groups := map[string]*Task{}
	for k := range r.Groups {
		groups[r.Groups[k].ID] = &r.Groups[k].Sum
	}
	for i := range r.Tasks {
		t := &r.Tasks[i]
		if sum := groups[t.Group]; sum != nil {
			sum.Attempts += t.Attempts
			sum.Panels += t.Panels
			sum.Usage = sum.Usage.Plus(t.Usage)
			sum.Duration += t.Duration
		}
	}
}

// eachRow calls task for each task that tables show and group for each group, in the order of a table: a group stands
// before the first of its tasks, and below all others if it has none.
func (r *Summary) eachRow(task func(*Task), group func(*Group)) {
	left := map[string]int{} // groups without a row, by id
	for k := range r.Groups {
		left[r.Groups[k].ID] = k
	}
	var due []int // of them, those whose first task came since the last row
	groups := func() {
		slices.Sort(due)
		for _, k := range due {
			group(&r.Groups[k])
		}
		due = nil
	}
	for i := range r.Tasks {
		t := &r.Tasks[i]
		if k, ok := left[t.Group]; ok {
			due = append(due, k)
			delete(left, t.Group)
		}
		if !t.Hidden {
			groups()
			task(t)
		}
	}
	groups()
	due = slices.Collect(maps.Values(left))
	groups()
}

// ShowAll lets tables show each task, also those of lists.
func (r *Summary) ShowAll() {
	r.totals.hidden, r.totals.folded = event.Counts{}, 0
	for i := range r.Tasks {
		r.Tasks[i].Hidden = false
	}
}
