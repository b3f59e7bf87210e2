package report

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/textfmt"
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
// the last one. The cost of a session that was cut off is the cost of its ended attempts, panels
// and reviews.
func Runs(events []event.Event, alive bool) []RunEntry {
	var l runList
	for _, e := range events {
		l.add(e)
		l.last = e.Time
	}
	open := !l.since.IsZero()
	l.cutOff()
	if n := len(l.all); open && alive && n > 0 {
		l.all[n-1].Status, l.all[n-1].Ended = event.RunRunning, time.Time{}
	}
	return l.all
}

// runList holds the runs of the events so far, with the session that has no record of its end yet.
type runList struct {
	all   []RunEntry
	spent budget.USD
	since time.Time // zero: no session is open
	last  time.Time
	done  map[string]bool
}

// addUpToDate counts the tasks that an earlier run completed; u may be nil.
func (l *runList) addUpToDate(u *event.UpToDate) {
	if u == nil {
		return
	}
	for _, id := range u.Tasks {
		l.done[id] = true
	}
}

// cutOff ends a session without a record of its end.
func (l *runList) cutOff() {
	if n := len(l.all); n > 0 && !l.since.IsZero() {
		p := &l.all[n-1]
		p.Status = event.RunCutOff
		p.Ended = l.last
		p.WorkTime += l.last.Sub(l.since)
		p.Completed = len(l.done)
		p.Cost = l.spent
		l.since = time.Time{}
	}
}

func (l *runList) add(e event.Event) {
	if b, ok := e.Body.(event.RunStarted); ok {
		l.cutOff()
		l.all = append(l.all, RunEntry{Run: b.Config.Run, Name: b.Name, Plan: b.Plan, Started: e.Time, Tasks: b.Tasks,
			Sessions: 1})
		l.spent, l.done, l.since = 0, map[string]bool{}, e.Time
		if b.Origin != nil {
			l.spent = b.Origin.Spent
		}
	}
	if len(l.all) == 0 {
		return // the cost of a request is in the Origin of its run
	}
	p := &l.all[len(l.all)-1]
	switch b := e.Body.(type) {
	case event.RunResumed:
		l.cutOff()
		p.Tasks, p.Plan = b.Tasks, b.Plan
		p.Sessions++
		l.since = e.Time
	case event.AttemptEnded:
		l.spent += b.Result.Cost
		if b.Status == event.Completed {
			l.done[b.Task] = true
		}
		if b.Charged {
			p.Iterations++
		}
	case event.IntegrationEnded:
		for _, id := range b.Completed {
			l.done[id] = true
		}
	case event.CounselEnded:
		l.spent += b.Verdict.Cost
	case event.ReviewEnded:
		l.spent += b.Review.Cost
	case event.CriteriaEnded:
		l.spent += b.Cost
		l.addUpToDate(b.UpToDate)
	case event.PrecheckEnded:
		l.spent += b.Challenge.Cost
	case event.RunEnded:
		p.Status = b.Status
		p.ExitCode = b.ExitCode
		p.Reason = b.Reason
		p.Ended = e.Time
		if !l.since.IsZero() { // else it happened between sessions: a rollback, a cancel
			p.WorkTime += e.Time.Sub(l.since)
		}
		p.Completed = b.Tasks.Completed
		p.Cost = b.Cost
		p.Notional = b.Notional
		p.Iterations = b.Iterations
		p.Tasks = b.Tasks.Completed + b.Tasks.Failed + b.Tasks.Blocked + b.Tasks.Pending
		l.since = time.Time{}
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
