package ui

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// This file lays out the changing part of the screen: one line for the wave and one for each
// running task. It computes lines from a model, a time and a width, and does no input or output.

// liveModel holds the data of the live part, copied from the state at each event.
type liveModel struct {
	report.Figures
	waves    bool            // there are barriers between waves
	shown    scheduler.Tally // of the wave, or of the plan without barriers
	stopping bool
	running  []event.Activity
	lists    map[string]report.Group // with running items, by id
	listOf   map[string]string       // by running task of a list: the id of the list
	observed map[string]observation  // of running attempts, by task
	failures failures
	outlook  outlook
}

// observation holds facts about a running attempt that are not on record.
type observation struct {
	attempt int
	last    string // the last tool, clean
	at      time.Time
	cost    budget.USD
	worker  string
}

// tallyText returns "2/4, 1 verified, 1 failed".
func tallyText(c scheduler.Tally) string {
	l := fmt.Sprintf("%d/%d", c.Completed, c.All)
	for _, n := range []struct {
		n    int
		word string
	}{{c.Verified, "verified"}, {c.Running, "running"}, {c.Failed, "failed"}, {c.Blocked, "blocked"}} {
		if n.n > 0 {
			l += fmt.Sprintf(", %d %s", n.n, n.word)
		}
	}
	return l
}

// update copies the state. c belongs to the same run. row is the number of the event's first line of record.
func (m *liveModel) update(e event.Event, s *scheduler.State, c *nextTask, row int) {
	m.failures.update(e, s, row)
	m.outlook.look(s, c, e.Time)
	m.Figures, m.stopping, m.running = report.FiguresOf(s), s.Stop != nil, s.Activities()
	m.updateLists(s)
	m.waves, m.shown = s.Config.Schedule != event.Eager, m.Total
	if m.waves {
		m.shown = s.Tally(m.Wave)
	}
	if w := e.Ends(); w.Kind == event.Attempt {
		delete(m.observed, w.Task)
	}
}

// observe updates the observation of an attempt. Empty words change nothing.
func (m *liveModel) observe(task string, attempt int, words string, at time.Time, cost budget.USD, worker string) {
	o := m.observed[task]
	if o.attempt != attempt {
		o = observation{attempt: attempt}
	}
	o.worker = cmp.Or(worker, o.worker)
	if words != "" {
		o.last, o.at = words, at
	}
	o.cost = max(o.cost, cost)
	if m.observed == nil {
		m.observed = map[string]observation{}
	}
	m.observed[task] = o
}

// maxRunning bounds the lines for running tasks.
const maxRunning = 8

// lines returns the live part for a screen. The lines fit its rows and columns.
func (m *liveModel) lines(now time.Time, columns, rows int, ascii bool) []string {
	out := []string{m.bar(now, columns, ascii)}
	if n := m.notice(now); n != "" {
		out = append(out, textfmt.Truncate(n, columns, ascii))
	}
	room := rows - 1 - len(out)
	next, entries := m.outlook.nextLine(), m.entries()
	used := min(len(entries)+1, maxRunning)
	m.failures.leave(room - used - maxFailureLines + 1)
	failed := m.failures.lines(columns, min(max(room-used, room/2), maxFailureLines), ascii)
	out = append(out, failed...)
	room = min(room-len(failed), maxRunning)
	if next != "" && !m.stopping && room > len(entries) {
		room--
	} else {
		next = ""
	}
	out = append(out, m.runningLines(entries, now, columns, room, ascii)...)
	if next != "" {
		out = append(out, textfmt.Truncate("  "+next, columns, ascii))
	}
	return out
}

// runningLines returns at most room lines for the running work.
func (m *liveModel) runningLines(entries []event.Activity, now time.Time, columns, room int,
	ascii bool) (out []string) {
	if room < 1 {
		return nil
	}
	shown := len(entries)
	if shown > room {
		shown = max(room-1, 1)
	}
	for _, d := range entries[:shown] {
		out = append(out, m.entryLine(d, now, columns, ascii))
	}
	if hidden := len(entries) - shown; hidden > 0 && room > 1 {
		out = append(out, textfmt.Truncate(fmt.Sprintf("  and %d more", hidden), columns, ascii))
	}
	return out
}

// entryLine returns the line of an entry.
func (m *liveModel) entryLine(d event.Activity, now time.Time, columns int, ascii bool) string {
	if d.Kind == listKind {
		return textfmt.Truncate(listLine(m.lists[d.Task], ascii), columns, ascii)
	}
	o := m.observed[d.Task]
	if d.Kind != "attempt" || o.attempt != d.Attempt {
		o = observation{}
	}
	label := d.Kind
	d.Last, d.At = textfmt.Fit(o.last, maxTextColumns, ascii), o.at
	if d.Task != "" {
		label = textfmt.Fit(d.Task, 60, ascii)
		if d.Attempt > 1 && d.Kind == "attempt" {
			label += fmt.Sprintf(" (attempt %d)", d.Attempt)
		}
		if o.worker != "" {
			label += " on " + textfmt.Fit(o.worker, 30, ascii)
		}
		label += " " + textfmt.Fit(d.Subject, 80, ascii)
	}
	return runningLine(d, label, o.cost, now, columns, ascii)
}

func (m *liveModel) notice(now time.Time) string {
	switch {
	case m.stopping:
		return fmt.Sprintf("stopping: %d still running, nothing more starts", m.Total.Running)
	case m.PausedUntil.After(now):
		return "nothing starts before " + m.PausedUntil.UTC().Format(time.RFC3339)
	}
	return ""
}

// bar returns the first line: the longest of its forms that fits.
func (m *liveModel) bar(now time.Time, columns int, ascii bool) string {
	wave := "all"
	if m.waves {
		wave = fmt.Sprintf("wave %d/%d", m.Wave, m.Waves)
	}
	shown := m.shown
	shown.Running = 0 // they have lines of their own
	count := tallyText(shown)
	total := fmt.Sprintf("all %d/%d", m.Total.Completed, m.Total.All)
	money, turns, elapsed := m.MoneyText(), "iteration "+m.IterationsText(), m.outlook.timeText(m.WorkTimeAt(now), now)
	short := report.FormatDuration(m.WorkTimeAt(now))
	const least, most = 10, 30 // cells of the bar
	for _, rest := range [][]string{
		{count, total, money, turns, elapsed}, {count, money, turns, elapsed}, {count, money, turns, short},
		{count, money, short},
	} {
		tail := strings.Join(rest, " | ")
		if room := columns - textfmt.Width(wave) - textfmt.Width(tail) - len("  100% || "); room >= least {
			return wave + " " + progressBar(m.shown, min(room, most), ascii) + " " + tail
		}
	}
	for _, rest := range [][]string{{wave, count, money, short}, {wave, count, money}} {
		if l := strings.Join(rest, " | "); textfmt.Width(l) <= columns {
			return l
		}
	}
	return textfmt.Truncate(count+" "+money, columns, ascii)
}

// progressBar draws the bar: " 40% |████ |". The library's bar writes to a discarding writer, and
// progress takes its text: the library assumes a line of its own and the wall clock, but this
// screen has lines above and below and its own clock.
//
// The bar counts the tasks whose checks have passed: completed and verified ones.
func progressBar(c scheduler.Tally, cells int, ascii bool) string {
	done, all := c.Completed+c.Verified, c.All
	theme := progressbar.ThemeDefault
	if ascii {
		theme = progressbar.ThemeASCII
	}
	b := progressbar.NewOptions(max(all, 1), progressbar.OptionSetWriter(io.Discard), progressbar.OptionSetWidth(cells),
		progressbar.OptionSetTheme(theme), progressbar.OptionSetPredictTime(false), progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetRenderBlankState(true))
	_ = b.Set(min(done, max(all, 1))) // an error means a failed write or a value above the maximum
	return strings.TrimRight(strings.TrimLeft(b.String(), "\r"), " ")
}

// runningLine describes work under way: its name, its age, its cost so far, and its last sign of life.
func runningLine(r event.Activity, label string, cost budget.USD, now time.Time, columns int, ascii bool) string {
	age := report.FormatDuration(max(now.Sub(r.Since), 0).Truncate(time.Second))
	if cost > 0 {
		age += "  " + cost.Spent() + " so far"
	}
	what := r.Last
	if r.Kind == "counsel" {
		what = "counsel"
	} else if quiet := now.Sub(r.At).Truncate(time.Second); what != "" && quiet >= time.Second {
		what += fmt.Sprintf(" (%s ago)", report.FormatDuration(quiet))
	}
	const least = 24 // with fewer columns its activity is not shown
	head := "  " + label
	room := columns - textfmt.Width(age) - 2
	if what == "" || room < 2*least {
		return textfmt.Truncate(head, room, ascii) + "  " + age
	}
	head = textfmt.Truncate(head, max(room/2, least), ascii)
	return head + "  " + age + "  " + textfmt.Truncate(what, room-textfmt.Width(head)-2, ascii)
}
