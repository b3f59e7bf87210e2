package report

// This file folds the events of a journal into its runs, with the attempts and the other facts that reports and
// commands share, so that they need not tell events apart by their types. It decides nothing and formats nothing.
// The figures of a run are in its scheduler.State.

import (
	"slices"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/runner"
	"wavex/scheduler"
)

// Run is one run of a journal.
type Run struct {
	Events     []event.Event        // from its beginning up to that of the next run
	First      event.Beginning      // of the run
	Last       event.Beginning      // of its last session
	Attempts   map[string][]Attempt // by task, in order
	Deliveries []event.DeliveryEnded
	Completed  map[string]bool // the completed tasks
	Added      int             // number of tasks that joined the plan
	// Inspection is the last verification outside of a session, unless a session that does not close its gaps
	// followed; then nil. Inspected reports whether no session at all followed.
	Inspection *event.Inspected
	Inspected  bool

	closing bool // tasks were added that close the gaps
}

// Attempt is one attempt of a task on record. Its JSON is that of the records.
type Attempt struct {
	event.AttemptStarted
	StartedAt  time.Time           `json:"started"` // zero: the record of its start is missing
	EndedAt    time.Time           `json:"-"`
	Turned     bool                `json:"-"`                  // the end of its turn is on record
	Tampered   []runner.Tamper     `json:"-"`                  // the guarded files that it changed
	End        *event.AttemptEnded `json:"end,omitempty"`      // nil: it has not ended
	Agent      string              `json:"-"`                  // of the session in which it has ended
	Counsel    []PanelVerdict      `json:"counsel,omitempty"`  // in order; usually at most one
	Integrated bool                `json:"-"`                  // an integration completed its task
	Reopened   *event.Reopened     `json:"reopened,omitempty"` // its work was sent back by an integration; nil: it was not
}

// PanelVerdict is a panel after an attempt, or the reason for none.
type PanelVerdict struct {
	Panel   int             `json:"panel"`
	Verdict counsel.Verdict `json:"verdict"`
	Skipped string          `json:"skipped,omitempty"` // the reason if no panel was asked
}

// Escaped reports whether an attempt that has ended left a process; see scheduler.LeftProcess.
func (a *Attempt) Escaped() bool {
	return !a.End.Result.Contained && a.End.Result.Outcome == runner.Done
}

// Note returns the next step after an attempt that has ended, and its reason.
func (a *Attempt) Note() string {
	if a.Reopened != nil {
		return a.Reopened.Note()
	}
	return a.End.Note
}

// Advice returns the last verdict of a panel after an attempt; nil if no panel followed.
func (a *Attempt) Advice() *counsel.Verdict {
	for _, c := range slices.Backward(a.Counsel) {
		if c.Skipped == "" {
			return &c.Verdict
		}
	}
	return nil
}

// RunsOf returns the runs in events, in order. The first one has the events before the first run on record.
func RunsOf(events []event.Event) []Run {
	var runs []Run
	from := 0
	for n := range len(events) + 1 {
		if n == len(events) || events[n].Begins() {
			runs = append(runs, fold(events[from:n]))
			from = n
		}
	}
	return runs
}

// LastRun returns the last run in events. Its events are all, if none begins a run.
func LastRun(events []event.Event) Run {
	runs := RunsOf(events)
	return runs[len(runs)-1]
}

// AttemptsOf returns the attempts of each task of the last run in events, in order. As the state does, it ignores
// those at a task that the plan no longer has, or has changed since.
func AttemptsOf(s *scheduler.State, events []event.Event) [][]Attempt {
	all, last := make([][]Attempt, len(s.Tasks)), LastRun(events)
	for i := range all {
		all[i] = slices.DeleteFunc(last.Attempts[s.Plan.Tasks[i].ID], func(a Attempt) bool {
			return a.Key != s.Tasks[i].Key
		})
	}
	return all
}

// fold returns the run with these events.
func fold(events []event.Event) Run {
	r := Run{Events: events, Attempts: map[string][]Attempt{}, Completed: map[string]bool{}}
	for _, e := range events {
		r.apply(e)
	}
	return r
}

// last returns the last attempt at a task.
func (r *Run) last(task string) *Attempt {
	if list := r.Attempts[task]; len(list) > 0 {
		return &list[len(list)-1]
	}
	return &Attempt{End: &event.AttemptEnded{}} // the record of its attempt is missing
}

// settle marks tasks as completed, or as not completed any more.
func (r *Run) settle(done bool, ids ...string) {
	for _, id := range ids {
		if delete(r.Completed, id); done {
			r.Completed[id] = true
		}
	}
}

func (r *Run) apply(e event.Event) {
	switch b := e.Body.(type) {
	case event.RunStarted, event.RunResumed:
		r.begin(*e.Beginning())
	case event.AttemptStarted:
		r.Attempts[b.Task] = append(r.Attempts[b.Task], Attempt{AttemptStarted: b, StartedAt: e.Time})
	case event.TurnEnded:
		a := r.open(b.Task, b.Key, b.Attempt)
		a.Turned, a.Tampered = true, append(a.Tampered, b.Turn.Result.Tampered...)
	case event.AttemptEnded:
		a := r.open(b.Task, b.Key, b.Attempt)
		a.End, a.EndedAt, a.Agent = &b, e.Time, r.Last.Config.Agent
		a.Tampered = append(a.Tampered, b.Result.Tampered...)
		r.settle(b.Status == event.Completed, b.Task)
	case event.CostCorrected:
		for k := range r.Attempts[b.Task] {
			if a := &r.Attempts[b.Task][k]; a.Attempt == b.Attempt && a.End != nil {
				end := *a.End
				end.Result = b.Correct(end.Result)
				a.End = &end
			}
		}
	case event.CounselSkipped:
		a := r.last(b.Task)
		a.Counsel = append(a.Counsel, PanelVerdict{Skipped: b.Reason})
	case event.CounselEnded:
		a := r.last(b.Task)
		a.Counsel = append(a.Counsel, PanelVerdict{Panel: b.Panel, Verdict: b.Verdict})
	case event.IntegrationEnded:
		r.settle(true, b.Completed...)
		for _, id := range b.Completed {
			r.last(id).Integrated = true
		}
		for _, back := range b.Reopened {
			r.last(back.Task).Reopened = &back
		}
	case event.CriteriaEnded:
		if b.UpToDate != nil {
			r.settle(true, b.UpToDate.Tasks...)
		}
	case event.RolledBack:
		r.settle(false, b.Tasks...)
	case event.DeliveryEnded:
		r.Deliveries = append(r.Deliveries, b)
	case event.TasksAdded:
		r.Added += len(b.Tasks)
		r.closing = r.closing || b.Origin == "verify"
	case event.ItemsAdded:
		r.Added += len(b.Tasks)
	case event.Inspected:
		r.Inspection, r.Inspected = &b, true
	}
}

// begin applies the beginning of a session.
func (r *Run) begin(b event.Beginning) {
	if !b.Resumed {
		r.First = b
	}
	if b.Edit != nil {
		r.settle(false, append(b.Edit.Rerun, b.Edit.Dropped...)...)
	}
	if !r.closing {
		r.Inspection = nil
	}
	r.Last, r.Inspected, r.closing = b, false, false
}

// open returns the open attempt at a task.
func (r *Run) open(task, key string, n int) *Attempt {
	if r.last(task).End != nil { // the record of its start is missing
		r.Attempts[task] = append(r.Attempts[task], Attempt{AttemptStarted: event.AttemptStarted{Task: task, Key: key,
			Attempt: n}})
	}
	return r.last(task)
}

// OpenRequest returns the last request of a journal, or nil if it has a plan, and its cost.
func OpenRequest(events []event.Event) (open *event.RequestOpened, spent budget.USD) {
	for _, e := range events {
		switch b := e.Body.(type) {
		case event.RequestOpened:
			open, spent = &b, 0
		case event.CallEnded:
			spent += b.Cost
		case event.StageEnded:
			if b.Stage == "decompose" {
				open = nil
			}
		}
	}
	return open, spent
}
