package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/plan"
	"wavex/runner"
)

// Runner makes one attempt. It is called from its own goroutine, once per attempt, and may block
// for hours. If ctx is cancelled it must stop the attempt and still return the known facts, above
// all the cost. A panic counts as a broken attempt.
type Runner interface {
	Attempt(ctx context.Context, req runner.Request) runner.Result
}

// Panel diagnoses a stuck task. It is called from its own goroutine and must return soon after ctx
// is cancelled, with the money spent so far.
type Panel interface {
	Diagnose(ctx context.Context, c counsel.Case) counsel.Verdict
}

// Journal stores events. Append may buffer. Events that Write has written survive the end of the
// process; after Sync, all appended events are durable. The loop's goroutine calls all methods.
type Journal interface {
	Append(e Event) error
	Write() error
	Sync() error
}

// View receives each event after it is durable and applied, from the loop's goroutine. It must not
// keep or change the state, and should not block.
type View interface {
	Event(e Event, s *State)
}

// Signal is a request to stop. The first drains the run, the second interrupts running work.
type Signal struct {
	Name      string // "SIGINT"
	Code      int    // exit code, 128 plus the signal's number
	Interrupt bool   // the first signal already interrupts
}

// ErrInterrupted is the cause with which running attempts are cancelled.
var ErrInterrupted = errors.New("wavex was asked to stop")

// Loop holds the parts of a session of a run. All fields but Panel, Signals, Views, Recover and
// RecoverPanel are required, unless their comment says otherwise.
type Loop struct {
	State   *State // replayed, not yet opened
	Open    Body   // RunStarted or Resumed
	Journal Journal
	Runner  Runner
	Panel   Panel      // nil: stuck tasks are retried without advice
	Trees   Integrator // required if Config.Isolation is Isolated
	Views   []View
	Signals <-chan Signal
	// Responses receives the tasks whose agent's response has begun. It is used only with
	// Config.Stagger. nil: a wave waits for the end of its first task.
	Responses <-chan string

	// Asking receives the tasks whose agent has sent its first request to the API. A spare is
	// started only while all running agents have. nil: they count as having done so at their start.
	Asking <-chan string

	// Joins receives tasks that were added to the run's task list, in the form of a plan file's
	// tasks, each after its blockers. May be nil.
	Joins <-chan []json.RawMessage

	// Request completes a request with the parts that the scheduler does not have: prompt,
	// directories, rehearsal block. It is called from the loop's goroutine.
	Request func(s *State, task int, e AttemptStarted) (runner.Request, error)
	// Prepare returns a spare for the Request of the next attempt. It is called from the loop's
	// goroutine. Required if Config.Spares is not 0.
	Prepare func(req runner.Request) *runner.Spare
	// Case returns the case for a panel, from the loop's goroutine.
	Case func(s *State, task int, e CounselStarted) counsel.Case
	// Review and Verify prepare a review, or a verification of criteria and repeated checks, and
	// return the work. They are called from the loop's goroutine. The work runs on its own
	// goroutine and must end soon after ctx does. An error of Verify's work means that it was
	// interrupted. The work stops starting task checks when more returns false; more is safe for
	// concurrent use. If Review is nil there are no reviews. If Verify is nil, no criterion has
	// evidence and no check is repeated.
	Review func(s *State, e ReviewStarted) func(ctx context.Context) counsel.Review
	Verify func(s *State, e CriteriaStarted) func(ctx context.Context, more func() bool) (Verification, error)
	// Recover returns the result of an attempt that an earlier session started and did not end.
	// nil: the attempt counts at its cap.
	Recover func(ctx context.Context, e AttemptStarted) runner.Result
	// Precheck prepares the challenge of a task of reversibility 1 in the same way. If it is nil,
	// the challenge fails, which stops the run if Config.Precheck is set.
	Precheck func(s *State, task int, e PrecheckStarted) func(ctx context.Context) counsel.Challenge
	// Asked returns the cost of the calls of an unfinished review ("review-3") or verification
	// ("criteria-1"), at most limit if it is unknown. nil: limit.
	Asked func(ctx context.Context, name string, limit budget.USD) budget.USD
	// RecoverPanel returns the verdict of a panel that an earlier session started and did not end.
	RecoverPanel func(ctx context.Context, e CounselStarted) counsel.Verdict

	// Person answers gates. Required if Config.Attended is set.
	Person Person

	// Clean removes secrets from an event; it returns its argument or a changed copy. It is called
	// from the loop's goroutine, before the event is journalled, applied and shown. nil: events are
	// unchanged.
	Clean func(Body) Body

	// Busy is the number of attempts that keep the machine busy. While more are running, the event
	// of a worker's message waits for the next message, at most for Patience, so that they share an
	// fsync. With a Patience of 0 nothing waits.
	Busy     int
	Patience time.Duration
	// Lag bounds the time for which start records of commands may be written but not durable, if
	// the record of their wave names them. With 0 they are durable at once.
	Lag time.Duration

	Now  func() time.Time
	Luck func() float64 // in [0, 1); randomises waits
}

// message is sent to the loop by a worker or from outside.
type message struct {
	task      int
	attempt   *runner.Result
	verdict   *counsel.Verdict
	event     Body // an event that the worker has decided, such as the end of a delivery
	answer    *answerOf
	verified  *verifiedOf
	challenge *challengeOf
	trees     *integration
	panel     int
}

// Run runs the session to its end. An error is one of the loop itself (the journal cannot be
// written, the state is inconsistent); RunEnded describes the work. Run waits for every goroutine
// that it has started.
func (l *Loop) Run(ctx context.Context) (RunEnded, error) {
	kill, cancel := context.WithCancelCause(ctx)
	r := &running{Loop: l, kill: kill, cancel: cancel, s: l.State, ahead: map[string]*preparing{},
		starting: map[string]bool{}}
	defer r.stop()
	if err := r.recover(ctx); err != nil {
		return RunEnded{}, err
	}
	if err := r.commit(l.Open); err != nil {
		return RunEnded{}, err
	}
	size := max(1, r.s.Config.Parallel)
	// A light review, the closing steps and spares run outside the parallel limit.
	r.done, r.jobs = make(chan message, size+2+r.s.Config.Spares), make(chan func())
	r.group.SetLimit(size)
	return r.loop(ctx)
}

// running holds the state of one Run. Its fields belong to the loop's goroutine.
type running struct {
	*Loop
	s      *State
	kill   context.Context
	cancel context.CancelCauseFunc
	unask  context.CancelFunc    // cancels the open question
	ahead  map[string]*preparing // spares, by the keys of their attempts
	// starting holds the tasks whose agent has not sent a request to the API yet.
	starting map[string]bool
	enough   context.CancelFunc // makes the running verification start no further check
	group    errgroup.Group     // attempts and panels; SetLimit is the parallel limit
	side     errgroup.Group     // reviews and verifications: at most one of each kind
	done     chan message
	jobs     chan func() // to idle workers
	batch    []staged    // applied, not yet durable
	begun    int         // the part of the batch that is written; its foretold events have been acted on
	told     int         // the open wave, if its record is durable; else 0
	due      time.Time   // deadline of making the batch durable; zero: none
}

// staged is an event that is applied and not yet durable.
type staged struct {
	Event
	foretold bool // acted on as soon as it is written
}

func (r *running) loop(ctx context.Context) (RunEnded, error) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	signals, asked, over := r.Signals, 0, ctx.Done()
	for {
		if err := r.advance(); err != nil {
			return RunEnded{}, err
		}
		if r.s.Ended != nil {
			return *r.s.Ended, nil
		}
		timer.Reset(r.rest())
		select {
		case m := <-r.done:
			if err := r.react(m); err != nil {
				return RunEnded{}, err
			}
		case sig := <-signals:
			asked++
			if body := signalled(r.s, sig.Code, sig.Name); body != nil {
				if err := r.commit(body); err != nil {
					return RunEnded{}, err
				}
			}
			if asked > 1 || sig.Interrupt {
				r.cancel(ErrInterrupted)
			}
		case task := <-r.Responses:
			if body := warmed(r.s, task); body != nil {
				if err := r.commit(body); err != nil {
					return RunEnded{}, err
				}
			}
		case task := <-r.Asking:
			delete(r.starting, task)
		case tasks := <-r.Joins:
			if body := joined(r.s, tasks); body != nil {
				if err := r.commit(body); err != nil {
					return RunEnded{}, err
				}
			}
		case <-over:
			over = nil // workers see the same cancellation, so only wait for them
			if body := signalled(r.s, 130, "its caller"); body != nil {
				if err := r.commit(body); err != nil {
					return RunEnded{}, err
				}
			}
		case <-timer.C:
			if err := r.settle(); err != nil {
				return RunEnded{}, err
			}
		}
	}
}

// rest returns the time until the loop must decide again without a message.
func (r *running) rest() time.Duration {
	at, now := wake(r.s, r.Now()), r.Now()
	if !r.due.IsZero() && (at.IsZero() || r.due.Before(at)) {
		at = r.due
	}
	if at.IsZero() {
		return time.Hour
	}
	return at.Sub(now)
}

// react stages the events of a worker's message and of other messages that are ready or arrive
// soon, so that one fsync serves them all.
func (r *running) react(m message) error {
	var patience *time.Timer
	for {
		body := r.decide(m)
		if body != nil {
			if err := r.stage(body); err != nil {
				return err
			}
		}
		select {
		case m = <-r.done:
			continue
		default:
		}
		if r.Patience <= 0 || r.s.running <= r.Busy {
			return nil
		}
		if patience == nil {
			patience = time.NewTimer(r.Patience)
			defer patience.Stop()
		}
		select {
		case m = <-r.done:
		case <-patience.C:
			return nil
		}
	}
}

// verifiedOf carries the result of a verification to the loop.
type verifiedOf struct {
	started CriteriaStarted
	got     Verification
	err     error
}

// integration carries the result of an integration to the loop.
type integration struct {
	wave int
	got  Integrated
	err  error
}

func (r *running) decide(m message) Body {
	switch {
	case m.event != nil:
		if b, ok := m.event.(SpareEnded); ok {
			delete(r.ahead, attemptKey(b.Task, b.Attempt))
		}
		return m.event
	case m.verified != nil:
		return verified(r.s, m.verified.started, m.verified.got, m.verified.err)
	case m.challenge != nil:
		return challenged(r.s, m.challenge.started, m.challenge.got)
	case m.answer != nil:
		return answer(r.s, m.answer.to, m.answer.yes, m.answer.err)
	case m.trees != nil:
		return afterIntegration(r.s, m.trees.wave, m.trees.got, m.trees.err)
	}
	id := r.s.Plan.Tasks[m.task].ID
	delete(r.starting, id)
	if m.verdict != nil {
		return CounselEnded{Task: id, Panel: m.panel, Verdict: *m.verdict}
	}
	return follow(r.s, m.task, *m.attempt, r.Now(), r.Luck())
}

// advance stages all further decisions, makes them durable, and acts on them.
func (r *running) advance() error {
	for {
		if r.relieve() {
			break
		}
		body := next(r.s, r.Now())
		if body == nil && len(r.starting) == 0 {
			body = spare(r.s, r.Now())
		}
		if body == nil {
			break
		}
		if err := r.stage(body); err != nil {
			return err
		}
	}
	return r.flush()
}

// stage appends and applies an event. It is not shown before flush.
func (r *running) stage(b Body) error {
	if r.Clean != nil {
		b = r.Clean(b)
	}
	e := Event{Seq: r.s.Seq + 1, Time: r.Now().UTC(), Body: b}
	if err := r.Journal.Append(e); err != nil {
		return err
	}
	before := r.s.money()
	if err := r.s.apply(e); err != nil {
		return fmt.Errorf("record %d: %w", e.Seq, err)
	}
	switch b := b.(type) {
	case WaveStarted:
		r.told = 0
	case AttemptStarted:
		if r.Asking != nil && r.planned(b.Task).Command == "" {
			r.starting[b.Task] = true
		}
	}
	r.batch = append(r.batch, staged{e, r.foretold(e)})
	if n := notice(r.s, before); n != nil {
		return r.stage(*n)
	}
	return nil
}

// flush makes the batch durable, shows it and acts on it, in order. It acts on foretold events as
// soon as they are written. A batch without urgent events becomes durable within Lag.
func (r *running) flush() error {
	fresh := r.batch[r.begun:]
	if !slices.ContainsFunc(fresh, func(e staged) bool { return e.foretold }) {
		return r.settle()
	}
	if err := r.Journal.Write(); err != nil {
		return err
	}
	r.begun = len(r.batch)
	for _, e := range fresh {
		if e.foretold {
			r.act(e.Event)
		}
	}
	now := r.Now()
	if r.due.IsZero() {
		r.due = now.Add(r.Lag)
	}
	if slices.ContainsFunc(fresh, r.urgent) || !now.Before(r.due) {
		return r.settle()
	}
	return nil
}

// settle makes the batch durable, shows it, and acts on the remaining events.
func (r *running) settle() error {
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
		if !e.foretold {
			r.act(e.Event)
		}
		if b, ok := e.Body.(WaveStarted); ok {
			r.told = b.Wave
		}
	}
	r.batch, r.begun, r.due = r.batch[:0], 0, time.Time{}
	if r.s.Stop != nil && r.unask != nil {
		r.unask() // nothing more starts, so no agreement is needed
	}
	if r.s.Stop != nil && r.enough != nil {
		r.enough()
	}
	return nil
}

// foretold reports whether an event is the first start of a command that the durable record of its
// wave names. A command costs no money, and if the machine fails before this record is durable, it
// is run again like any interrupted command. An attempt that cannot be undone or that has its own
// tree needs a durable record first.
func (r *running) foretold(e Event) bool {
	b, ok := e.Body.(AttemptStarted)
	if !ok || b.Attempt > 1 || b.Wave != r.told || r.s.Config.Isolation == Isolated {
		return false
	}
	t := r.planned(b.Task)
	return t.Command != "" && t.Reversibility != "1"
}

// urgent reports whether an event must be durable now, because other work waits for it or it
// concerns money.
func (r *running) urgent(e staged) bool {
	if b, ok := e.Body.(AttemptEnded); ok {
		return r.planned(b.Task).Command == "" || b.Stop != nil
	}
	return !e.foretold
}

func (r *running) planned(task string) *plan.Task {
	i, _ := r.s.Index(task)
	return &r.s.Plan.Tasks[i]
}

func (r *running) commit(b Body) error {
	if err := r.stage(b); err != nil {
		return err
	}
	return r.flush()
}

// stop cancels all running work and waits for it. Work is still running only after an error of the
// loop itself.
func (r *running) stop() {
	r.cancel(ErrInterrupted)
	if r.jobs != nil {
		close(r.jobs)
	}
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		_ = r.group.Wait()
		_ = r.side.Wait()
	}()
	for {
		select {
		case <-finished:
			return
		case <-r.done:
		}
	}
}
