package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wavex/internal/event"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// maxTableRows bounds the table; a larger run shows the tasks that are not completed first.
const maxTableRows = 200

// maxRegressions bounds the broken checks that are named.
const maxRegressions = 10

// Table returns the per-task table, the totals, the reason of a stop and the command that
// continues, as lines for a fixed-width font. Rows are cut at columns (0: never). The lines below
// the table are not cut, because half a command is useless.
func (r *Summary) Table(columns int, ascii bool) string {
	var b strings.Builder
	rows, hidden := r.rows()
	writeGrid(&b, dropColumns(rows, columns, "counsel", "tokens", "time", "commit", "attempts", "cost"), columns, ascii)
	if hidden > 0 {
		fmt.Fprintf(&b, "(%s not shown)\n", Plural(hidden, "completed task", "completed tasks"))
	}
	b.WriteByte('\n')
	for _, l := range r.totals() {
		b.WriteString(l + "\n")
	}
	return b.String()
}

func (r *Summary) rows() (rows [][]string, hidden int) {
	rows = [][]string{{"task", "outcome", "attempts", "counsel", "cost", "tokens", "time", "commit", "subject"}}
	for i := range r.Tasks {
		t := &r.Tasks[i]
		if len(r.Tasks) > maxTableRows && t.Status == event.Completed {
			hidden++
			continue
		}
		panels := "-"
		if t.Panels > 0 {
			panels = strconv.Itoa(t.Panels)
		}
		rows = append(rows, []string{textfmt.Line(t.ID), r.statusText(t), strconv.Itoa(t.Attempts), panels,
			t.Cost.Spent(), FormatTokens(t.Usage.Total()), FormatDuration(t.Duration), t.shortCommit(), t.reasonText()})
	}
	if !r.committed() {
		for i, row := range rows {
			rows[i] = append(row[:7], row[8])
		}
	}
	return rows, hidden
}

// committed reports whether tasks have commits of their own.
func (r *Summary) committed() bool {
	return slices.ContainsFunc(r.Tasks, func(t Task) bool { return t.Commit != "" })
}

func (t *Task) shortCommit() string {
	if t.Commit == "" {
		return "-"
	}
	return t.Commit[:min(10, len(t.Commit))]
}

// StatusText returns the task's end in a word or two: "completed", "up to date", "failed (stalled)", "stopped
// (same-error)", "pending (throttled)".
func (t *Task) StatusText() string {
	switch {
	case t.Earlier != "":
		return "up to date"
	case t.Status == event.Completed || t.Status == event.Blocked || t.Outcome == "" || t.Outcome == "done":
		return string(t.Status)
	case t.Breaker != "":
		return fmt.Sprintf("stopped (%s)", t.Breaker)
	}
	return fmt.Sprintf("%s (%s)", t.Status, t.Outcome)
}

// statusText returns the task's own Verdict, except that no task is in progress once the run is cut
// off, and no panel advises once it has stopped.
func (r *Summary) statusText(t *Task) string {
	switch {
	case r.Status == event.RunCutOff && (t.Status == event.InProgress || t.Status == event.Advising):
		return string(event.RunCutOff)
	case r.Status == event.RunCutOff && t.Status == event.Pending && t.Outcome == runner.Interrupted:
		return string(event.RunCutOff) // corrected by the run's status
	case r.Status != event.RunRunning && t.Status == event.Advising:
		waiting := *t
		waiting.Status = event.Pending
		return waiting.StatusText()
	}
	return t.StatusText()
}

func (t *Task) reasonText() string {
	w := textfmt.Line(t.Subject)
	if t.Vacuous && t.Status == event.Completed {
		w += " [checks passed before any work]"
	}
	if t.Reason != "" {
		w = strings.TrimPrefix(w+": "+textfmt.Line(t.Reason), ": ")
	}
	return w
}

// upToDate counts the completed tasks that were not run again.
func (r *Summary) upToDate() (n int) {
	for i := range r.Tasks {
		if r.Tasks[i].Earlier != "" {
			n++
		}
	}
	return n
}

func (r *Summary) totals() []string {
	first := fmt.Sprintf("%s: %d of %s completed, %d failed, %d blocked, %d pending", r.Status,
		r.Counts.Completed, Plural(len(r.Tasks), "task", "tasks"), r.Counts.Failed, r.Counts.Blocked, r.Counts.Pending)
	if n := r.upToDate(); n > 0 {
		first += fmt.Sprintf("; %d up to date", n)
	}
	l := []string{first}
	money := "Cost: " + FormatNotional(r.Cost, r.Limits, r.Notional)
	var parts []string
	if r.CounselCost > 0 {
		parts = append(parts, "counsel "+r.CounselCost.Spent())
	}
	if r.OtherCost > 0 {
		parts = append(parts, "beside the tasks "+r.OtherCost.Spent())
	}
	if len(parts) > 0 {
		money += " (" + strings.Join(parts, "; ") + ")"
	}
	if w := r.Window; w != nil {
		money += fmt.Sprintf(" | Usage limit: %.0f %% of %s", 100*w.Used, textfmt.Line(w.Name))
	}
	money += " | Iterations: " + FormatIterations(r.Iterations, r.Limits) + " | Tokens: " + FormatTokens(r.Usage.Total())
	if !r.Started.IsZero() {
		money += " | Time: " + FormatDuration(r.WorkTime)
	}
	l = append(l, money)
	if cache := r.cacheLine(); cache != "" {
		l = append(l, cache)
	}
	switch s := r.Sandbox; {
	case s.Wall:
		l = append(l, "Wall: up, agents cannot write protected paths")
	case s.Reason != "":
		l = append(l, "Wall: none, "+textfmt.Line(s.Reason))
	}
	l = append(l, r.policyLines()...)
	for i, g := range r.Regressions {
		if i == maxRegressions {
			l = append(l, fmt.Sprintf("Broken: %d more checks passed and fail now", len(r.Regressions)-i))
			break
		}
		l = append(l, "Broken: "+textfmt.Line(g.String()))
	}
	l = append(append(l, r.reviewLines()...), r.evidenceLines()...)
	if r.Reason != "" {
		l = append(l, "Stopped: "+textfmt.Line(r.Reason))
	}
	if !r.ResumeAt.IsZero() {
		l = append(l, "Resume at: "+r.ResumeAt.UTC().Format("2006-01-02T15:04:05Z"))
	}
	if r.Advice != "" && r.Limit == "" { // at a limit it is a flag, and part of Resume
		l = append(l, "What to do: "+textfmt.Line(r.Advice))
	}
	if r.Resume != "" {
		l = append(l, "Continue with: "+textfmt.Line(r.Resume))
	}
	return l
}

// dropColumns removes columns, in this order, until the last one has room for some words.
func dropColumns(rows [][]string, columns int, least ...string) [][]string {
	const words, id = 12, 24
	for _, name := range least {
		wide := words
		for i := range rows[0][:len(rows[0])-1] {
			most := 0
			for _, row := range rows {
				most = max(most, textfmt.Width(row[i]))
			}
			if i == 0 {
				most = min(most, id)
			}
			wide += most + 2
		}
		if columns <= 0 || wide <= columns {
			return rows
		}
		if at := slices.Index(rows[0], name); at > 0 {
			for i, row := range rows {
				rows[i] = slices.Delete(row, at, at+1)
			}
		}
	}
	return rows
}

// writeGrid aligns cells by display width: columns 2 to 6 are figures and aligned right, the last one
// takes the remaining width.
func writeGrid(b *strings.Builder, rows [][]string, columns int, ascii bool) {
	last := len(rows[0]) - 1
	wide := make([]int, last)
	for _, row := range rows {
		for i, cell := range row[:last] {
			wide[i] = max(wide[i], textfmt.Width(cell))
		}
	}
	if columns > 0 {
		wide[0] = min(wide[0], 24) // a long id must not push the figures out
	}
	for _, row := range rows {
		var l strings.Builder
		for i, cell := range row[:last] {
			if i > 0 {
				l.WriteString("  ")
			}
			switch {
			case i == 0:
				l.WriteString(textfmt.Pad(textfmt.Truncate(cell, wide[0], ascii), wide[0]))
			case i == 1:
				l.WriteString(textfmt.Pad(cell, wide[1]))
			default:
				l.WriteString(textfmt.PadLeft(cell, wide[i]))
			}
		}
		l.WriteString("  " + row[last])
		text := strings.TrimRight(l.String(), " ")
		if columns > 0 {
			text = textfmt.Truncate(text, columns, ascii)
		}
		b.WriteString(text + "\n")
	}
}

// policyLines returns a line with the number of tool calls that the policy did not let run.
func (r *Summary) policyLines() []string {
	refused := 0
	for _, t := range r.Tasks {
		for _, a := range t.History {
			refused += a.Refused
		}
	}
	if refused == 0 {
		return nil
	}
	return []string{"Policy: " + Plural(refused, "tool call", "tool calls") + " denied"}
}
