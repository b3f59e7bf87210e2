package scheduler

import (
	"fmt"
	"strings"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/runner"
)

// This file reserves the money of paid work at its start, and replaces the reservation by the cost at its end.

// job is paid work: an attempt, a panel, a pre-check, a verification or a review.
type job struct {
	key       string // of its reservation
	wave      int    // the wave whose limit holds as well; 0: none
	task      string // an attempt at it, or a panel for it; "": another job
	cap       budget.USD
	iteration bool
}

func attemptKey(task string, n int) string  { return fmt.Sprintf("%s/%d", task, n) }
func panelKey(task string, n int) string    { return fmt.Sprintf("%s/counsel-%d", task, n) }
func precheckKey(task string, n int) string { return fmt.Sprintf("/precheck-%s-%d", task, n) }
func criteriaKey(round int) string          { return fmt.Sprintf("/criteria-%d", round) }
func reviewKey(n int) string                { return fmt.Sprintf("/review-%d", n) }

// jobOf returns the job that an event starts. Without one its key is "".
func jobOf(b event.Body) job {
	switch b := b.(type) {
	case event.AttemptStarted:
		return job{key: attemptKey(b.Task, b.Attempt), wave: b.Wave, task: b.Task, cap: b.Cap, iteration: true}
	case event.CounselStarted:
		return job{key: panelKey(b.Task, b.Panel), wave: b.Wave, task: b.Task, cap: b.Cap}
	case event.PrecheckStarted:
		return job{key: precheckKey(b.Task, b.N), cap: b.Cap}
	case event.CriteriaStarted:
		return job{key: criteriaKey(b.Round), cap: b.Cap}
	case event.ReviewStarted:
		return job{key: reviewKey(b.N), cap: b.Cap}
	case openChecks:
		return jobOf(b.AttemptStarted)
	}
	return job{}
}

// openChecks is the open work of an attempt whose turn has ended and paid.
type openChecks struct {
	event.AttemptStarted
	turn runner.Turn
}

// openAttempt is an attempt without its end, and its turn if that has ended.
type openAttempt struct {
	event.AttemptStarted
	turn *runner.Turn
}

// openAttempt returns the open attempt with a key.
func (s *State) openAttempt(key string) (o openAttempt, ok bool) {
	switch open := s.openWork[key].(type) {
	case event.AttemptStarted:
		return openAttempt{open, nil}, true
	case openChecks:
		return openAttempt{open.AttemptStarted, &open.turn}, true
	}
	return o, false
}

// isPaid reports whether open work holds no reservation: an attempt that only checks the work of a turn.
func isPaid(open event.Body) bool {
	b, ok := open.(event.AttemptStarted)
	_, checks := open.(openChecks)
	return checks || ok && b.Why == event.WhyChecks
}

// begin reserves the money of the job that an event starts, if it starts one.
func (s *State) begin(b event.Body) error {
	j := jobOf(b)
	if j.key == "" {
		return nil
	}
	if !isPaid(b) {
		if err := s.purse(j).reserve(j); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimPrefix(j.key, "/"), err)
		}
	}
	s.openWork[j.key] = b
	return nil
}

// requireOpen returns an error if an event ends work that is not open: its reservation is gone.
func (s *State) requireOpen(b event.Body) error {
	key := ""
	switch b := b.(type) {
	case event.AttemptEnded:
		key = attemptKey(b.Task, b.Attempt)
	case event.CounselEnded:
		key = panelKey(b.Task, b.Panel)
	case event.ReviewEnded:
		key = reviewKey(b.N)
	case event.PrecheckEnded:
		key = precheckKey(b.Task, b.N)
	default:
		return nil
	}
	if _, open := s.openWork[key]; !open {
		return fmt.Errorf("%s ended, but it is not open", strings.TrimPrefix(key, "/"))
	}
	return nil
}

// finish ends the job with a key at its cost.
func (s *State) finish(key string, cost budget.USD, tokens int64, charged bool) {
	begun := s.openWork[key]
	delete(s.openWork, key)
	if !isPaid(begun) {
		s.purse(jobOf(begun)).commit(key, cost, tokens, charged)
	}
}

// admits returns the limit that does not allow a job now, or nil.
func (s *State) admits(j job) error {
	now := s.purse(j)
	run := *now.run
	probe := purse{run: &run}
	if now.wave != nil {
		wave := *now.wave
		probe.wave = &wave
	}
	return probe.reserve(j)
}

// jobCap returns the cap of a job besides the attempts: at most the given one, within the limits of
// the run. The error is the limit that was reached.
func (s *State) jobCap(key string, most budget.USD) (budget.USD, error) {
	limit, ok := s.Ledger.Share(1, most)
	if !ok {
		return 0, s.Ledger.Shortage()
	}
	return limit, s.admits(job{key: key, cap: limit})
}

// purse holds the ledgers that pay for a job.
type purse struct {
	run, wave *budget.Ledger // wave is nil if only the run's limits hold
	group     *group         // of the task; nil: it has none
}

func (s *State) purse(j job) purse {
	p := purse{run: &s.Ledger}
	if j.wave > 0 {
		p.wave = s.waveLedger(j.wave)
	}
	if i, ok := s.Index(j.task); ok {
		p.group = s.groupOf(i)
	} else if at := strings.LastIndexByte(j.task, '['); at > 0 { // an item that the list does not have, or not yet
		p.group = s.group(j.task[:at])
	}
	return p
}

// reserve reserves money of the run and of the wave, both or neither.
func (p purse) reserve(j job) error {
	if p.wave != nil {
		if err := p.wave.Reserve(j.key, j.cap, false); err != nil {
			return markWaveLimit(err)
		}
	}
	err := p.run.Reserve(j.key, j.cap, j.iteration)
	if err != nil && p.wave != nil {
		p.wave.Commit(j.key, 0, 0, false)
	}
	return err
}

// correct replaces a cost that was committed by another one.
func (p purse) correct(was, cost budget.USD, tokens int64) {
	p.run.Correct(was, cost, tokens)
	if p.wave != nil {
		p.wave.Correct(was, cost, 0)
	}
	if p.group != nil {
		p.group.cost += cost - was
	}
}

// commit replaces a reservation by the actual cost.
func (p purse) commit(key string, cost budget.USD, tokens int64, charged bool) {
	p.run.Commit(key, cost, tokens, charged)
	if p.wave != nil {
		p.wave.Commit(key, cost, 0, false)
	}
	if p.group != nil {
		p.group.cost += cost
	}
}
