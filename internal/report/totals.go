package report

import (
	"cmp"
	"slices"
	"strings"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
	"wavex/scheduler"
)

// This file has the figures of a summary that come from all tasks.

// maxTableRows bounds the tables. A run with more tasks of no list hides those that are completed. Of the others, all
// but the first maxTableRows of each status are hidden.
const maxTableRows = 200

// Totals holds the figures of the texts about all tasks of a run.
type Totals struct {
	Tasks     int
	Verified  int          // tasks whose checks passed, and that are not completed yet
	UpToDate  int          // completed tasks that were not run again
	Failing   int          // failed tasks, and those that need a person
	Refused   int          // tool calls that the policy did not let run
	Followed  int          // advice of panels that an attempt has followed
	Helped    int          // the part of Followed after which the task passed
	Committed bool         // tasks have commits of their own
	Hidden    event.Counts // tasks that tables leave out
	Folded    int          // tasks of lists that tables leave out, because the row of the list stands for them
	Worked    int          // tasks with attempts
	Costly    []Task       // those with the most money and time, at most maxCostly
	Retry     []string     // failed tasks, and lists with some, that a resume leaves as they are
	Caches    []WaveUsage  // see Summary.CacheByWave
	OtherCost budget.USD   // of reviews, judges, the request and dropped tasks

	plain   int                  // tasks of no list
	group   int                  // of the last task of a list, in Summary.Groups
	failing int                  // tasks of a table that are failing
	rows    map[event.Status]int // other tasks of a table
	waves   []runner.Usage       // by wave
}

// newTotals returns the totals of a run before its tasks are added.
func newTotals(p *plan.Plan, waves int) *Totals {
	x := &Totals{rows: map[event.Status]int{}, waves: make([]runner.Usage, waves+1)}
	if p == nil {
		return x
	}
	x.Tasks, x.plain = len(p.Tasks), len(p.Tasks)
	for k := range p.Groups {
		x.plain -= len(p.Groups[k].Tasks) * max(p.Groups[k].Steps, 1)
	}
	return x
}

// addRetry adds a failed task, or its list, whose tasks are neighbours.
func (x *Totals) addRetry(id string) {
	if n := len(x.Retry); n == 0 || x.Retry[n-1] != id {
		x.Retry = append(x.Retry, id)
	}
}

// addAdvice counts the advice that a task has followed.
func (x *Totals) addAdvice(t *scheduler.Task) {
	x.Followed += len(t.PastAdvice)
	if t.Advice == nil {
		return
	}
	switch t.Status {
	case event.Completed, event.Verified:
		x.Helped++
		x.Followed++
	case event.Failed:
		x.Followed++
	}
}

// add adds the next task in plan order, and decides whether tables show it.
func (x *Totals) add(t *Task) {
	if t.Earlier != "" {
		x.UpToDate++
	}
	if t.Status == event.Verified {
		x.Verified++
	}
	if t.isFailing() {
		x.Failing++
	}
	x.Refused += t.Refused
	x.Committed = x.Committed || t.Commit != ""
	if t.Wave > 0 && t.Wave < len(x.waves) {
		x.waves[t.Wave] = x.waves[t.Wave].Plus(t.Usage)
	}
	if t.Attempts > 0 {
		x.Worked++
		x.addCostly(t)
	}
	switch t.Hidden = true; {
	case t.isFolded():
		x.Folded++
	case x.hides(t):
		*x.Hidden.Of(t.Status)++
	default:
		t.Hidden = false
	}
}

// hides reports whether tables leave out the next task.
func (x *Totals) hides(t *Task) bool {
	switch {
	case t.Group == "" && x.plain <= maxTableRows:
		return false
	case t.Status == event.Completed:
		return true
	case t.isFailing():
		x.failing++
		return x.failing > maxTableRows
	}
	x.rows[t.Status]++
	return x.rows[t.Status] > maxTableRows
}

// addCostly inserts a task behind those that cost as much and took as long.
func (x *Totals) addCostly(t *Task) {
	at := len(x.Costly)
	for at > 0 && cmp.Or(cmp.Compare(t.Cost, x.Costly[at-1].Cost), cmp.Compare(t.Duration, x.Costly[at-1].Duration)) > 0 {
		at--
	}
	if at < maxCostly {
		x.Costly = slices.Insert(x.Costly, at, Task{ID: t.ID, Cost: t.Cost, Duration: t.Duration})
		x.Costly = x.Costly[:min(len(x.Costly), maxCostly)]
	}
}

// end completes the totals after the last task.
func (x *Totals) end() {
	for w, u := range x.waves {
		if u.CacheRead > 0 || u.CacheWrite > 0 {
			x.Caches = append(x.Caches, WaveUsage{w, u})
		}
	}
	x.waves = nil
}

// hiddenText says which tasks tables do not show; "" if they show all.
func (x *Totals) hiddenText() string {
	var parts []string
	for _, status := range []event.Status{event.Completed, event.Pending, event.Failed, event.Blocked} {
		if n := *x.Hidden.Of(status); n > 0 {
			parts = append(parts, Plural(n, string(status)+" task", string(status)+" tasks"))
		}
	}
	if x.Folded > 0 {
		parts = append(parts, Plural(x.Folded, "task of a list", "tasks of lists"))
	}
	if parts == nil {
		return ""
	}
	return strings.Join(parts, ", ") + " not shown; wavex report --all shows each"
}

// isFailing reports whether a task has failed or needs a person.
func (t *Task) isFailing() bool {
	return t.Status == event.Failed || t.Status != event.Completed && t.needsPerson()
}
