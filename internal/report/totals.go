package report

import (
	"strings"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/scheduler"
)

// This file has the figures of a summary that come from all tasks, and decides which tasks tables leave out.

// maxTableRows bounds the tables. A run with more tasks of no list hides those that are completed. Of the others, all
// but the first maxTableRows of each status are hidden.
const maxTableRows = 200

// totals holds the figures of the texts about all tasks of a run.
type totals struct {
	verified  int          // tasks whose checks passed, and that are not completed yet
	upToDate  int          // completed tasks that were not run again
	failing   int          // failed tasks, and those that need a person
	refused   int          // tool calls that the policy did not let run
	followed  int          // advice of panels that an attempt has followed
	helped    int          // the part of followed after which the task passed
	committed bool         // tasks have commits of their own
	hidden    event.Counts // tasks that tables leave out
	folded    int          // tasks of lists that tables leave out, because the row of the list stands for them
	retry     []string     // failed tasks, and lists with some, that a resume leaves as they are
	otherCost budget.USD   // of reviews, judges, the request and dropped tasks
}

// addRetry adds a failed task, or its list, whose tasks are neighbours.
func (x *totals) addRetry(id string) {
	if n := len(x.retry); n == 0 || x.retry[n-1] != id {
		x.retry = append(x.retry, id)
	}
}

// addAdvice counts the advice that a task has followed.
func (x *totals) addAdvice(t *scheduler.Task) {
	x.followed += len(t.PastAdvice)
	if t.Advice == nil {
		return
	}
	switch t.Status {
	case event.Completed, event.Verified:
		x.helped++
		x.followed++
	case event.Failed:
		x.followed++
	}
}

// add adds a task.
func (x *totals) add(t *Task) {
	if t.Earlier != "" {
		x.upToDate++
	}
	if t.Status == event.Verified {
		x.verified++
	}
	if t.isFailing() {
		x.failing++
	}
	x.refused += t.Refused
	x.committed = x.committed || t.Commit != ""
	x.otherCost -= t.Cost
}

// hideTasks decides which tasks tables show.
func (r *Summary) hideTasks() {
	plain, rows := 0, map[event.Status]int{}
	for i := range r.Tasks {
		if r.Tasks[i].Group == "" {
			plain++
		}
	}
	for i := range r.Tasks {
		t := &r.Tasks[i]
		kind := t.Status
		if t.isFailing() {
			kind = event.Failed
		}
		switch t.Hidden = true; {
		case t.isFolded():
			r.totals.folded++
			continue
		case t.Group == "" && plain <= maxTableRows:
			t.Hidden = false
		case t.Status != event.Completed:
			rows[kind]++
			t.Hidden = rows[kind] > maxTableRows
		}
		if t.Hidden {
			*r.totals.hidden.Of(t.Status)++
		}
	}
}

// hiddenText says which tasks tables do not show; "" if they show all.
func (x *totals) hiddenText() string {
	var parts []string
	for _, status := range []event.Status{event.Completed, event.Pending, event.Failed, event.Blocked} {
		if n := *x.hidden.Of(status); n > 0 {
			parts = append(parts, Plural(n, string(status)+" task", string(status)+" tasks"))
		}
	}
	if x.folded > 0 {
		parts = append(parts, Plural(x.folded, "task of a list", "tasks of lists"))
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
