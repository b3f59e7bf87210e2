package scheduler

import (
	"fmt"
	"strings"
	"time"
)

// This file decides the steps between the last task and completion: all tasks are completed, all
// criteria are met with evidence, the thorough review has passed, and the gate passes. Together
// with the criteria, tasks' own checks are repeated if later work may have broken them. A failed
// repeat is reported and does not prevent completion (a test that had to fail first may pass now).
// It is pure. criteria.go and review.go implement the steps, mend.go makes the tasks that repair
// the findings.

// conclude returns the next step after every task is completed, or nil to wait.
func conclude(s *State, now time.Time) Body {
	if s.Gate != nil {
		if s.lighting {
			return nil
		}
		return finish(s)
	}
	if over := s.Ledger.OverWall(now.Sub(s.Began)); over != nil {
		return Draining{Stop: atLimit(over)}
	}
	if again := rechecks(s); len(again) > 0 || len(s.Criteria) > 0 && s.checked != s.work {
		return verification(s, again)
	}
	if open := unmet(s); len(open) > 0 && s.mended < s.Config.ReviewRounds {
		if body := mendCriteria(s, open); body != nil {
			return body
		}
	}
	against, assumed := unproven(s)
	if len(against) > 0 { // a review costs money and would not change that
		return s.gate(against, assumed)
	}
	if body, wait := review(s); body != nil || wait {
		return body
	}
	if last := s.Thorough(); reviews(s) && last != nil && !last.Passed {
		if st := refused(*last); st != nil {
			return Draining{Stop: *st}
		}
		if last.Review.Error == "" {
			return remedy(s, last)
		}
	}
	return s.gate(unreviewed(s), assumed)
}

// unreviewed returns the reasons why the review prevents completion.
func unreviewed(s *State) []string {
	if last := s.Thorough(); reviews(s) && (last == nil || !last.Passed || s.reviewed != s.work) {
		why := "it did not take place"
		if last != nil && last.Review.Error != "" {
			why = last.Review.Error
		}
		return []string{"the thorough review has not passed: " + why}
	}
	return nil
}

// gate returns the last decision; against lists the reasons against completion.
func (s *State) gate(against, assumed []string) Body {
	g := GateEnded{Passed: len(against) == 0, Reasons: against, Assumed: assumed, Review: "off"}
	g.ExitSignal = g.Passed
	last := s.Thorough()
	switch c := s.Config.Review; {
	case reviews(s) && last != nil && last.Review.Nothing == "":
		g.Review = "thorough"
	case c == ReviewThorough, c == ReviewAuto:
		g.Review = "nothing to review"
	}
	if g.Passed && g.Review == "off" {
		g.Reasons = append(g.Reasons, "no thorough review was made: review is "+or(s.Config.Review, ReviewOff))
	}
	for i := range s.Tasks {
		if last := s.Tasks[i].Last; last != nil {
			for _, t := range last.Tampered {
				g.Reasons = append(g.Reasons, fmt.Sprintf("task %s changed %s: %s", s.Plan.Tasks[i].ID, t.Path, t.Why))
			}
		}
	}
	for _, r := range s.Regressions {
		g.Reasons = append(g.Reasons, r.String())
	}
	if len(assumed) > 0 {
		g.Reasons = append(g.Reasons, "accepted without evidence: "+strings.Join(assumed, ", "))
	}
	return g
}

func or(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}
