package ui

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"wavex/internal/report"
	"wavex/internal/ui/safe"
	"wavex/runner"
	"wavex/scheduler"
)

const (
	frameEvery = 100 * time.Millisecond // the minimum time between two frames
	tickEvery  = time.Second            // update of ages and elapsed time
)

// terminal redraws a few lines at the bottom of the screen and scrolls lines of record away above
// them. Callers change the model under the lock. One goroutine owns the screen and never holds the
// lock while it writes.
type terminal struct {
	opts Options
	wake chan struct{} // holds one: there is something new
	quit chan struct{} // closed by Close
	done chan struct{} // closed when the goroutine has ended

	next cursor // only the scheduler's goroutine uses it
	wave waves  // likewise

	mu     sync.Mutex
	m      model
	above  []row // not yet on the screen
	live   bool  // the live part needs a redraw
	closed bool
	err    error
}

// row is a line of record: a mark and text.
type row struct {
	mark  mark
	words string // clean
	whole bool   // wrap it instead of cutting it
}

// Terminal returns the live view: a progress bar for the wave with cost, iteration and elapsed
// time, the running tasks with their last tool and its age, and above them one permanent line per
// task that ended. w must be a terminal that understands ANSI sequences (see Live); use Plain
// otherwise.
func Terminal(w io.Writer, o Options) View {
	v := &terminal{opts: o, wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{})}
	go v.run(w)
	return v
}

func (v *terminal) run(w io.Writer) {
	defer close(v.done)
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	pause := time.NewTimer(0)
	defer pause.Stop()
	s := screen{w: w}
	for last := false; !last; {
		select {
		case <-v.wake:
		case <-tick.C:
		case <-v.quit:
			last = true
		}
		if !last {
			select { // events in a burst share a frame
			case <-pause.C:
			case <-v.quit:
				last = true
			}
		}
		v.draw(&s, last)
		pause.Reset(frameEvery)
	}
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
		live = v.m.lines(v.opts.now(), columns-1, rows, v.opts.ASCII)
	}
	failed := v.err != nil
	v.mu.Unlock()
	if failed {
		return
	}
	text := make([]string, len(above))
	for i, r := range above {
		text[i] = r.render(columns, v.opts)
	}
	if err := s.show(text, live, columns, rows); err != nil {
		v.mu.Lock()
		v.err = err
		v.mu.Unlock()
	}
}

// Close draws the remaining rows, removes the live part and waits for the goroutine.
func (v *terminal) Close() error {
	v.mu.Lock()
	if !v.closed {
		v.closed = true
		close(v.quit)
	}
	v.mu.Unlock()
	<-v.done
	v.mu.Lock()
	defer v.mu.Unlock()
	return wrap(v.err)
}

// poke asks for a frame. The caller must hold the lock.
func (v *terminal) poke() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

func (v *terminal) Observe(o runner.Observation) {
	words := safe.Fit(o.Text, said, v.opts.ASCII)
	if o.Kind == "api_retry" || o.Kind == "rate_limit" || o.Kind == "checking" {
		words = strings.TrimSpace(o.Kind + " " + words)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range v.m.running {
		r := &v.m.running[i]
		if r.task != o.Task || r.attempt != o.Attempt || r.counsel {
			continue
		}
		if words != "" {
			r.last, r.lastAt = words, v.opts.now()
		}
		r.cost = max(r.cost, o.Cost)
		v.poke()
	}
}

func (v *terminal) Event(e scheduler.Event, s *scheduler.State) {
	rows, table := v.tell(e, s)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	v.above = append(v.above, rows...)
	v.follow(e, s)
	for l := range strings.Lines(table) {
		v.above = append(v.above, row{words: strings.TrimSuffix(l, "\n"), whole: true})
	}
	v.poke()
}

// follow updates the model from the state. The caller must hold the lock.
func (v *terminal) follow(e scheduler.Event, s *scheduler.State) {
	m := &v.m
	switch b := e.Body.(type) {
	case scheduler.RunStarted, scheduler.Resumed:
		v.wave.reset(s)
		*m = model{began: e.Time, tasks: len(s.Tasks)}
		v.live = true
	case scheduler.AttemptStarted:
		m.running = append(m.running, running{task: b.Task, label: label(s, b.Task), attempt: b.Attempt, started: e.Time})
	case scheduler.CounselStarted:
		m.running = append(m.running, running{task: b.Task, label: label(s, b.Task), counsel: true, started: e.Time})
	case scheduler.AttemptEnded:
		m.drop(b.Task, false)
		v.wave.settled(s, b)
	case scheduler.CounselEnded:
		m.drop(b.Task, true)
	case scheduler.TasksAdded:
		v.wave.reset(s)
		m.tasks = len(s.Tasks)
	case scheduler.RunEnded:
		v.live = false
	}
	m.completed = s.Counts.Completed
	m.spent = s.Ledger.Spent()
	m.limits = s.Ledger.Limits()
	m.iterations = s.Ledger.Iterations()
	m.notional = s.Notional
	m.hold, m.stopping = s.Hold, s.Stop != nil
	m.wave, m.of, m.done, m.all = v.wave.figures(s)
}

func (m *model) drop(task string, counsel bool) {
	for i, r := range m.running {
		if r.task == task && r.counsel == counsel {
			m.running = append(m.running[:i], m.running[i+1:]...)
			return
		}
	}
}

// tell returns the permanent lines of an event, and the table at the end.
func (v *terminal) tell(e scheduler.Event, s *scheduler.State) (rows []row, table string) {
	add := func(m mark, format string, args ...any) {
		rows = append(rows, row{mark: m, words: fmt.Sprintf(format, args...)})
	}
	whole := func(m mark, lines ...string) {
		for _, l := range lines {
			if l != "" {
				rows = append(rows, row{mark: m, words: l, whole: true})
			}
		}
	}
	switch b := e.Body.(type) {
	case scheduler.RunStarted:
		whole(none, starting(b, v.opts), setting(b.Config, b.Plan, b.Name, b.Tasks, b.Waves))
		whole(warn, rehearsed(b.Config))
	case scheduler.Resumed:
		v.next.reset(s)
		whole(none, append(resumed(s, &v.next), setting(b.Config, b.Plan, "", b.Tasks, b.Waves))...)
		whole(redo, edited("plan edited: ", b.Edit))
		whole(warn, rehearsed(b.Config))
	case scheduler.AttemptEnded:
		switch {
		case b.Status == scheduler.Completed:
			add(good, "%s  %s", label(s, b.Task), figures(b, s))
		case b.Status == scheduler.Failed:
			whole(bad, label(s, b.Task)+"  "+end(b))
		default:
			whole(redo, label(s, b.Task)+"  "+end(b))
		}
		if f := follows(b, s); f != "" && b.Status != scheduler.Completed {
			whole(none, "  "+f)
		}
		if len(b.Blocked) > 0 {
			whole(bad, fmt.Sprintf("blocked by %s: %s", text(b.Task), ids(b.Blocked)))
		}
		if b.Stop != nil {
			whole(warn, stopping(*b.Stop, s)...)
		}
	case scheduler.CounselEnded:
		for _, l := range advice(b.Verdict) {
			whole(panel, label(s, b.Task)+"  "+l)
		}
	case scheduler.CounselSkipped:
		add(panel, "%s  retry without counsel: %s", label(s, b.Task), text(b.Reason))
	case scheduler.IntegrationEnded:
		m := none
		if len(b.Reopened) > 0 || b.Stop != nil {
			m = warn
		}
		whole(m, integrated(b, s)...)
	case scheduler.DeliveryEnded:
		whole(none, delivered(b)...)
	case scheduler.Draining:
		whole(warn, stopping(b.Stop, s)...)
	case scheduler.Notice:
		m := none
		if b.Level == "warning" {
			m = warn
		}
		whole(m, notice(b))
	case scheduler.CriteriaEnded, scheduler.ReviewStarted, scheduler.ReviewEnded, scheduler.ReviewSkipped,
		scheduler.PrecheckStarted, scheduler.PrecheckEnded, scheduler.TasksAdded, scheduler.GateEnded:
		lines, m := concluded(b, s)
		whole(m, lines...)
	case scheduler.RunEnded:
		sum := report.Of(s, nil)
		sum.Ended = e.Time
		table = "\n" + sum.Table(v.opts.width()-1, v.opts.ASCII)
	}
	return rows, table
}

// figures sums up a completed task.
func figures(b scheduler.AttemptEnded, s *scheduler.State) string {
	took, cost, attempts := b.Result.Duration, b.Result.Cost, b.Attempt
	if i, ok := s.Index(b.Task); ok {
		took, cost = s.Tasks[i].Took, s.Tasks[i].Cost
	}
	l := report.Took(took) + "  " + cost.Spent()
	if attempts > 1 {
		l += fmt.Sprintf("  %d attempts", attempts)
	}
	if b.Result.Vacuous {
		l += "  checks passed before any work"
	}
	return l
}
