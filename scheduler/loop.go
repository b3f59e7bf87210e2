package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
)

// Panel diagnoses a stuck task. It is called from its own goroutine and must return soon after ctx
// is cancelled, with the money spent so far.
type Panel interface {
	Diagnose(ctx context.Context, c counsel.Case) counsel.Verdict
}

// Journal stores events. Append may buffer. Events that Write has written survive the end of the
// process; after Sync, all appended events are durable. The loop's goroutine calls all methods.
type Journal interface {
	Append(e event.Event) error
	Write() error
	Sync() error
}

// View receives each event after it is durable and applied, from the loop's goroutine. It must not
// keep or change the state, and should not block.
type View interface {
	Event(e event.Event, s *State)
}

// Signal is a request to stop. The first drains the run, the second interrupts running work.
type Signal struct {
	Name      string         // "SIGINT"
	Code      event.ExitCode // 128 plus the signal's number
	Interrupt bool           // the first signal already interrupts
}

// ErrInterrupted is the cause with which running attempts are cancelled.
var ErrInterrupted = errors.New("wavex was asked to stop")

// Loop holds the parts of a session of a run. All fields but Panel, Signals, Views and Recover
// are required, unless their comment says otherwise.
type Loop struct {
	State      *State     // replayed, not yet opened
	StartEvent event.Body // RunStarted or Resumed
	Journal    Journal
	Runner     runner.Runner
	Panel      Panel      // nil: stuck tasks are retried without advice
	Integrator Integrator // required if Config.Isolation is Isolated
	Views      []View
	Signals    <-chan Signal

	// Items reads the list of a group from the output of a task. It is called from the loop's goroutine. Required if the
	// plan has such lists.
	Items func(s *State, group int) ([]json.RawMessage, error)

	// Request completes a request with the parts that the scheduler does not have: prompt,
	// directories, rehearsal block. It is called from the loop's goroutine.
	Request func(s *State, task int, e event.AttemptStarted) (runner.Request, error)
	// Case returns the case for a panel, from the loop's goroutine.
	Case func(s *State, task int, e event.CounselStarted) counsel.Case
	// Review and Verify prepare a review, or a verification of criteria and repeated checks, and
	// return the work. They are called from the loop's goroutine. The work runs on its own
	// goroutine and must end soon after ctx does. An error of Verify's work means that it was
	// interrupted. The work stops starting task checks when more returns false; more is safe for
	// concurrent use. If Review is nil there are no reviews. If Verify is nil, no criterion has
	// evidence and no check is repeated.
	Review func(s *State, e event.ReviewStarted) func(ctx context.Context) counsel.Review
	Verify func(s *State, e event.CriteriaStarted) func(ctx context.Context, more func() bool) (Verification, error)
	// Recover ends the processes of an earlier session and returns the results of its open work. It is
	// called once, if there is such work. nil: the work counts at its cap. The Runner gets the requests of
	// adopted attempts again, and must wait for their ends.
	Recover func(ctx context.Context) Recovery
	// LateCosts completes and returns the corrections whose attempts have reported their costs since. It is called
	// from its own goroutine at the start and at the end of a session with such attempts, and before work or a panel is
	// given up for want of money, one call at a time. It must return soon after ctx ends. nil: no costs come late.
	LateCosts func(ctx context.Context, unknown []event.CostCorrected) []event.CostCorrected
	// Precheck prepares the challenge of a task of reversibility 1 in the same way. If it is nil,
	// the challenge fails, which stops the run if Config.Precheck is set.
	Precheck func(s *State, task int, e event.PrecheckStarted) func(ctx context.Context) counsel.Challenge

	// Obstacle returns the stop of a run in which nothing may start any more for a reason outside of its state, or nil.
	// Failures since then count as interruptions. The loop's goroutine calls it, so it must be quick. A nil Obstacle
	// never stops the run.
	Obstacle func() *event.Stop

	// Approver answers gates. Required if Config.Attended is set.
	Approver Approver

	// Redact removes secrets from an event; it returns its argument or a changed copy. It is called
	// from the loop's goroutine, before the event is journalled, applied and shown. nil: events are
	// unchanged.
	Redact func(event.Body) event.Body

	// BatchAbove is the number of attempts that keep the machine busy. While more are running, the event
	// of a worker's message waits for the next message, at most for BatchDelay, so that they share an
	// fsync. If BatchDelay is 0, no event waits.
	BatchAbove int
	BatchDelay time.Duration
	// SyncDelay bounds the time for which start records of commands may be written but not durable, if
	// the record of their wave names them. If it is 0, they are durable at once.
	SyncDelay time.Duration

	Now    func() time.Time
	Jitter func() float64 // in [0, 1); randomises waits

	// Interrupted reports, after Run, that a signal interrupted running work.
	Interrupted bool
}

// message is sent to the loop by a worker. The loop calls it, on its own goroutine, to get the event
// for the work that has ended.
type message func() event.Body

// Run runs the session to its end. An error is one of the loop itself (the journal cannot be
// written, the state is inconsistent); RunEnded describes the work. Run waits for every goroutine
// that it has started.
func (l *Loop) Run(ctx context.Context) (event.RunEnded, error) {
	kill, cancel := context.WithCancelCause(ctx)
	r := &running{Loop: l, kill: kill, cancel: cancel, s: l.State, turns: map[string]chan error{},
		costs: costSearch{results: make(chan []event.CostCorrected, 1)}}
	defer r.stop()
	if err := r.settleUnfinished(ctx); err != nil {
		return event.RunEnded{}, err
	}
	if err := r.commit(onStart(r.s, l.StartEvent)); err != nil {
		return event.RunEnded{}, err
	}
	size, adopted := max(1, r.s.Config.Parallel), r.s.decideAdoptions()
	// A light review, an integration, the closing steps and adopted attempts run outside the parallel limit.
	// An attempt sends two messages: its turn and its end.
	r.results = make(chan message, 2*(size+len(adopted))+3)
	r.group.SetLimit(size)
	if err := r.commit(adopted...); err != nil {
		return event.RunEnded{}, err
	}
	r.searchCosts()
	return r.loop(ctx)
}

// running holds the state of one Run. Its fields belong to the loop's goroutine.
type running struct {
	*Loop
	s              *State
	kill           context.Context
	cancel         context.CancelCauseFunc
	cancelQuestion context.CancelFunc    // cancels the open question
	turns          map[string]chan error // get the obstacle or nil when the end of a turn is durable, by attempt
	stopRechecks   context.CancelFunc    // makes the running verification start no further check
	group          errgroup.Group        // attempts and panels; SetLimit is the parallel limit
	// background has reviews, integrations, verifications and searches for costs, at most one of each kind, and
	// adopted attempts, which may be more than the parallel limit of this session.
	background    errgroup.Group
	results       chan message
	batch         []pendingEvent // applied, not yet durable
	written       int            // the part of the batch that is written; its covered events have been acted on
	announcedWave int            // the open wave, if its record is durable; else 0
	costs         costSearch
	syncBy        time.Time // deadline of making the batch durable; zero: none
}

// pendingEvent is an event that is applied and not yet durable.
type pendingEvent struct {
	event.Event
	covered bool // acted on as soon as it is written
}

func (r *running) loop(ctx context.Context) (event.RunEnded, error) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	signalCount, interrupt, cancelled := 0, false, ctx.Done()
	for {
		if err := r.advance(); err != nil {
			return event.RunEnded{}, err
		}
		if r.s.Ended != nil {
			return *r.s.Ended, nil
		}
		timer.Reset(r.wakeDelay())
		var body event.Body
		var err error
		select {
		case m := <-r.results:
			err = r.onMessages(m)
		case told := <-r.costs.results:
			err = r.onCosts(told)
		case sig := <-r.Signals:
			signalCount++
			body = r.onStopRequest(sig.Code, sig.Name)
			interrupt = r.costs.end == nil && (signalCount > 1 || sig.Interrupt)
		case <-cancelled:
			cancelled = nil // workers see the same cancellation, so only wait for them
			body = r.onStopRequest(0, "its caller")
		case <-timer.C:
			err = r.syncBatch()
		}
		if body != nil {
			err = r.commit(body)
		}
		if err != nil {
			return event.RunEnded{}, err
		}
		if interrupt {
			r.Interrupted = true
			r.cancel(ErrInterrupted)
		}
	}
}

// wakeDelay returns the time until the loop must decide again without a message.
func (r *running) wakeDelay() time.Duration {
	at, now := nextWake(r.s, r.Now()), r.Now()
	if !r.syncBy.IsZero() && (at.IsZero() || r.syncBy.Before(at)) {
		at = r.syncBy
	}
	if at.IsZero() {
		return time.Hour
	}
	return at.Sub(now)
}

// onMessages stages the events of a worker's message and of other messages that are ready or arrive
// soon, so that one fsync serves them all.
func (r *running) onMessages(m message) error {
	var delay *time.Timer
	r.costs.upToDate = false
	for {
		if err := r.emit(m()); err != nil {
			return err
		}
		select {
		case m = <-r.results:
			continue
		default:
		}
		if r.BatchDelay <= 0 || r.s.Running() <= r.BatchAbove {
			return nil
		}
		if delay == nil {
			delay = time.NewTimer(r.BatchDelay)
			defer delay.Stop()
		}
		select {
		case m = <-r.results:
		case <-delay.C:
			return nil
		}
	}
}

// advance stages all further decisions, makes them durable, and acts on them.
func (r *running) advance() error {
	r.costs.end = nil
	if r.s.Stop == nil && r.s.Phase != Ended {
		if stop := r.obstacle(); stop != nil {
			if err := r.emit(event.Draining{Stop: *stop}); err != nil {
				return err
			}
		}
	}
	for {
		var body event.Body
		if group := dueList(r.s); group >= 0 {
			items, err := r.Items(r.s, group)
			body = onList(r.s, group, items, err)
		} else {
			body = decideNext(r.s, r.Now())
		}
		if body == nil || r.awaitsCosts(body) {
			break
		}
		if err := r.emit(body); err != nil {
			return err
		}
	}
	return r.flush()
}

// emit appends and applies an event. It is not shown before flush.
func (r *running) emit(b event.Body) error {
	if r.Redact != nil {
		b = r.Redact(b)
	}
	e := event.Event{Seq: r.s.Seq + 1, Time: r.Now().UTC(), Body: b}
	if err := r.Journal.Append(e); err != nil {
		return err
	}
	before, wave := r.s.moneySnapshot(), r.s.Wave
	if err := r.s.apply(e); err != nil {
		return fmt.Errorf("record %d: %w", e.Seq, err)
	}
	if r.s.Wave != wave {
		r.announcedWave = 0
	}
	r.batch = append(r.batch, pendingEvent{e, r.covered(e)})
	if n := onMoneyChange(r.s, before); n != nil {
		return r.emit(*n)
	}
	return nil
}

// flush makes the batch durable, shows it and acts on it, in order. It acts on covered events as
// soon as they are written. A batch without urgent events becomes durable within SyncDelay.
func (r *running) flush() error {
	fresh := r.batch[r.written:]
	if !slices.ContainsFunc(fresh, func(e pendingEvent) bool { return e.covered }) {
		return r.syncBatch()
	}
	if err := r.Journal.Write(); err != nil {
		return err
	}
	r.written = len(r.batch)
	for _, e := range fresh {
		if e.covered {
			r.startWork(e.Event)
		}
	}
	now := r.Now()
	if r.syncBy.IsZero() {
		r.syncBy = now.Add(r.SyncDelay)
	}
	if slices.ContainsFunc(fresh, r.needsSync) || !now.Before(r.syncBy) {
		return r.syncBatch()
	}
	return nil
}

// syncBatch makes the batch durable, shows it, and acts on the remaining events.
func (r *running) syncBatch() error {
	if len(r.batch) == 0 {
		return nil
	}
	if err := r.Journal.Sync(); err != nil {
		return err
	}
	for _, e := range r.batch {
		for _, v := range r.Views {
			v.Event(e.Event, r.s)
		}
		if !e.covered {
			r.startWork(e.Event)
		}
	}
	r.announcedWave = r.s.Wave
	r.batch, r.written, r.syncBy = r.batch[:0], 0, time.Time{}
	if r.s.Stop != nil && r.cancelQuestion != nil {
		r.cancelQuestion() // nothing more starts, so no agreement is needed
	}
	if r.s.Stop != nil && r.stopRechecks != nil {
		r.stopRechecks()
	}
	return nil
}

// covered reports whether an event is the first start of a command that the durable record of its
// wave names. A command costs no money, and if the machine fails before this record is durable, it
// is run again like any interrupted command. An attempt that cannot be undone or that has its own
// tree needs a durable record first.
func (r *running) covered(e event.Event) bool {
	w := e.Starts()
	if w.Kind != event.Attempt || w.N > 1 || w.Wave != r.announcedWave || r.s.Config.Isolation == event.Isolated {
		return false
	}
	t := r.planTask(w.Task)
	return t.Command != "" && t.Reversibility != "1"
}

// needsSync reports whether an event must be durable now, because other work waits for it or it
// concerns money.
func (r *running) needsSync(e pendingEvent) bool {
	if w := e.Ends(); w.Kind == event.Attempt {
		stop, _ := e.Stops()
		return r.planTask(w.Task).Command == "" || stop != nil
	}
	return !e.covered
}

func (r *running) planTask(task string) *plan.Task {
	i, _ := r.s.Index(task)
	return &r.s.Plan.Tasks[i]
}

func (r *running) commit(bodies ...event.Body) error {
	for _, b := range bodies {
		if err := r.emit(b); err != nil {
			return err
		}
	}
	return r.flush()
}

// stop cancels all running work and waits for it. Work is still running only after an error of the
// loop itself.
func (r *running) stop() {
	r.cancel(ErrInterrupted)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		_ = r.group.Wait()
		_ = r.background.Wait()
	}()
	for {
		select {
		case <-finished:
			return
		case <-r.results:
		}
	}
}
