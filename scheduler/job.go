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
func jobOf(b event.Body) job { return newJob(event.Event{Body: b}.Starts()) }

func newJob(w event.Work) job {
	switch w.Kind {
	case event.Attempt:
		return job{key: attemptKey(w.Task, w.N), task: w.Task, cap: w.Cost, iteration: true}
	case event.Counsel:
		return job{key: panelKey(w.Task, w.N), task: w.Task, cap: w.Cost}
	case event.Precheck:
		return job{key: precheckKey(w.Task, w.N), cap: w.Cost}
	case event.Criteria:
		return job{key: criteriaKey(w.N), cap: w.Cost}
	case event.Review:
		return job{key: reviewKey(w.N), cap: w.Cost}
	}
	return job{}
}

// openJob is a job that has begun and not ended.
type openJob struct {
	job
	start    event.Body
	paid     bool                   // it holds no reservation: it only checks the work of a turn
	attempt  *openAttempt           // nil: not an attempt
	criteria *event.CriteriaStarted // nil: not a verification
}

// openAttempt is an attempt without its end, and its turn if that has ended.
type openAttempt struct {
	event.AttemptStarted
	turn *runner.Turn
}

// open returns the open job with a key, or one of nothing.
func (s *State) open(key string) *openJob {
	if o := s.openWork[key]; o != nil {
		return o
	}
	return &openJob{}
}

// begin reserves the money of the job that an event starts, if it starts one.
func (s *State) begin(e event.Event) error {
	w := e.Starts()
	j := newJob(w)
	if j.key == "" {
		return nil
	}
	if !w.Paid {
		if err := s.Ledger.Reserve(j.key, j.cap, j.iteration); err != nil {
			return fmt.Errorf("%s: %w", strings.TrimPrefix(j.key, "/"), err)
		}
	}
	s.openWork[j.key] = &openJob{job: j, start: e.Body, paid: w.Paid}
	return nil
}

// requireOpen returns an error if an event ends work that is not open: its reservation is gone.
func (s *State) requireOpen(e event.Event) error {
	w := e.Ends()
	key := newJob(w).key
	if _, open := s.openWork[key]; key == "" || open || w.Kind == event.Criteria { // wavex verify begins none
		return nil
	}
	return fmt.Errorf("%s ended, but it is not open", strings.TrimPrefix(key, "/"))
}

// finish ends the job with a key at its cost.
func (s *State) finish(key string, cost budget.USD, tokens int64, charged bool) {
	begun := s.open(key)
	delete(s.openWork, key)
	if !begun.paid {
		s.purse(begun.job).commit(key, cost, tokens, charged)
	}
}

// admits returns the limit that does not allow a job now, or nil.
func (s *State) admits(j job) error {
	run := s.Ledger
	return run.Reserve(j.key, j.cap, j.iteration)
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
	run   *budget.Ledger
	group *group // of the task; nil: it has none
}

func (s *State) purse(j job) purse {
	p := purse{run: &s.Ledger}
	if i, ok := s.Index(j.task); ok {
		p.group = s.groupOf(i)
	} else if at := strings.LastIndexByte(j.task, '['); at > 0 { // an item that the list does not have, or not yet
		p.group = s.group(j.task[:at])
	}
	return p
}

// correct replaces a cost that was committed by another one.
func (p purse) correct(was, cost budget.USD, tokens int64) {
	p.run.Correct(was, cost, tokens)
	if p.group != nil {
		p.group.cost += cost - was
	}
}

// commit replaces a reservation by the actual cost.
func (p purse) commit(key string, cost budget.USD, tokens int64, charged bool) {
	p.run.Commit(key, cost, tokens, charged)
	if p.group != nil {
		p.group.cost += cost
	}
}
