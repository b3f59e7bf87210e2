package report

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/sourcegraph/conc/panics"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// RunEntry is the short form of one run of a journal.
type RunEntry struct {
	Run        string          `json:"run"`
	Name       string          `json:"name,omitempty"`
	Plan       string          `json:"plan,omitempty"`
	Status     event.RunStatus `json:"status"`
	ExitCode   event.ExitCode  `json:"exit_code"`
	Reason     string          `json:"reason,omitempty"`
	Started    time.Time       `json:"began"`          // of the whole run
	Ended      time.Time       `json:"ended,omitzero"` // zero while it is under way, the last record's if it was cut off
	WorkTime   time.Duration   `json:"-"`              // of all its sessions
	Sessions   int             `json:"sessions"`
	Tasks      int             `json:"tasks"`
	Completed  int             `json:"completed"`
	Cost       budget.USD      `json:"-"`
	Notional   bool            `json:"notional,omitempty"`
	Iterations int             `json:"iterations"`
	// MovedTo is the directory beside .loop that it was moved to; "": it is in .loop.
	MovedTo string `json:"aside,omitempty"`
}

// Runs returns the runs of a journal, oldest first. alive tells whether a wavex process works at
// the last one, and now is the current time then.
func Runs(events []event.Event, now time.Time, alive bool) []RunEntry {
	l := runList{meter: scheduler.NewMeter()}
	for i, e := range events {
		if _, ok := e.Body.(event.RunStarted); ok {
			l.closeRun(time.Time{}, false)
		} else if len(l.all) == 0 {
			continue // the cost of a request is in the Origin of its run
		}
		l.meterEvent(events[i : i+1])
		l.add(e)
	}
	l.closeRun(now, alive)
	return l.all
}

// runList holds the runs of the events so far. meter has the figures of the last one that need no plan.
type runList struct {
	all   []RunEntry
	meter *scheduler.State
	torn  bool // the journal contradicts itself, so the figures are those of its first part
	added int  // tasks that joined the last run
	done  map[string]bool
}

// meterEvent adds an event to the figures of the last run, up to one that contradicts the others: a ledger panics when
// it would count money twice.
func (l *runList) meterEvent(one []event.Event) {
	if _, begins := one[0].Body.(event.RunStarted); begins {
		l.torn = false
	}
	if l.torn {
		return
	}
	var c panics.Catcher
	c.Try(func() { l.torn = l.meter.Replay(one) != nil })
	l.torn = l.torn || c.Recovered() != nil
}

// closeRun fills in the figures of the last run.
func (l *runList) closeRun(now time.Time, alive bool) {
	if len(l.all) == 0 {
		return
	}
	p, m := &l.all[len(l.all)-1], l.meter
	p.Cost, p.Notional, p.Iterations = m.Ledger.Spent(), m.Notional, m.Ledger.Iterations()
	p.Sessions, p.Completed = len(m.Sessions()), len(l.done)
	p.Tasks += l.added
	end := m.Ended
	switch {
	case end != nil:
		p.Status, p.ExitCode, p.Reason = end.Status, end.ExitCode, end.Reason
		p.Ended = m.EndedAt()
		p.Completed = end.Tasks.Completed
		p.Tasks = p.Completed + end.Tasks.Failed + end.Tasks.Blocked + end.Tasks.Pending
	case alive:
		p.Status = event.RunRunning
	default:
		p.Status, p.Ended, now = event.RunCutOff, m.LastEvent(), time.Time{}
	}
	p.WorkTime = m.WorkTime(now)
}

// settle marks tasks as completed, or as not completed any more.
func (l *runList) settle(done bool, ids ...string) {
	for _, id := range ids {
		if delete(l.done, id); done {
			l.done[id] = true
		}
	}
}

// add follows the tasks, which the meter does not know.
func (l *runList) add(e event.Event) {
	if b, ok := e.Body.(event.RunStarted); ok {
		l.all = append(l.all, RunEntry{Run: b.Config.Run, Name: b.Name, Plan: b.Plan, Started: e.Time, Tasks: b.Tasks})
		l.added, l.done = 0, map[string]bool{}
	}
	p := &l.all[len(l.all)-1]
	switch b := e.Body.(type) {
	case event.RunResumed:
		p.Tasks, p.Plan = b.Tasks, b.Plan
		if b.Edit != nil {
			l.settle(false, append(b.Edit.Rerun, b.Edit.Dropped...)...)
		}
	case event.TasksAdded:
		l.added += len(b.Tasks)
	case event.ItemsAdded:
		l.added += len(b.Tasks)
	case event.AttemptEnded:
		l.settle(b.Status == event.Completed, b.Task)
	case event.IntegrationEnded:
		l.settle(true, b.Completed...)
	case event.CriteriaEnded:
		if b.UpToDate != nil {
			l.settle(true, b.UpToDate.Tasks...)
		}
	case event.RolledBack:
		l.settle(false, b.Tasks...)
	}
}

// RunsTable returns a table of runs for people, the newest first. Lines are cut at columns (0:
// never).
func RunsTable(list []RunEntry, columns int) string {
	rows := [][]string{{"run", "status", "tasks", "sessions", "cost", "time", "began", "plan"}}
	for i := len(list) - 1; i >= 0; i-- {
		p := &list[i]
		cost := p.Cost.Spent()
		if p.Notional {
			cost += "*"
		}
		plan := strings.TrimPrefix(textfmt.Line(p.Name)+": "+textfmt.Line(p.Plan), ": ")
		if p.MovedTo != "" {
			plan += " (in " + textfmt.Line(p.MovedTo) + ")"
		}
		rows = append(rows, []string{textfmt.Line(p.Run), string(p.Status),
			strconv.Itoa(p.Completed) + "/" + strconv.Itoa(p.Tasks), strconv.Itoa(p.Sessions),
			cost, FormatDuration(p.WorkTime), p.Started.UTC().Format(time.RFC3339), plan})
	}
	var b strings.Builder
	writeGrid(&b, dropColumns(rows, columns, "sessions", "time", "began"), columns, false)
	return b.String()
}

// RunsJSON returns the runs for programs, oldest first: dollars, seconds, RFC 3339 UTC.
func RunsJSON(list []RunEntry) ([]byte, error) {
	type wire struct {
		RunEntry
		Seconds float64 `json:"seconds"`
		CostUSD float64 `json:"cost_usd"`
	}
	out := struct {
		V    int    `json:"v"`
		Runs []wire `json:"runs"`
	}{Version, make([]wire, 0, len(list))}
	for _, p := range list {
		p.Started, p.Ended = p.Started.UTC(), p.Ended.UTC()
		out.Runs = append(out.Runs, wire{p, p.WorkTime.Seconds(), p.Cost.Float()})
	}
	b, err := json.MarshalIndent(out, "", "  ")
	return append(textfmt.JSON(b), '\n'), err
}
