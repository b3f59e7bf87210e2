package report

import (
	"slices"
	"time"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/runner"
	"wavex/scheduler"
)

// AttemptRecord is one attempt of a task on record. Its JSON is that of the records.
type AttemptRecord struct {
	event.AttemptStarted
	StartedAt time.Time           `json:"started"`
	EndedAt   time.Time           `json:"-"`
	End       *event.AttemptEnded `json:"end,omitempty"`      // nil: it has not ended
	Counsel   []AttemptCounsel    `json:"counsel,omitempty"`  // in order; usually at most one
	Reopened  *event.Reopened     `json:"reopened,omitempty"` // its work was sent back by an integration; nil: it was not
}

// AttemptCounsel is a panel after an attempt, or the reason for none.
type AttemptCounsel struct {
	Panel   int             `json:"panel"`
	Verdict counsel.Verdict `json:"verdict"`
	Skipped string          `json:"skipped,omitempty"` // the reason if no panel was asked
}

// AttemptsOfRuns returns the attempts of each run in events, by task, in order. The first entry has those before the
// first run on record.
func AttemptsOfRuns(events []event.Event) (runs []map[string][]AttemptRecord) {
	run := map[string][]AttemptRecord{}
	runs = append(runs, run)
	last := func(task string) *AttemptRecord {
		if list := run[task]; len(list) > 0 {
			return &list[len(list)-1]
		}
		return &AttemptRecord{End: &event.AttemptEnded{}} // the record of its attempt is missing
	}
	for _, e := range events {
		switch b := e.Body.(type) {
		case event.RunStarted:
			run = map[string][]AttemptRecord{}
			runs = append(runs, run)
		case event.AttemptStarted:
			run[b.Task] = append(run[b.Task], AttemptRecord{AttemptStarted: b, StartedAt: e.Time})
		case event.AttemptEnded:
			if last(b.Task).End != nil { // the record of its start is missing
				run[b.Task] = append(run[b.Task], AttemptRecord{AttemptStarted: event.AttemptStarted{Task: b.Task, Key: b.Key,
					Attempt: b.Attempt}})
			}
			last(b.Task).End, last(b.Task).EndedAt = &b, e.Time
		case event.CostCorrected:
			for k := range run[b.Task] {
				if a := &run[b.Task][k]; a.Attempt == b.Attempt && a.End != nil {
					end := *a.End
					end.Result = b.Correct(end.Result)
					a.End = &end
				}
			}
		case event.CounselSkipped:
			a := last(b.Task)
			a.Counsel = append(a.Counsel, AttemptCounsel{Skipped: b.Reason})
		case event.CounselEnded:
			a := last(b.Task)
			a.Counsel = append(a.Counsel, AttemptCounsel{Panel: b.Panel, Verdict: b.Verdict})
		case event.IntegrationEnded:
			for _, r := range b.Reopened {
				last(r.Task).Reopened = &r
			}
		}
	}
	return runs
}

// AttemptsOf returns the attempts of each task of the last run in events, in order. As the state does, it ignores
// those at a task that the plan no longer has, or has changed since.
func AttemptsOf(s *scheduler.State, events []event.Event) [][]AttemptRecord {
	all, runs := make([][]AttemptRecord, len(s.Tasks)), AttemptsOfRuns(events)
	for i := range all {
		all[i] = slices.DeleteFunc(runs[len(runs)-1][s.Plan.Tasks[i].ID], func(a AttemptRecord) bool {
			return a.Key != s.Tasks[i].Key
		})
	}
	return all
}

// historyOf returns the attempts of each task that have ended. Without their events it has the last one only.
func historyOf(s *scheduler.State, events []event.Event) [][]AttemptRecord {
	all := AttemptsOf(s, events)
	for i, list := range all {
		all[i] = slices.DeleteFunc(list, func(a AttemptRecord) bool { return a.End == nil })
		if last := s.Tasks[i].Last; last != nil && len(all[i]) == 0 {
			all[i] = []AttemptRecord{{AttemptStarted: event.AttemptStarted{Attempt: s.Tasks[i].Attempts},
				End: &event.AttemptEnded{Result: *last, Charged: last.Outcome.Charged()}}}
		}
	}
	return all
}

// escaped reports whether an attempt that has ended left a process; see scheduler.LeftProcess.
func (a *AttemptRecord) escaped() bool {
	return !a.End.Result.Contained && a.End.Result.Outcome == runner.Done
}

// Note returns the next step after an attempt that has ended, and its reason.
func (a *AttemptRecord) Note() string {
	if a.Reopened != nil {
		return a.Reopened.Note()
	}
	return a.End.Note
}

// advice returns the last verdict of a panel after an attempt; nil if no panel followed.
func (a *AttemptRecord) advice() *counsel.Verdict {
	for _, c := range slices.Backward(a.Counsel) {
		if c.Skipped == "" {
			return &c.Verdict
		}
	}
	return nil
}
