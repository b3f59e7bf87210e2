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
	StartedAt time.Time
	End       *event.AttemptEnded // nil: it has not ended
	Counsel   []AttemptCounsel    // in order; usually at most one
	Reopened  *event.Reopened     // its work was sent back by an integration; nil: it was not
}

// AttemptCounsel is a panel after an attempt, or the reason for none.
type AttemptCounsel struct {
	Panel   int
	Verdict counsel.Verdict
	Skipped string // the reason if no panel was asked
}

// AttemptsOf returns the attempts of each task of the last run in events, in order. As the state does, it ignores
// records of a task that the plan no longer has, or has changed since.
func AttemptsOf(s *scheduler.State, events []event.Event) [][]AttemptRecord {
	all := make([][]AttemptRecord, len(s.Tasks))
	last := func(task string) *AttemptRecord {
		if i, ok := s.Index(task); ok && len(all[i]) > 0 {
			return &all[i][len(all[i])-1]
		}
		return nil
	}
	for _, e := range events {
		switch b := e.Body.(type) {
		case event.RunStarted:
			clear(all)
		case event.AttemptStarted:
			if i, ok := s.Index(b.Task); ok && s.Tasks[i].Key == b.Key {
				all[i] = append(all[i], AttemptRecord{AttemptStarted: b, StartedAt: e.Time})
			}
		case event.AttemptEnded:
			if a := last(b.Task); a != nil && a.Attempt == b.Attempt && a.Key == b.Key {
				a.End = &b
			}
		case event.CounselSkipped:
			if a := last(b.Task); a != nil {
				a.Counsel = append(a.Counsel, AttemptCounsel{Skipped: b.Reason})
			}
		case event.CounselEnded:
			if a := last(b.Task); a != nil {
				a.Counsel = append(a.Counsel, AttemptCounsel{Panel: b.Panel, Verdict: b.Verdict})
			}
		case event.IntegrationEnded:
			for _, r := range b.Reopened {
				if a := last(r.Task); a != nil {
					a.Reopened = &r
				}
			}
		}
	}
	return all
}
