package report

import (
	"fmt"
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
	Row     GroupRow   `json:"-"`
}

// GroupRow holds the figures of a group's row in tables, which come from its tasks.
type GroupRow struct {
	Before int  // number of rows of tasks that stand before it
	Placed bool // it has tasks; else the row stands below those of all tasks
	Sum    Task // of its tasks: attempts, panels, tokens and time
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
	if g.Row.Sum.Panels > 0 {
		panels = strconv.Itoa(g.Row.Sum.Panels)
	}
	return []string{textfmt.Line(g.ID), done, strconv.Itoa(g.Row.Sum.Attempts), panels,
		g.Cost.Spent(), FormatTokens(g.Row.Sum.Usage.Total()), FormatDuration(g.Row.Sum.Duration), "-",
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

// addToGroup adds the next task in plan order to the row of its group. shown is the number of rows of tasks so far.
func (r *Summary) addToGroup(t *Task, shown int) {
	if t.Group == "" {
		return
	}
	k := r.Totals.group // most items of a list follow each other
	if k >= len(r.Groups) || r.Groups[k].ID != t.Group {
		if k = slices.IndexFunc(r.Groups, func(g Group) bool { return g.ID == t.Group }); k < 0 {
			return
		}
		r.Totals.group = k
	}
	row := &r.Groups[k].Row
	if !row.Placed {
		row.Placed, row.Before = true, shown
	}
	row.Sum.Attempts += t.Attempts
	row.Sum.Panels += t.Panels
	row.Sum.Usage = row.Sum.Usage.Plus(t.Usage)
	row.Sum.Duration += t.Duration
}

// eachRow calls task for each task that tables show and group for each group, in the order of a table.
func (r *Summary) eachRow(task func(*Task), group func(*Group)) {
	at, n := map[int][]int{}, 0 // groups by the number of tasks before them
	for k := range r.Groups {
		before := r.Groups[k].Row.Before
		if !r.Groups[k].Row.Placed {
			before = len(r.Tasks)
		}
		at[before] = append(at[before], k)
	}
	groups := func() {
		for _, k := range at[n] {
			group(&r.Groups[k])
		}
		delete(at, n)
	}
	for i := range r.Tasks {
		if !r.Tasks[i].Hidden {
			groups()
			task(&r.Tasks[i])
			n++
		}
	}
	groups()
	n = len(r.Tasks)
	groups()
}

// ShowAll lets tables show each task, also those of lists. The summary must have all of them.
func (r *Summary) ShowAll() {
	r.Totals.Hidden, r.Totals.Folded = event.Counts{}, 0
	for k := range r.Groups {
		r.Groups[k].Row = GroupRow{}
	}
	for i := range r.Tasks {
		r.Tasks[i].Hidden = false
		r.addToGroup(&r.Tasks[i], i)
	}
}
