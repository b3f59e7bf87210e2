package ui

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"wavex/internal/async"
	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/runner"
	"wavex/scheduler"
)

const (
	frameInterval = 100 * time.Millisecond // the minimum time between two frames
	tickInterval  = time.Second            // update of ages and elapsed time
)

// LiveView redraws a few lines at the bottom of the screen and scrolls lines of record away above
// them. Callers change the model under the lock. One goroutine owns the screen and never holds the
// lock while it writes.
type LiveView struct {
	teller // only the scheduler's goroutine uses it
	w      io.Writer
	frames *async.Worker

	mu     sync.Mutex
	model  liveModel
	above  []row // not yet on the screen
	drawn  int   // number of the first of them
	live   bool  // the live part needs a redraw
	closed bool
	over   bool // the last frame is drawn

	err error // of the screen; only the worker and, after it, Close use it
}

// row is a line of record: a mark and text.
type row struct {
	mark mark
	text string // clean
	wrap bool   // wrap it instead of cutting it
}

// Terminal returns the live view: a progress bar for the wave with cost, iteration and elapsed
// time, the running tasks with their last tool and its age, and above them one permanent line per
// task that ended. w must be a terminal that understands ANSI sequences (see Live); use Plain
// otherwise.
func Terminal(w io.Writer, o Options) *LiveView {
	v := &LiveView{teller: teller{opts: o, question: func(string) {}}, w: w}
	s := screen{w: w}
	var tick *time.Timer
	v.frames = async.Start(func(last bool) time.Duration {
		if tick != nil {
			tick.Stop()
		}
		if v.draw(&s, last); !last {
			tick = time.AfterFunc(tickInterval, v.frames.Wake)
		}
		return frameInterval // events in a burst share a frame
	})
	return v
}

// draw writes the new rows and the live part to the screen. After the last frame only the rows
// remain.
func (v *LiveView) draw(s *screen, last bool) {
	columns, rows := v.opts.width(), v.opts.height()
	v.mu.Lock()
	text := make([]string, len(v.above))
	for i, r := range v.above {
		text[i] = r.render(columns, v.opts)
		v.model.failures.scroll(v.drawn+i, rowsOf(text[i], columns))
	}
	v.drawn += len(v.above)
	v.above = nil
	var live []string
	if v.live && !last {
		live = v.model.lines(v.opts.now(), columns-1, rows, v.opts.ASCII)
	}
	v.mu.Unlock()
	if v.err == nil {
		v.err = s.show(text, live, columns, rows)
	}
}

// Write shows lines of wavex itself above the live part. After Close it writes to the terminal.
func (v *LiveView) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.over {
		return v.w.Write(p)
	}
	for l := range strings.Lines(strings.Trim(string(p), "\n")) {
		v.above = append(v.above, row{text: textfmt.Line(l), wrap: true})
	}
	v.frames.Wake()
	return len(p), nil
}

// Close draws the remaining rows, removes the live part and waits for the goroutine.
func (v *LiveView) Close() error {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	v.frames.Close()
	v.mu.Lock()
	v.over = true
	late := v.above
	v.above = nil
	v.mu.Unlock()
	for _, r := range late { // written after the last frame
		if v.err == nil {
			_, v.err = io.WriteString(v.w, r.render(v.opts.width(), v.opts)+"\r\n")
		}
	}
	return wrapWriteError(v.err)
}

func (v *LiveView) Observe(o runner.Observation) {
	words := textfmt.Fit(o.Text, maxTextColumns, v.opts.ASCII)
	if o.Kind == "api_retry" || o.Kind == "rate_limit" || o.Kind == "waiting" || o.Kind == "checking" {
		words = strings.TrimSpace(o.Kind + " " + words)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.model.observe(o.Task, o.Attempt, words, v.opts.now(), o.Cost, o.Worker)
	v.frames.Wake()
}

// Join begins to show a run that goes on already. The finished tasks get their lines, the last ones of many.
func (v *LiveView) Join(s *scheduler.State, now time.Time) {
	rows := joinRows(s)
	v.mu.Lock()
	defer v.mu.Unlock()
	first := v.drawn + len(v.above)
	v.above = append(v.above, rows...)
	v.live = s.Ended == nil
	v.model.update(event.Event{Time: now}, s, &v.next, first)
	v.frames.Wake()
}

// Once returns the lines of the live view of a run that goes on already. running has the signs of life of its work.
func Once(s *scheduler.State, running []event.Activity, now time.Time, o Options) (lines []string) {
	for _, r := range joinRows(s) {
		lines = append(lines, r.render(o.width(), o))
	}
	var m liveModel
	m.update(event.Event{Time: now}, s, &nextTask{}, 0)
	for _, d := range running {
		m.observe(d.Task, d.Attempt, textfmt.Fit(d.Last, maxTextColumns, o.ASCII), d.At, 0, d.Worker)
	}
	return append(lines, m.lines(now, o.width()-1, o.height(), o.ASCII)...)
}

// maxJoined bounds the finished tasks that a view which joins a run names, completed and failed ones each.
const maxJoined = 10

func joinRows(s *scheduler.State) []row {
	rows := []row{{text: sessionText(s.Config, s.Plan.Path, s.Plan.Name, len(s.Tasks), s.Waves), wrap: true}}
	var completed, failed []int
	for i := range s.Tasks {
		switch s.Tasks[i].Status {
		case event.Completed:
			completed = append(completed, i)
		case event.Failed:
			failed = append(failed, i)
		}
	}
	slices.SortStableFunc(completed, func(a, b int) int { return s.Tasks[a].Started.Compare(s.Tasks[b].Started) })
	if more := len(completed) - maxJoined; more > 0 {
		rows = append(rows, row{mark: markGood, text: report.Plural(more, "more task", "more tasks") + " before"})
		completed = completed[more:]
	}
	for _, i := range completed {
		rows = append(rows, row{mark: markGood, text: taskFigures(s, s.Plan.Tasks[i].ID)})
	}
	for _, i := range failed[:min(len(failed), maxJoined)] {
		id := s.Plan.Tasks[i].ID
		text := taskLabel(s, id)
		if l := s.Tasks[i].Last; l != nil {
			text += "  " + fitText(l.Reason)
		}
		rows = append(rows, row{mark: markBad, text: text, wrap: true},
			row{text: "  full output: wavex logs " + fitText(id)})
	}
	return rows
}

// Activity shows the last sign of life of a running attempt, as its files tell it.
func (v *LiveView) Activity(d event.Activity) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if d.Last+d.Worker != "" && d.Kind == "attempt" {
		v.model.observe(d.Task, d.Attempt, textfmt.Fit(d.Last, maxTextColumns, v.opts.ASCII), d.At, 0, d.Worker)
		v.frames.Wake()
	}
}

func (v *LiveView) Event(e event.Event, s *scheduler.State) {
	rows := v.eventRows(e, s)
	if e.End() != nil {
		for l := range strings.Lines("\n" + v.opts.ending(s)) {
			rows = append(rows, row{text: strings.TrimSuffix(l, "\n"), wrap: true})
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	first := v.drawn + len(v.above)
	v.above = append(v.above, rows...)
	v.live = (v.live || e.Beginning() != nil) && e.End() == nil
	v.model.update(e, s, &v.next, first)
	v.frames.Wake()
}

// eventRows returns the permanent lines of an event, but for the table at the end.
func (v *LiveView) eventRows(e event.Event, s *scheduler.State) (rows []row) {
	v.tell(e, s, func(m mark, wrap bool, lines ...string) {
		for _, l := range lines {
			if l != "" {
				rows = append(rows, row{mark: m, text: l, wrap: wrap})
			}
		}
	})
	return rows
}

// taskFigures sums up a task whose checks have passed.
func taskFigures(s *scheduler.State, id string) string {
	i, ok := s.Index(id)
	if !ok {
		return taskLabel(s, id)
	}
	t := &s.Tasks[i]
	l := taskLabel(s, id) + "  " + report.FormatDuration(t.Took) + "  " + t.Cost.Spent()
	if t.Attempts > 1 {
		l += fmt.Sprintf("  %d attempts", t.Attempts)
	}
	return l
}
