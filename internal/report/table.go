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

// Table returns the per-task table and the lines of Ending, for a fixed-width font. Rows are cut at
// columns (0: never). The lines below the table are not cut, because half a command is useless.
func (r *Summary) Table(columns int, ascii bool) string {
	var b strings.Builder
	rows := dropColumns(r.rows(), columns, "counsel", "tokens", "time", "commit", "attempts", "cost")
	writeGrid(&b, rows, columns, ascii)
	if hidden := r.totals.hiddenText(); hidden != "" {
		fmt.Fprintf(&b, "(%s)\n", hidden)
	}
	b.WriteByte('\n')
	for _, l := range r.endLines(true) {
		b.WriteString(l + "\n")
	}
	return b.String()
}

func (r *Summary) rows() [][]string {
	rows := [][]string{{"task", "outcome", "attempts", "counsel", "cost", "tokens", "time", "commit", "subject"}}
	r.eachRow(func(t *Task) {
		panels := "-"
		if t.Panels > 0 {
			panels = strconv.Itoa(t.Panels)
		}
		rows = append(rows, []string{textfmt.Line(t.ID), r.statusText(t), strconv.Itoa(t.Attempts), panels,
			t.Cost.Spent(), FormatTokens(t.Usage.Total()), FormatDuration(t.Duration), t.shortCommit(), t.reasonText()})
	}, func(g *Group) { rows = append(rows, g.cells()) })
	if !r.totals.committed {
		for i, row := range rows {
			rows[i] = append(row[:7], row[8])
		}
	}
	return rows
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
	if t.Reason != "" {
		w = strings.TrimPrefix(w+": "+textfmt.Line(t.Reason), ": ")
	}
	return w
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
