package scheduler

import (
	"slices"

	"wavex/counsel"
	"wavex/internal/event"
)

// Assessment holds the run's knowledge of its own work beyond single tasks.
type Assessment struct {
	// Criteria are the plan's, then those of the tasks, in plan order.
	Criteria []event.Criterion
	// Reviews are the latest of each: light ones by wave, thorough ones by round.
	Reviews []event.ReviewEnded
	// Added are the tasks that are not in the plan file, in the order of their addition.
	Added []event.Added
	// Regressions are the checks of completed tasks that passed before and failed when they were
	// last repeated in this session.
	Regressions []event.Regression
	// Gate is the last gate of the session. Evidence has its rows, of each criterion and then of each task. Both are
	// nil before.
	Gate     *event.GateEnded
	Evidence []event.Evidence
	// ExitSignal means that all work is done, has evidence, and passed the gate.
	ExitSignal bool
}

// Thorough returns the latest thorough review, or nil.
func (v *Assessment) Thorough() *event.ReviewEnded {
	for i := len(v.Reviews) - 1; i >= 0; i-- {
		if v.Reviews[i].Mode == counsel.Thorough {
			return &v.Reviews[i]
		}
	}
	return nil
}

// OpenBlockers returns the blockers that nothing has closed: those of the latest thorough review with an answer.
func (v *Assessment) OpenBlockers() []counsel.Finding {
	for _, r := range slices.Backward(v.Reviews) {
		if r.Mode == counsel.Thorough && r.Review.Error == "" {
			return r.Review.Blockers()
		}
	}
	return nil
}

// Light returns the light review of a wave, or nil.
func (v *Assessment) Light(wave int) *event.ReviewEnded {
	for i := range v.Reviews {
		if r := &v.Reviews[i]; r.Mode == counsel.Light && r.Wave == wave {
			return r
		}
	}
	return nil
}

// addReview stores a review. A second light review of the same wave replaces the first.
func (v *Assessment) addReview(b event.ReviewEnded) {
	if b.Mode == counsel.Light {
		if old := v.Light(b.Wave); old != nil {
			*old = b
			return
		}
	}
	v.Reviews = append(v.Reviews, b)
}

// updateCriteria stores the results of a verification. It skips criteria that changed or no longer exist.
func (v *Assessment) updateCriteria(found []event.Criterion) {
	at := make(map[string]int, len(v.Criteria))
	for i, c := range v.Criteria {
		at[c.ID] = i
	}
	for _, c := range found {
		if i, ok := at[c.ID]; ok && v.Criteria[i].Text == c.Text {
			old := &v.Criteria[i]
			c.WasUnmet = old.WasUnmet || old.Check != "" && !old.Met
			*old = c
		}
	}
}
