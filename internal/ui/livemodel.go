package ui

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"wavex/budget"
	"wavex/internal/report"
	"wavex/internal/textfmt"
)

// This file lays out the changing part of the screen: one line for the wave and one for each
// running task. It is pure: it computes lines from a model, a time and a width.

// liveModel holds the data of the live part, copied from the state at each event.
type liveModel struct {
	started     time.Time // of the session
	wave, waves int
	done, all   int // tasks settled and in total: of the wave, or of the plan without barriers
	completed   int // in the plan
	tasks       int // in the plan
	spent       budget.USD
	limits      budget.Limits
	notional    bool // the spent money is not billed
	iterations  int
	pausedUntil time.Time // nothing starts before
	stopping    bool
	running     []runningTask // in order of their start
}

// runningTask is an attempt or a panel under way.
type runningTask struct {
	task, label string
	attempt     int
	counsel     bool
	started     time.Time
	last        string    // the last tool, clean
	lastAt      time.Time // time of last
	cost        budget.USD
}

// maxRunning bounds the lines for running tasks.
const maxRunning = 8

// lines returns the live part for a screen. The lines fit its rows and columns.
func (m *liveModel) lines(now time.Time, columns, rows int, ascii bool) []string {
	out := []string{m.bar(now, columns, ascii)}
	if n := m.notice(now); n != "" {
		out = append(out, textfmt.Truncate(n, columns, ascii))
	}
	room := min(rows-1-len(out), maxRunning)
	for i, r := range m.running {
		if left := len(m.running) - i; i == room-1 && left > 1 {
			out = append(out, textfmt.Truncate(fmt.Sprintf("  and %d more", left), columns, ascii))
			break
		} else if i >= room {
			break
		}
		out = append(out, r.line(now, columns, ascii))
	}
	return out
}

func (m *liveModel) notice(now time.Time) string {
	switch {
	case m.stopping:
		return fmt.Sprintf("stopping: %d still running, nothing more starts", len(m.running))
	case m.pausedUntil.After(now):
		return "nothing starts before " + m.pausedUntil.UTC().Format(time.RFC3339)
	}
	return ""
}

// bar returns the first line: the longest of its forms that fits.
func (m *liveModel) bar(now time.Time, columns int, ascii bool) string {
	cost := m.spent
	for _, r := range m.running {
		cost += r.cost
	}
	wave := "all"
	if m.waves > 0 {
		wave = fmt.Sprintf("wave %d/%d", m.wave, m.waves)
	}
	count := fmt.Sprintf("%d/%d", m.done, m.all)
	total := fmt.Sprintf("all %d/%d", m.completed, m.tasks)
	money := report.FormatNotional(cost, m.limits, m.notional)
	turns := "iteration " + report.FormatIterations(m.iterations, m.limits)
	elapsed := report.FormatDuration(max(now.Sub(m.started), 0).Truncate(time.Second))
	const least, most = 10, 30 // cells of the bar
	for _, rest := range [][]string{
		{count, total, money, turns, elapsed}, {count, money, turns, elapsed}, {count, money, elapsed},
	} {
		tail := strings.Join(rest, " | ")
		if room := columns - textfmt.Width(wave) - textfmt.Width(tail) - len("  100% || "); room >= least {
			return wave + " " + progressBar(m.done, m.all, min(room, most), ascii) + " " + tail
		}
	}
	for _, rest := range [][]string{{wave, count, money, elapsed}, {wave, count, money}} {
		if l := strings.Join(rest, " | "); textfmt.Width(l) <= columns {
			return l
		}
	}
	return textfmt.Truncate(count+" "+money, columns, ascii)
}

// progressBar draws the bar: " 40% |████ |". The library's bar writes to a discarding writer, and
// progress takes its text: the library assumes a line of its own and the wall clock, but this
// screen has lines above and below and its own clock.
func progressBar(done, all, cells int, ascii bool) string {
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

// line describes one running task: its name, its age, and its last sign of life.
func (r *runningTask) line(now time.Time, columns int, ascii bool) string {
	age := report.FormatDuration(max(now.Sub(r.started), 0).Truncate(time.Second))
	what := r.last
	if r.counsel {
		what = "counsel"
	}
	if quiet := now.Sub(r.lastAt).Truncate(time.Second); what != "" && !r.counsel && quiet >= time.Second {
		what += fmt.Sprintf(" (%s ago)", report.FormatDuration(quiet))
	}
	const least = 24 // with fewer columns its activity is not shown
	head := "  " + r.label
	room := columns - textfmt.Width(age) - 2
	if what == "" || room < 2*least {
		return textfmt.Truncate(head, room, ascii) + "  " + age
	}
	head = textfmt.Truncate(head, max(room/2, least), ascii)
	return head + "  " + age + "  " + textfmt.Truncate(what, room-textfmt.Width(head)-2, ascii)
}
