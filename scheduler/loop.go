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

// Runner makes one attempt. It is called from a goroutine of its own, once per
// attempt, and may block for hours. When ctx is cancelled it stops the attempt and
// still returns what is known, its cost above all. It never panics on purpose; a
// panic becomes a broken attempt.
type Runner interface {
	Attempt(ctx context.Context, req runner.Request) runner.Result
}

// Panel diagnoses a stuck task. It is called from a goroutine of its own and returns
// soon after ctx is cancelled, with the money spent so far.
type Panel interface {
	Diagnose(ctx context.Context, c counsel.Case) counsel.Verdict
}

// Journal keeps events. Append may buffer; what Write has written survives the end of the
// process, and after Sync everything appended is durable. They are called from the loop's
// goroutine only.
type Journal interface {
	Append(e Event) error
	Write() error
	Sync() error
}

// View is told of each event once it is durable and applied, from the loop's
// goroutine. It must not keep or change the state, and should not block.
type View interface {
	Event(e Event, s *State)
}

// Signal is a wish to stop. The first one drains, the second interrupts what runs.
type Signal struct {
	Name      string // "SIGINT"
	Code      int    // exit code, 128 plus the signal's number
	Interrupt bool   // interrupt at the first one already
}

// ErrInterrupted is the cause with which running attempts are cancelled.
var ErrInterrupted = errors.New("wavex was asked to stop")

// Loop is what a session of a run needs. All fields but Panel, Signals, Views,
// Recover and RecoverPanel are required.
type Loop struct {
	State   *State // replayed, not yet opened
	Open    Body   // RunStarted or Resumed
	Journal Journal
	Runner  Runner
	Panel   Panel      // nil: stuck tasks are retried without advice
	Trees   Integrator // required when Config.Isolation is Isolated
	Views   []View
	Signals <-chan Signal
	// Responses names tasks whose agent's response has begun; it is read only where the
	// configuration staggers. nil: a wave then waits for its first task to end.
	Responses <-chan string

	// Asking names tasks whose agent has begun to ask the API. A spare is started while all do.
	// nil: they do from their start.
	Asking <-chan string

	// Joins brings tasks that somebody added meanwhile to what the run is made of, each as in
	// the tasks of a plan file and behind those that block it. nil: nobody can.
	Joins <-chan []json.RawMessage

	// Request completes a request with what the scheduler does not know: prompt,
	// directories, rehearsal block. It is called from the loop's goroutine.
	Request func(s *State, task int, e AttemptStarted) (runner.Request, error)
	// Prepare says how to start the process of an attempt that comes next, with the Request of
	// that attempt. It is called from the loop's goroutine. Required where Config.Spares is not 0.
	Prepare func(req runner.Request) *runner.Spare
	// Case does the same for a panel.
	Case func(s *State, task int, e CounselStarted) counsel.Case
	// Review and Verify prepare a review, or a verification of criteria and of checks that are
	// due again, from the state, and return the work, which is done on a goroutine of its own
	// and ends soon after ctx does. Verify's error means that it was cut off; once more gives
	// false, which it does from any goroutine, no further check of a task is begun. They are
	// called from the loop's goroutine. nil: there are no reviews, nothing shows any criterion,
	// and no check is made again.
	Review func(s *State, e ReviewStarted) func(ctx context.Context) counsel.Review
	Verify func(s *State, e CriteriaStarted) func(ctx context.Context, more func() bool) (Verification, error)
	// Recover says what became of an attempt that an earlier session started and did
	// not see the end of. nil: nothing is known, and it counts at its cap.
	Recover func(ctx context.Context, e AttemptStarted) runner.Result
	// Precheck prepares a challenge of a task of reversibility 1, likewise. nil: nobody is
	// there to ask, which stops the run where Config.Precheck says that it must be.
	Precheck func(s *State, task int, e PrecheckStarted) func(ctx context.Context) counsel.Challenge
	// Asked says what the calls of an unfinished review ("review-3") or verification
	// ("criteria-1") have cost, at most limit where that is unknown. nil: limit.
	Asked func(ctx context.Context, name string, limit budget.USD) budget.USD
	// RecoverPanel does the same for a panel.
	RecoverPanel func(ctx context.Context, e CounselStarted) counsel.Verdict

	// Person answers gates; required when Config.Attended.
	Person Person

	// Clean takes out of an event what must not be kept or shown; it returns its argument
	// or a changed copy. It is called from the loop's goroutine, before the event is
	// journalled, applied and shown. nil: events stay as they are.
	Clean func(Body) Body

	// Busy is how many attempts keep the machine busy: while more than that run, what a
	// worker's message decides waits for the next message, at most for Patience, and they
	// share an fsync. With a Patience of 0 nothing waits.
	Busy     int
	Patience time.Duration
	// Lag is how long the records of commands that the plan's waves name may be written and
	// not yet durable. With 0 they are durable at once.
	Lag time.Duration

	Now  func() time.Time
	Luck func() float64 // in [0, 1); spreads waits
}

// message is what a worker or the outside world tells the loop.
type message struct {
	task      int
	attempt   *runner.Result
	verdict   *counsel.Verdict
	event     Body // already decided, as for a delivery
	answer    *answerOf
	verified  *verifiedOf
	challenge *challengeOf
	trees     *integration
	panel     int
}

// Run runs the session to its end. The error is of the loop itself (the journal
// cannot be written, the state does not fit); how the work went is in RunEnded.
// Every goroutine it started has ended when it returns.
func (l *Loop) Run(ctx context.Context) (RunEnded, error) {
	kill, cancel := context.WithCancelCause(ctx)
	r := &running{Loop: l, kill: kill, cancel: cancel, s: l.State, ahead: map[string]*preparing{}, starting: map[string]bool{}}
	defer r.stop()
	if err := r.recover(ctx); err != nil {
		return RunEnded{}, err
	}
	if err := r.commit(l.Open); err != nil {
		return RunEnded{}, err
	}
	size := max(1, r.s.Config.Parallel)
	// A light review, what closes the run, and spares are beside the attempts.
	r.done, r.jobs = make(chan message, size+2+r.s.Config.Spares), make(chan func())
	r.group.SetLimit(size)
	return r.loop(ctx)
}

// running is one Run. Its fields belong to the loop's goroutine.
type running struct {
	*Loop
	s      *State
	kill   context.Context
	cancel context.CancelCauseFunc
	unask  context.CancelFunc    // takes the open question back
	ahead  map[string]*preparing // spares, by the keys of their attempts
	// starting has the tasks whose agent does not ask the API yet.
	starting map[string]bool
	enough   context.CancelFunc // no further check is begun by the verification under way
	group    errgroup.Group     // the attempts and panels; SetLimit is the parallel limit
	side     errgroup.Group     // reviews and verifications: one of each kind at most
	done     chan message
	jobs     chan func() // to workers that are free
	batch    []staged    // applied, not yet durable
	begun    int         // of the batch: those that are written, and acted on if they were foretold
	told     int         // the open wave, once its record is durable; else 0
	due      time.Time   // when the batch must be durable at last; zero: nothing waits
}

// staged is an event that is applied and not yet durable.
type staged struct {
	Event
	foretold bool // it is acted on as soon as it is written
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
			over = nil // workers see the same cancellation; only wait for them
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

// rest is how long nothing needs to be looked at unless something happens.
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

// react stages what a worker's message decides, together with whatever other messages are
// there already or come soon, so that one fsync serves them all.
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

// verifiedOf is what a verification found.
type verifiedOf struct {
	started CriteriaStarted
	got     Verification
	err     error
}

// integration is what the integrator said.
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

// advance stages everything that may follow now, makes it durable, and acts on it.
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

// stage appends and applies an event. Nobody sees it before flush.
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

// flush makes the batch durable, then shows it and acts on it, in order. What a durable
// record has foretold need not wait for that: it is acted on when it is written, and a batch
// of nothing else becomes durable soon.
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

// settle makes durable what is not, shows it, and acts on what has waited for that.
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
		r.unask() // nothing more starts, so nobody needs to agree
	}
	if r.s.Stop != nil && r.enough != nil {
		r.enough()
	}
	return nil
}

// foretold tells whether an event is the start of a command, for the first time, that the
// record of its wave has named. A command costs no money, and when the machine fails before
// this record is durable, the command is run again as any that was cut short. What cannot be
// undone, and what would leave a tree of its own behind, has a durable record first.
func (r *running) foretold(e Event) bool {
	b, ok := e.Body.(AttemptStarted)
	if !ok || b.Attempt > 1 || b.Wave != r.told || r.s.Config.Isolation == Isolated {
		return false
	}
	t := r.planned(b.Task)
	return t.Command != "" && t.Reversibility != "1"
}

// urgent tells whether somebody waits for an event to be durable, or money is at stake.
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

// stop cancels and waits for whatever still runs: only an error of the loop itself
// leaves anything.
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
