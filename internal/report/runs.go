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
func Runs(events []event.Event, now time.Time, alive bool) (list []RunEntry) {
	runs := RunsOf(events)[1:] // the cost of a request is in the Origin of its run
	for i := range runs {
		last := i == len(runs)-1
		list = append(list, newRunEntry(&runs[i], now, alive && last))
	}
	return list
}

// newRunEntry returns the short form of a run. If its journal contradicts itself, the figures are those of the first
// part.
func newRunEntry(r *Run, now time.Time, alive bool) RunEntry {
	m := meter{State: scheduler.NewMeter()}
	m.add(r.Events)
	p := RunEntry{Run: r.First.Config.Run, Name: r.First.Name, Plan: r.Last.Plan, Started: r.Events[0].Time,
		Tasks: r.Last.Tasks + r.Added, Completed: len(r.Completed), Sessions: len(m.Sessions()),
		Cost: m.Ledger.Spent(), Notional: m.Notional, Iterations: m.Ledger.Iterations()}
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
	return p
}

// meter has the figures of a run that need no plan.
type meter struct {
	*scheduler.State
	torn bool
}

// add adds events up to one that contradicts the others: a ledger panics when it would count money twice.
func (m *meter) add(events []event.Event) {
	if m.torn {
		return
	}
	var c panics.Catcher
	c.Try(func() { m.torn = m.Replay(events) != nil })
	m.torn = m.torn || c.Recovered() != nil
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
