package statefiles

import (
	"fmt"
	"slices"
	"strings"

	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/textfmt"
)

// This file writes PROGRESS.md, for people.

// maxListed is the maximum number of tasks in a section, since a list of thousands has no reader.
const maxListed = 500

// progress returns the text of the file.
func (b *model) progress() []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "# Loop Progress: %s\n\n", textfmt.Line(b.goal()))
	wave := fmt.Sprintf("Wave %d of %d", b.Wave, b.Waves)
	if b.config.Schedule == event.Eager { // there is no open wave
		wave = fmt.Sprintf("%d waves, without barriers", b.Waves)
	}
	fmt.Fprintf(&out, "**Status:** %s | Iteration %d | Cost: %s\n", wave, b.Iterations, b.MoneyText())
	if b.ended != nil {
		fmt.Fprintf(&out, "**Ended:** %s%s\n", b.ended.Status, reasonSuffix(b.ended.Reason))
	} else if b.stop != nil {
		fmt.Fprintf(&out, "**Stopping:** %s%s\n", b.stop.Status, reasonSuffix(b.stop.Reason))
	}
	b.section(&out, "✅ Completed", "x", event.Completed)
	b.section(&out, "🔄 In Progress", " ", event.InProgress, event.Advising, event.Verified)
	b.section(&out, "⏳ Pending", " ", event.Pending)
	b.section(&out, "❌ Failed", " ", event.Failed)
	b.section(&out, "⛔ Blocked", " ", event.Blocked)
	stuck, panels := 0, 0
	for i := range b.tasks {
		stuck += b.tasks[i].Stuck
		panels += b.tasks[i].Panels
	}
	counsel := "No"
	if panels > 0 {
		counsel = "Yes"
	}
	fmt.Fprintf(&out, "\n## 📊 Metrics\n- Tasks: %d/%d complete\n- Stuck count: %d\n- Counsel consulted: %s\n",
		b.counts.Completed, len(b.tasks), stuck, counsel)
	return []byte(out.String())
}

func reasonSuffix(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + textfmt.Fit(reason, 300, true)
}

// section writes the list of the tasks with some statuses, or nothing if there are none. The title
// has the waves of tasks that are done or under way, and the first wave of those that wait.
func (b *model) section(out *strings.Builder, title, mark string, statuses ...event.Status) {
	first, last, n := 0, 0, 0
	var list strings.Builder
	for i := range b.tasks {
		t := &b.tasks[i]
		if !slices.Contains(statuses, t.Status) {
			continue
		}
		if first == 0 || t.Wave < first {
			first = t.Wave
		}
		last = max(last, t.Wave)
		if n++; n <= maxListed {
			p := &b.plan.Tasks[i]
			fmt.Fprintf(&list, "- [%s] %s: %s%s\n", mark, textfmt.Line(report.DisplayID(p.ID)), textfmt.Line(stepName(p)),
				b.taskNote(i))
		}
	}
	if n == 0 {
		return
	}
	wave := fmt.Sprintf("Wave %d", first)
	switch {
	case statuses[0] == event.Pending:
		wave += "+"
	case last > first:
		wave = fmt.Sprintf("Waves %d-%d", first, last)
	}
	fmt.Fprintf(out, "\n## %s (%s)\n%s", title, wave, list.String())
	if n > maxListed {
		fmt.Fprintf(out, "- and %d more\n", n-maxListed)
	}
}

// taskNote returns the text after the subject in a task's line.
func (b *model) taskNote(i int) string {
	t := &b.tasks[i]
	switch t.Status {
	case event.InProgress:
		if t.Tries > 1 {
			return fmt.Sprintf(" (assigned to subagent, try %d)", t.Tries)
		}
		return " (assigned to subagent)"
	case event.Advising:
		return " (counsel)"
	case event.Verified:
		return " (verified, to be checked with the others)"
	case event.Blocked:
		if t.RootCause != "" {
			return fmt.Sprintf(" (blocked by %s)", textfmt.Line(report.DisplayID(t.RootCause)))
		}
	}
	switch waits := b.openBlockers(i); {
	case len(waits) > 0:
		return fmt.Sprintf(" (blocked by %s)", textfmt.Line(textfmt.FirstOf(waits, 5, 0)))
	case t.Status == event.Pending && t.Tries > 0:
		return " (to be tried again)"
	}
	return ""
}
