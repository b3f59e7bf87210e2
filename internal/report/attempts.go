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
	for task, list := range runs[len(runs)-1] {
		for _, a := range list {
			if i, ok := s.Index(task); ok && s.Tasks[i].Key == a.Key {
				all[i] = append(all[i], a)
			}
		}
	}
	return all
}
