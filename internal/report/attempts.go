package report

import (
	"time"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/scheduler"
)

// AttemptRecord is one attempt of a task on record.
type AttemptRecord struct {
	event.AttemptStarted
	StartedAt, EndedAt time.Time
	End                *event.AttemptEnded // nil: it has not ended
	Counsel            []AttemptCounsel    // in order; usually at most one
	Reopened           *event.Reopened     // its work was sent back by an integration; nil: it was not
}

// AttemptCounsel is a panel after an attempt, or the reason for none.
type AttemptCounsel struct {
	Panel   int
	Verdict counsel.Verdict
	Skipped string // the reason if no panel was asked
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
	all, of := make([][]AttemptRecord, len(s.Tasks)), attemptsByTask(s, events)
	for i := range all {
		all[i] = of(i)
	}
	return all
}

// historyOf returns a function that makes the ended attempts of a task. It needs less memory than the attempts of all
// tasks.
func historyOf(s *scheduler.State, events []event.Event) func(task int) []Attempt {
	of := attemptsByTask(s, events)
	return func(task int) []Attempt {
		if history := endedOf(of(task)); len(history) > 0 {
			return history
		}
		return lastOf(s, task)
	}
}

// attemptsByTask returns a function that returns what AttemptsOf does for a task.
func attemptsByTask(s *scheduler.State, events []event.Event) func(task int) []AttemptRecord {
	own := make([][]int, len(s.Tasks)) // the events of each task in the last run
	note := func(task string, n int) {
		if i, ok := s.Index(task); ok {
			own[i] = append(own[i], n)
		}
	}
	for n, e := range events {
		switch b := e.Body.(type) {
		case event.RunStarted:
			clear(own)
		case event.AttemptStarted:
			note(b.Task, n)
		case event.AttemptEnded:
			note(b.Task, n)
		case event.CostCorrected:
			note(b.Task, n)
		case event.CounselSkipped:
			note(b.Task, n)
		case event.CounselEnded:
			note(b.Task, n)
		case event.IntegrationEnded:
			for _, r := range b.Reopened {
				note(r.Task, n)
			}
		}
	}
	return func(task int) (list []AttemptRecord) {
		var these []event.Event
		for _, n := range own[task] {
			these = append(these, events[n])
		}
		t := &s.Tasks[task]
		for _, a := range AttemptsOfRuns(these)[0][s.Plan.Tasks[task].ID] {
			if a.Key == t.Key {
				list = append(list, a)
			}
		}
		return list
	}
}
