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
// belongs to one goroutine and one state.
type Announcer struct {
	next nextTask
	run  string
}

// Lines returns the announcement for the current state.
func (a *Announcer) Lines(s *scheduler.State) []string { return resumeLines(s, a.nextOf(s)) }

// OpenTasks returns the tasks by wave, without the settled ones at the start.
func (a *Announcer) OpenTasks(s *scheduler.State) []int { return a.nextOf(s).open(s) }

func (a *Announcer) nextOf(s *scheduler.State) *nextTask {
	if a.run != s.Config.Run {
		a.run = s.Config.Run
		a.next.reset(s)
	}
	return &a.next
}

// stageText returns the stage and the request's score, if it was scored.
func stageText(s *scheduler.State) string {
	stage, spec, fit := "executing", "-", "-"
	switch {
	case report.Complete(s):
		stage = "complete"
	case len(s.Tasks) > 0 && s.Counts.Completed == len(s.Tasks):
		stage = "review"
	}
	if f := s.Origin; f != nil {
		spec, fit = fmt.Sprint(f.SpecScore), fmt.Sprint(f.FitScore)
	}
	return fmt.Sprintf("%s | Spec: %s/10 | Fit: %s", stage, spec, fit)
}

// maxNamedReviews bounds the reviews in the announcement; the latest are kept.
const maxNamedReviews = 3

// reviewsText sums up the reviews that gave an answer.
func reviewsText(s *scheduler.State) string {
	var list []string
	for i := range s.Reviews {
		r := &s.Reviews[i]
		if r.Review.Error != "" || r.Review.Nothing != "" {
			continue
		}
		text := fmt.Sprintf("wave %d: %.1f/10, %s", r.Wave, r.Review.Score, report.Plural(len(r.Review.Findings),
			"issue", "issues"))
		if r.Mode == counsel.Thorough {
			text = "thorough: passed"
			if !r.Passed {
				text = "thorough: " + report.Plural(r.Blockers, "blocker", "blockers") + " left"
			}
		}
		list = append(list, text)
	}
	return cmp.Or(strings.Join(list[max(0, len(list)-maxNamedReviews):], "; "), "none")
}
