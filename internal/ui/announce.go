package ui

import (
	"cmp"
	"fmt"
	"strings"

	"wavex/counsel"
	"wavex/internal/report"
	"wavex/scheduler"
)

// Announcer writes the announcement of an existing run for commands that show it elsewhere. It
// belongs to one goroutine.
type Announcer struct{ next nextTask }

// Lines returns the announcement for the current state.
func (a *Announcer) Lines(s *scheduler.State) []string { return resumeLines(s, &a.next) }

// OpenTasks returns the tasks by wave, without the settled ones at the start.
func (a *Announcer) OpenTasks(s *scheduler.State) []int { return a.next.open(s) }

// stageText returns the stage and the request's score, if it was scored.
func stageText(s *scheduler.State) string {
	spec, fit := "-", "-"
	if f := s.Origin; f != nil {
		spec, fit = fmt.Sprint(f.SpecScore), fmt.Sprint(f.FitScore)
	}
	return fmt.Sprintf("%s | Spec: %s/10 | Fit: %s", report.Stage(s), spec, fit)
}

// maxNamedReviews bounds the reviews in the announcement; the latest are kept.
const maxNamedReviews = 3

// reviewsText sums up the reviews that gave an answer: the light ones by wave, and the last thorough one, which judges
// the whole work anew.
func reviewsText(s *scheduler.State) string {
	var list []string
	thorough := ""
	for i := range s.Assessment.Reviews {
		r := &s.Assessment.Reviews[i]
		switch {
		case r.Review.Error != "" || r.Review.Nothing != "":
		case r.Mode != counsel.Thorough:
			list = append(list, fmt.Sprintf("wave %d: %.1f/10, %s", r.Wave, r.Review.Score,
				report.Plural(len(r.Review.Findings), "issue", "issues")))
		case r.Passed:
			thorough = "thorough: passed"
		default:
			thorough = "thorough: " + report.Plural(r.Blockers, "blocker", "blockers") + " left"
		}
	}
	if thorough != "" {
		list = append(list, thorough)
	}
	return cmp.Or(strings.Join(list[max(0, len(list)-maxNamedReviews):], "; "), "none")
}
