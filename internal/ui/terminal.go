package ui

import (
	"fmt"
	"io"
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

// terminal redraws a few lines at the bottom of the screen and scrolls lines of record away above
// them. Callers change the model under the lock. One goroutine owns the screen and never holds the
// lock while it writes.
type terminal struct {
	opts   Options
	frames *async.Worker

	next nextTask // only the scheduler's goroutine uses it

	mu     sync.Mutex
	model  liveModel
	above  []row // not yet on the screen
	live   bool  // the live part needs a redraw
	closed bool

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
func Terminal(w io.Writer, o Options) View {
	v := &terminal{opts: o}
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
func (v *terminal) draw(s *screen, last bool) {
	columns, rows := v.opts.width(), v.opts.height()
	v.mu.Lock()
	above := v.above
	v.above = nil
	var live []string
	if v.live && !last {
		live = v.model.lines(v.opts.now(), columns-1, rows, v.opts.ASCII)
	}
	v.mu.Unlock()
	if v.err != nil {
		return
	}
	text := make([]string, len(above))
	for i, r := range above {
		text[i] = r.render(columns, v.opts)
	}
	v.err = s.show(text, live, columns, rows)
}

// Close draws the remaining rows, removes the live part and waits for the goroutine.
func (v *terminal) Close() error {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	v.frames.Close()
	return wrapWriteError(v.err)
}

func (v *terminal) Observe(o runner.Observation) {
	words := textfmt.Fit(o.Text, maxTextColumns, v.opts.ASCII)
	if o.Kind == "api_retry" || o.Kind == "rate_limit" || o.Kind == "waiting" || o.Kind == "checking" {
		words = strings.TrimSpace(o.Kind + " " + words)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.model.observe(o.Task, o.Attempt, words, v.opts.now(), o.Cost)
	v.frames.Wake()
}

func (v *terminal) Event(e event.Event, s *scheduler.State) {
	rows, table := v.eventRows(e, s)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	v.above = append(v.above, rows...)
	switch e.Body.(type) {
	case event.RunStarted, event.RunResumed:
		v.live = true
	case event.RunEnded:
		v.live = false
	}
	v.model.update(e, s, &v.next)
	for l := range strings.Lines(table) {
		v.above = append(v.above, row{text: strings.TrimSuffix(l, "\n"), wrap: true})
	}
	v.frames.Wake()
}

// eventRows returns the permanent lines of an event, and the table at the end.
func (v *terminal) eventRows(e event.Event, s *scheduler.State) (rows []row, table string) {
	add := func(m mark, format string, args ...any) {
		rows = append(rows, row{mark: m, text: fmt.Sprintf(format, args...)})
	}
	whole := func(m mark, lines ...string) {
		for _, l := range lines {
			if l != "" {
				rows = append(rows, row{mark: m, text: l, wrap: true})
			}
		}
	}
	switch b := e.Body.(type) {
	case event.RunStarted:
		whole(markNone, startText(b, v.opts), sessionText(b.Config, b.Plan, b.Name, b.Tasks, b.Waves))
		whole(markWarn, rehearsalWarning(b.Config))
	case event.RunResumed:
		v.next.reset(s)
		whole(markNone, append(resumeLines(s, &v.next), sessionText(b.Config, b.Plan, "", b.Tasks, b.Waves))...)
		whole(markRetry, planEditText("plan edited: ", b.Edit))
		whole(markWarn, rehearsalWarning(b.Config))
	case event.AttemptEnded:
		switch {
		case b.Status == event.Completed:
			add(markGood, "%s", taskFigures(s, b.Task))
		case b.Status == event.Verified:
			add(markNone, "%s  passed, to be checked with the others", taskFigures(s, b.Task))
		case b.Status == event.Failed:
			whole(markBad, taskLabel(s, b.Task)+"  "+attemptEndedText(b))
			whole(markNone, report.OutputLines(b.Task, report.FailedOutput(b.Result.Checks, b.Result.Detail))...)
		default:
			whole(markRetry, taskLabel(s, b.Task)+"  "+attemptEndedText(b))
		}
		if f := followingText(b, s); f != "" && b.Status != event.Completed {
			whole(markNone, "  "+f)
		}
		if len(b.Blocked) > 0 {
			whole(markBad, fmt.Sprintf("blocked by %s: %s", fitText(b.Task), idList(b.Blocked)))
		}
		if b.Stop != nil {
			whole(markWarn, stopLines(*b.Stop, s)...)
		}
	case event.CounselEnded:
		for _, l := range adviceLines(b.Verdict) {
			whole(markPanel, taskLabel(s, b.Task)+"  "+l)
		}
	case event.CounselSkipped:
		add(markPanel, "%s  retry without counsel: %s", taskLabel(s, b.Task), fitText(b.Reason))
	case event.CriteriaStarted: // only its end has lines
	case event.IntegrationEnded:
		rows = integrationRows(b, s)
	case event.RunEnded:
		sum := report.Of(s, nil)
		table = "\n" + sum.Ending()
	default:
		lines, m := runEventLines(b, s)
		whole(m, lines...)
	}
	return rows, table
}

// integrationRows returns a row for each completed task, and the rest of the lines.
func integrationRows(b event.IntegrationEnded, s *scheduler.State) (rows []row) {
	for _, id := range b.Completed {
		rows = append(rows, row{mark: markGood, text: taskFigures(s, id)})
	}
	b.Completed = nil
	lines, m := runEventLines(b, s)
	for _, l := range lines {
		rows = append(rows, row{mark: m, text: l, wrap: true})
	}
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
	if t.Last != nil && t.Last.Vacuous {
		l += "  checks passed before any work"
	}
	return l
}
