package ui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

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
	ByWave      []scheduler.Tally
	CurrentWave int            // 0: the run does not go on
	Lists       []report.Group // in plan order
	Running     []event.Activity
	Stopping    string // why nothing more starts; "" while the run starts work
	Next        string // the command that continues, or the next action
	outlook     outlook
	report.Figures
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

// BoardOf derives the board from a state. alive tells whether a wavex process works at the run. The caller may add
// signs of life to the running work.
func BoardOf(s *scheduler.State, alive bool) *Board {
	b := newBoard(s, alive)
	if !b.over() {
		b.Running = s.Activities()
		b.outlook.look(s, &nextTask{}, s.LastEvent())
	}
	return b
}

// newBoard returns the board without the running work and the outlook.
func newBoard(s *scheduler.State, alive bool) *Board {
	b := &Board{Run: s.Config.Run, Name: s.Plan.Name, Status: event.RunRunning, CurrentWave: s.CurrentWave(),
		Figures: report.FiguresOf(s), Lists: report.GroupsOf(s)}
	for w := range s.Waves {
		b.ByWave = append(b.ByWave, s.Tally(w+1))
	}
	if s.Stop != nil {
		b.Stopping = cmp.Or(s.Stop.Reason, string(s.Stop.Status))
	}
	switch {
	case s.Ended != nil:
		b.Status, b.Next = s.Ended.Status, s.Ended.Resume
		b.Stopping = s.Ended.Reason
	case !alive:
		b.Status, b.Next = event.RunCutOff, "wavex resume"
	}
	if b.over() {
		b.CurrentWave, b.Total.Running = 0, 0
		for w := range b.ByWave {
			b.ByWave[w].Running = 0
		}
		for k, g := range b.Lists {
			b.Lists[k] = g.Stopped()
		}
	}
	return b
}

// over reports whether the run does not go on without a resume.
func (b *Board) over() bool { return b.Status != event.RunRunning }

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
	lists := b.listLines(columns, room/3, o.ASCII)
	room -= len(lists)
	waves := b.waveLines(columns, max(min(room/2, len(b.ByWave)), room-len(running)), o)
	if len(waves) > 0 && room > 3 {
		out = append(append(out, ""), waves...)
	}
	out = append(out, lists...)
	if len(running) > 0 && len(out) < rows-1 {
		out = append(out, "")
		if left := rows - len(out); len(running) > left {
			more := len(running) - left + 1
			running = append(running[:left-1:left-1], cut(fmt.Sprintf("  and %d more", more)))
		}
		out = append(out, running...)
	}
	if next := b.outlook.nextLine(); next != "" && b.Stopping == "" && len(out) < rows {
		out = append(out, cut("  "+next))
	}
	return out[:min(len(out), rows)]
}

func (b *Board) head(now time.Time, columns int, o Options) string {
	took := b.WorkTime
	if !b.over() {
		took = b.WorkTimeAt(now)
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
		b.outlook.timeText(took, now)}
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
	c := b.Total
	done, rest, _ := strings.Cut(tallyText(c), ",")
	l := done + " tasks"
	if rest != "" {
		l += "," + rest
	}
	l += " | " + b.MoneyText()
	if !b.Limits.NoUSD && b.Limits.USD > 0 {
		l += fmt.Sprintf(" (%.0f%%)", 100*b.Cost.Float()/b.Limits.USD.Float())
	}
	return l + " | iteration " + b.IterationsText()
}

func (b *Board) statusLine(now time.Time) string {
	switch {
	case b.over():
		l := textfmt.Line(b.Stopping)
		if b.Next != "" {
			l = strings.TrimPrefix(l+"; continue with: "+textfmt.Line(b.Next), "; ")
		}
		return l
	case b.Stopping != "":
		return fmt.Sprintf("stopping: %s; %d still running", textfmt.Line(b.Stopping), b.Total.Running)
	case b.PausedUntil.After(now):
		return "nothing starts before " + b.PausedUntil.UTC().Format(time.RFC3339)
	}
	return ""
}

// waveLines draws a bar for each wave, or for those around the open one if there is no room for all.
func (b *Board) waveLines(columns, room int, o Options) []string {
	if room < 1 || len(b.ByWave) == 0 {
		return nil
	}
	from, to := 0, len(b.ByWave)
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
	digits := len(fmt.Sprint(len(b.ByWave)))
	for i := from; i < to; i++ {
		out = append(out, b.waveLine(i, digits, columns, o))
	}
	addHidden(len(b.ByWave)-to, " to come")
	return out
}

func (b *Board) waveLine(i, digits, columns int, o Options) string {
	w := b.ByWave[i]
	tail := tallyText(w)
	at := " "
	if i+1 == b.CurrentWave {
		at = ">"
	}
	l := fmt.Sprintf("%s wave %*d", at, digits, i+1)
	const least, most = 8, 32
	if room := columns - textfmt.Width(l) - textfmt.Width(tail) - len("  100% || "); room >= least {
		l += " " + progressBar(w, min(room, most), o.ASCII)
	}
	l = textfmt.Truncate(l+" "+tail, columns, o.ASCII)
	switch {
	case !o.Color:
	case w.Failed+w.Blocked > 0:
		l = colorize("31", l)
	case w.Completed == w.All:
		l = colorize("32", l)
	case i+1 != b.CurrentWave:
		l = colorize("2", l)
	}
	return l
}

// listLines returns a line for each list, those that are done last, and says how many more there are than room.
func (b *Board) listLines(columns, room int, ascii bool) (out []string) {
	lists := slices.Clone(b.Lists)
	slices.SortStableFunc(lists, func(x, y report.Group) int {
		return cmp.Compare(min(y.Waiting+y.Running, 1), min(x.Waiting+x.Running, 1))
	})
	for k, g := range lists {
		if len(out) == room-1 && k < len(lists)-1 {
			return append(out, textfmt.Truncate("  and "+report.Plural(len(lists)-k, "more list", "more lists"), columns, ascii))
		}
		if len(out) < room {
			out = append(out, textfmt.Truncate(listLine(g, ascii), columns, ascii))
		}
	}
	return out
}

func (b *Board) runningLines(now time.Time, columns int, ascii bool) []string {
	out := make([]string, 0, len(b.Running))
	for _, d := range b.Running {
		r := newRunningTask(d, ascii)
		out = append(out, r.line(now, columns, ascii))
	}
	return out
}

func colorize(color, text string) string { return "\x1b[" + color + "m" + text + "\x1b[0m" }
