package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"wavex/internal/event"
)

// This file implements the gates at which a person is asked. They exist only in attended sessions.
// While a question is open nothing new starts, and running work continues. The caller asks the
// person.

// Approver answers gates. Confirm is called from a worker goroutine, one question at a time. It
// blocks until there is an answer, or returns an error soon after ctx ends.
type Approver interface {
	Confirm(ctx context.Context, question string) (yes bool, err error)
}

// approvals holds the questions and answers of a session.
type approvals struct {
	openQuestion *event.Asked // the open question; may be nil
	pendingSteps []string     // tasks whose completion needs an answer at G2
	approvedWave int          // the last wave with a positive answer
	endApproved  bool         // G3 was answered with yes
}

// decideApproval returns the question that must be asked before anything else starts, or nil.
func decideApproval(s *State) event.Body {
	if !s.Config.Attended || s.Running() >= s.Config.Parallel {
		return nil
	}
	if len(s.approvals.pendingSteps) > 0 {
		id := s.approvals.pendingSteps[0]
		return event.Asked{Gate: event.GateG2, Task: id, Text: fmt.Sprintf("G2: Step %s complete. Continue?", s.title(id))}
	}
	if s.Config.Mode != event.Interactive {
		return nil
	}
	for i := range s.Tasks {
		t, id := &s.Tasks[i], s.Plan.Tasks[i].ID
		if (t.Status == event.Pending || t.Status == event.Advising) && t.Next == "retry" && t.Tries > 0 &&
			t.ApprovedAttempt < t.Attempts && !s.deferral.isDeferred(i) {
			return event.Asked{Gate: event.GateRetry, Task: id, Text: fmt.Sprintf(
				"Task %s failed. Retry? (%d/%d attempts used)", s.title(id), t.Tries-1, s.Retries(i))}
		}
	}
	return nil
}

// decideWaveApproval returns the question before the next wave opens, or nil.
func decideWaveApproval(s *State, next int) event.Body {
	if !s.Config.Attended || s.Config.Gates != event.GatesWaves || s.Wave == 0 ||
		next <= s.Wave || s.approvals.approvedWave >= s.Wave {
		return nil
	}
	return event.Asked{Gate: event.GateG2, Wave: s.Wave, Text: fmt.Sprintf(
		"G2: Wave %d of %d complete: %d of %d tasks. Continue?",
		s.Wave, s.Waves, s.Counts.Completed, len(s.Tasks))}
}

// decideEndApproval returns the question before the run is complete, or nil.
func decideEndApproval(s *State) event.Body {
	if !s.Config.Attended || s.Config.Gates != event.GatesAttempts || s.approvals.endApproved || s.Stop != nil ||
		!s.IsDone() || !s.Assessment.ExitSignal {
		return nil
	}
	return event.Asked{Gate: event.GateG3, Text: fmt.Sprintf(
		"G3: All criteria met, %d of %d tasks complete. Confirm done?",
		s.Counts.Completed, len(s.Tasks))}
}

func (s *State) title(id string) string {
	if i, ok := s.Index(id); ok && s.Plan.Tasks[i].Subject != "" {
		return fmt.Sprintf("%s (%s)", id, strings.TrimSpace(s.Plan.Tasks[i].Subject))
	}
	return id
}

// onAnswer returns the consequences of an answer. An error also stops the run, because there was no
// agreement.
func onAnswer(s *State, q event.Asked, yes bool, err error) event.Answered {
	a := event.Answered{Gate: q.Gate, Task: q.Task, Wave: q.Wave, Yes: yes && err == nil}
	switch {
	case a.Yes:
	case err != nil:
		a.Stop = event.Trip(event.Breaker(q.Gate), "nobody answered at "+string(q.Gate), "resume asks again")
	case q.Gate == event.GateRetry:
		if i, ok := s.Index(q.Task); ok {
			a.Blocked = s.unfinishedDescendants(i, 1)
		}
	default:
		a.Stop = event.Trip(event.Breaker(q.Gate), "a person said no at "+string(q.Gate), "resume asks again")
	}
	return a
}

func (s *State) applyAnswered(b event.Answered) {
	s.approvals.openQuestion = nil
	s.Stop = cmp.Or(s.Stop, b.Stop)
	switch {
	case b.Gate == event.GateRetry:
		i, ok := s.Index(b.Task)
		if !ok || b.Stop != nil {
			return
		}
		if b.Yes {
			s.Tasks[i].ApprovedAttempt = s.Tasks[i].Attempts
			return
		}
		s.move(i, event.Failed)
		s.block(b.Task, b.Blocked)
	case b.Gate == event.GateG2 && b.Task != "":
		s.dropStep(b.Task)
	case b.Gate == event.GateG2:
		s.approvals.approvedWave = b.Wave
	case b.Gate == event.GateG3:
		s.approvals.endApproved = b.Yes
	}
}

// dropStep takes a task off those whose completion needs an answer.
func (s *State) dropStep(id string) {
	s.approvals.pendingSteps = slices.DeleteFunc(s.approvals.pendingSteps, func(one string) bool { return one == id })
}

// askApproval asks the person an open question.
func (r *running) askApproval(q event.Asked) {
	ctx, cancel := context.WithCancel(r.kill)
	r.cancelQuestion = cancel
	r.runJob(func() message {
		defer cancel()
		yes, err := false, context.Canceled
		if r.Approver != nil {
			yes, err = r.Approver.Confirm(ctx, q.Text)
		}
		return func() event.Body { return onAnswer(r.s, q, yes, err) }
	})
}
