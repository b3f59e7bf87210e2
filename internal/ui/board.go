package ui

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// This file draws a run that is watched from another terminal: the progress of each wave, the
// running work with its last activity, and money against the budget. It is pure: it computes lines
// from a Board, a time and a size.

// Board holds the data of a run at one moment. Its texts may be foreign; Lines cleans them.
type Board struct {
	Run, Name   string
	Status      event.RunStatus
	Started     time.Time
	Ended       time.Time // zero while it runs
	Waves       []WaveCount
	CurrentWave int // the open wave; 0: none
	Running     []event.Activity
	Counts      event.Counts
	Spent       budget.USD
	Limits      budget.Limits
	Notional    bool
	Iterations  int // iterations
	PausedUntil time.Time
	Stopping    string // why nothing more starts; "" while the run starts work
	Next        string // the command that continues, or the next action
}

// WaveCount counts the tasks of a wave.
type WaveCount struct{ Done, Failed, Blocked, Running, All int }

// BoardOf derives the board from a state. The caller adds the running work. alive tells whether a
// wavex process works at the run.
func BoardOf(s *scheduler.State, alive bool) *Board {
	b := &Board{Run: s.Config.Run, Status: event.RunRunning, Started: s.SessionStart, Waves: make([]WaveCount, s.Waves),
		CurrentWave: s.Wave,
		Counts:      s.Counts, Spent: s.Ledger.Spent(),
		Limits: s.Ledger.Limits(), Notional: s.Notional, Iterations: s.Ledger.Iterations(), PausedUntil: s.PauseUntil}
	if s.Plan != nil {
		b.Name = s.Plan.Name
	}
	for i := range s.Tasks {
		t := &s.Tasks[i]
		w := &b.Waves[t.Wave-1]
		w.All++
		switch t.Status {
		case event.Completed:
			w.Done++
		case event.Failed:
			w.Failed++
		case event.Blocked:
			w.Blocked++
		case event.InProgress, event.Advising:
			w.Running++
		}
	}
	if s.Stop != nil {
		b.Stopping = cmp.Or(s.Stop.Reason, string(s.Stop.Status))
	}
	switch {
	case s.Ended != nil:
		b.Status, b.Next, b.CurrentWave = s.Ended.Status, s.Ended.Resume, 0
		b.Stopping = s.Ended.Reason
	case !alive:
		b.Status, b.Next = event.RunCutOff, "wavex resume"
	}
	return b
}

// Lines returns the board for a screen. The lines fit its rows and columns.
func (b *Board) Lines(now time.Time, o Options) []string {
	columns, rows := o.width()-1, max(o.height()-1, 3)
	cut := func(l string) string { return textfmt.Truncate(l, columns, o.ASCII) }
	out := []string{b.head(now, columns, o), cut(b.money())}
	if l := b.statusLine(now); l != "" {
		out = append(out, cut(l))
	}
	running := b.runningLines(now, columns, o.ASCII)
	room := rows - len(out) - 2 // two empty lines
	waves := b.waveLines(columns, max(min(room/2, len(b.Waves)), room-len(running)), o)
	if len(waves) > 0 && room > 3 {
		out = append(append(out, ""), waves...)
	}
	if len(running) > 0 && len(out) < rows-1 {
		out = append(out, "")
		if left := rows - len(out); len(running) > left {
			more := len(running) - left + 1
			running = append(running[:left-1:left-1], cut(fmt.Sprintf("  and %d more", more)))
		}
		out = append(out, running...)
	}
	return out[:min(len(out), rows)]
}

func (b *Board) head(now time.Time, columns int, o Options) string {
	end := now
	if !b.Ended.IsZero() {
		end = b.Ended
	}
	m := marks[markWarn]
	switch b.Status {
	case event.RunComplete:
		m = marks[markGood]
	case event.RunFailed:
		m = marks[markBad]
	case event.RunRunning:
		m = marks[markNone]
	}
	sign := m.sign
	if o.ASCII {
		sign = ""
	}
	parts := []string{string(b.Status), textfmt.Fit(cmp.Or(b.Name, b.Run), 60, o.ASCII),
		report.FormatDuration(max(end.Sub(b.Started), 0).Truncate(time.Second))}
	if b.Name != "" { // else the Run line stands there already
		parts = append(parts, b.Run)
	}
	words := strings.Join(parts, "  ")
	l := textfmt.Truncate(strings.TrimSpace(sign+" "+words), columns, o.ASCII)
	if o.Color {
		head, rest, _ := strings.Cut(l, "  ")
		l = colorize(cmp.Or(m.color, "34"), head) + strings.TrimSuffix("  "+rest, "  ")
	}
	return l
}

func (b *Board) money() string {
	c := b.Counts
	all := c.Completed + c.Failed + c.Blocked + c.Pending
	l := fmt.Sprintf("%d/%d tasks", c.Completed, all)
	if c.Failed > 0 {
		l += fmt.Sprintf(", %d failed", c.Failed)
	}
	if c.Blocked > 0 {
		l += fmt.Sprintf(", %d blocked", c.Blocked)
	}
	l += " | " + report.FormatNotional(b.Spent, b.Limits, b.Notional)
	if !b.Limits.NoUSD && b.Limits.USD > 0 {
		l += fmt.Sprintf(" (%.0f%%)", 100*b.Spent.Float()/b.Limits.USD.Float())
	}
	return l + " | iteration " + report.FormatIterations(b.Iterations, b.Limits)
}

func (b *Board) statusLine(now time.Time) string {
	switch {
	case !b.Ended.IsZero() || b.Status == event.RunCutOff:
		l := textfmt.Line(b.Stopping)
		if b.Next != "" {
			l = strings.TrimPrefix(l+"; continue with: "+textfmt.Line(b.Next), "; ")
		}
		return l
	case b.Stopping != "":
		return fmt.Sprintf("stopping: %s; %d still running", textfmt.Line(b.Stopping), len(b.Running))
	case b.PausedUntil.After(now):
		return "nothing starts before " + b.PausedUntil.UTC().Format(time.RFC3339)
	}
	return ""
}

// waveLines draws a bar for each wave, or for those around the open one if there is no room for all.
func (b *Board) waveLines(columns, room int, o Options) []string {
	if room < 1 || len(b.Waves) == 0 {
		return nil
	}
	from, to := 0, len(b.Waves)
	if to > room {
		keep := max(room-2, 1)
		from = min(max(b.CurrentWave-1-keep/3, 0), to-keep)
		to = from + keep
	}
	var out []string
	addHidden := func(n int, where string) {
		if n > 0 && room > 2 {
			out = append(out, textfmt.Truncate("  "+report.Plural(n, "wave", "waves")+where, columns, o.ASCII))
		}
	}
	addHidden(from, " before")
	digits := len(fmt.Sprint(len(b.Waves)))
	for i := from; i < to; i++ {
		out = append(out, b.waveLine(i, digits, columns, o))
	}
	addHidden(len(b.Waves)-to, " to come")
	return out
}

func (b *Board) waveLine(i, digits, columns int, o Options) string {
	w := b.Waves[i]
	tail := fmt.Sprintf("%d/%d", w.Done, w.All)
	for _, n := range []struct {
		n    int
		word string
	}{{w.Running, "running"}, {w.Failed, "failed"}, {w.Blocked, "blocked"}} {
		if n.n > 0 {
			tail += fmt.Sprintf(", %d %s", n.n, n.word)
		}
	}
	at := " "
	if i+1 == b.CurrentWave {
		at = ">"
	}
	l := fmt.Sprintf("%s wave %*d", at, digits, i+1)
	const least, most = 8, 32
	if room := columns - textfmt.Width(l) - textfmt.Width(tail) - len("  100% || "); room >= least {
		l += " " + progressBar(w.Done, w.All, min(room, most), o.ASCII)
	}
	l = textfmt.Truncate(l+" "+tail, columns, o.ASCII)
	switch {
	case !o.Color:
	case w.Failed+w.Blocked > 0:
		l = colorize("31", l)
	case w.Done == w.All:
		l = colorize("32", l)
	case i+1 != b.CurrentWave:
		l = colorize("2", l)
	}
	return l
}

func (b *Board) runningLines(now time.Time, columns int, ascii bool) []string {
	out := make([]string, 0, len(b.Running))
	for _, d := range b.Running {
		r := runningTask{label: d.Kind, counsel: d.Kind == "counsel", started: d.Since,
			last:   textfmt.Fit(d.Last, maxTextColumns, ascii),
			lastAt: d.At}
		if d.Task != "" {
			r.label = textfmt.Fit(d.Task, 60, ascii)
			if d.Attempt > 1 && !r.counsel {
				r.label += fmt.Sprintf(" (attempt %d)", d.Attempt)
			}
			r.label += " " + textfmt.Fit(d.Subject, 80, ascii)
		}
		out = append(out, r.line(now, columns, ascii))
	}
	return out
}

func colorize(color, text string) string { return "\x1b[" + color + "m" + text + "\x1b[0m" }

// Watch draws each board in the place of the one before. One goroutine uses it.
type Watch struct {
	s    screen
	opts Options
}

// NewWatch draws on w, a terminal that understands ANSI sequences (see Live).
func NewWatch(w io.Writer, o Options) *Watch { return &Watch{screen{w: w}, o} }

// Show draws a board on the screen.
func (v *Watch) Show(b *Board) error {
	return v.s.show(nil, b.Lines(v.opts.now(), v.opts), v.opts.width(), v.opts.height())
}

// Close keeps the last board on the screen and moves the cursor below it.
func (v *Watch) Close() error {
	if len(v.s.live) == 0 {
		return nil
	}
	_, err := io.WriteString(v.s.w, "\r\n")
	return err
}
