package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"wavex/internal/event"
)

// This file decides the steps between the last task and completion: all tasks are completed, all
// criteria are met with evidence, the thorough review has passed, and the gate passes. Together
// with the criteria, tasks' own checks are repeated if later work may have broken them: one that
// fails prevents completion. It is pure. verification.go and review.go implement the steps, remediation.go makes the
// tasks that repair the findings.

// decideCompletion returns the next step after every task is completed, or nil to wait.
func decideCompletion(s *State, now time.Time) event.Body {
	if s.Assessment.Gate != nil {
		if s.closing.lightRunning {
			return nil
		}
		return decideFinish(s)
	}
	if over := s.Ledger.OverWall(now.Sub(s.SessionStart)); over != nil {
		return event.Draining{Stop: s.limitStop(over)}
	}
	if again := dueRechecks(s); len(again) > 0 || len(s.Assessment.Criteria) > 0 &&
		s.closing.verifiedAt != s.closing.workCount {
		return decideVerification(s, again)
	}
	if open := unmetCriteria(s); len(open) > 0 && s.closing.remediations < s.Config.ReviewRounds {
		if body := decideCriteriaRemediation(s, open); body != nil {
			return body
		}
	}
	against, _ := unproven(s.evidence(needsThoroughReview(s)))
	if against = append(against, red(s)...); len(against) > 0 {
		return s.decideGate(against) // a review costs money and would not change that
	}
	if body, wait := decideThoroughReview(s); body != nil || wait {
		return body
	}
	if last := s.Assessment.Thorough(); needsThoroughReview(s) && last != nil && !last.Passed {
		if last.Review.Error == "" {
			return decideRemediation(s, last)
		}
		if st := outcomeStop(last.Review.Failure, "the thorough review: "+last.Review.Error, "work"); st != nil {
			return event.Draining{Stop: *st}
		}
	}
	if against = unreviewed(s); len(against) == 0 {
		against, _ = unproven(s.evidence(s.isReviewed()))
	}
	return s.decideGate(against)
}

// red returns the checks of completed tasks that fail on the work as it is delivered.
func red(s *State) (against []string) {
	for _, r := range s.Assessment.Regressions {
		against = append(against, r.String())
	}
	return against
}

// LeftProcess is said of an attempt that is done and not contained.
const LeftProcess = "a process that the agent left may have answered the checks"

// Uncontained says of each completed task whether a process of its last attempt may have outlived the agent's turn.
func (s *State) Uncontained() (lines []string) {
	for i := range s.Tasks {
		if t := &s.Tasks[i]; t.Status == event.Completed && t.Last != nil && !t.Last.Contained {
			lines = append(lines, LeftProcess+": task "+s.Plan.Tasks[i].ID)
		}
	}
	return lines
}

// unreviewed returns the reasons why the review prevents completion.
func unreviewed(s *State) []string {
	if last := s.Assessment.Thorough(); needsThoroughReview(s) && (last == nil || !last.Passed ||
		s.closing.reviewedAt != s.closing.workCount) {
		why := "it did not take place"
		if last != nil && last.Review.Error != "" {
			why = last.Review.Error
		}
		return []string{"the thorough review has not passed: " + why}
	}
	return nil
}

// decideGate returns the last decision; against lists the reasons against completion.
func (s *State) decideGate(against []string) event.Body {
	g := event.GateEnded{Passed: len(against) == 0, Reasons: against, Review: event.ReviewOff}
	rows := s.evidence(s.isReviewed())
	_, g.Assumed = unproven(rows)
	if !g.Passed && slices.ContainsFunc(rows, func(r event.Evidence) bool {
		return r.Basis == event.Unproven && r.Kind == event.Assumption
	}) {
		g.Advice = event.AdviceUnproven
	}
	if len(s.Assessment.Regressions) > 0 {
		g.Advice = event.AdviceRed
	}
	g.ExitSignal = g.Passed
	last, earlier := s.Assessment.Thorough(), s.earlier.EarlierWork != nil && !s.ranTasks()
	switch c := s.Config.Review; {
	case earlier: // nothing is new
		g.Review = s.earlier.Review
	case needsThoroughReview(s) && last != nil && last.Review.Nothing == "":
		g.Review = "thorough"
	case c == event.ReviewThorough, c == event.ReviewAuto:
		g.Review = "nothing to review"
	case c == event.ReviewLight && len(s.Assessment.Reviews) > 0:
		g.Review = event.ReviewLight
	}
	switch {
	case !g.Passed || g.Review != event.ReviewOff && g.Review != event.ReviewLight:
	case earlier:
		g.Reasons = append(g.Reasons, "no thorough review was made by the earlier run")
	default:
		g.Reasons = append(g.Reasons, "no thorough review was made: review is "+cmp.Or(s.Config.Review, event.ReviewOff))
	}
	for i := range s.Tasks {
		if last := s.Tasks[i].Last; last != nil {
			for _, t := range last.Tampered {
				g.Reasons = append(g.Reasons, fmt.Sprintf("task %s changed %s", s.Plan.Tasks[i].ID, t))
			}
		}
	}
	for _, c := range s.Plan.MustNot {
		if c.Check == nil && g.Review != event.ReviewThorough {
			g.Reasons = append(g.Reasons, "nothing looked for what must not be true, since it has no check: "+c.Text)
		}
	}
	g.Reasons = append(append(g.Reasons, s.AllowedFailures()...), s.Uncontained()...)
	if len(g.Assumed) > 0 {
		g.Reasons = append(g.Reasons, "accepted without evidence: "+strings.Join(g.Assumed, ", "))
	}
	return g
}
