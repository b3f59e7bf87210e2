package ui

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// blockView is a view with status blocks beside it.
type blockView struct {
	View
	out  *asyncWriter
	next nextTask
}

// WithStatusBlocks returns v with the status block on w after each iteration and at the end, for other programs.
func WithStatusBlocks(v View, w io.Writer) View { return &blockView{View: v, out: newAsyncWriter(w)} }

func (v *blockView) Event(e event.Event, s *scheduler.State) {
	v.View.Event(e, s)
	if e.Ends().Charged || e.End() != nil {
		v.out.put([]byte(statusBlock(s, &v.next, e.Time)))
	}
}

func (v *blockView) Close() error { return errors.Join(v.View.Close(), v.out.close()) }

// statusBlock returns the block after each iteration: these keys, in this order, one line each. It is
// rendered from the state just recorded.
func statusBlock(s *scheduler.State, c *nextTask, at time.Time) string {
	return fmt.Sprintf("---LOOP_STATUS---\nEXIT_SIGNAL: %t\nCRITERIA: %s\nSTUCK_COUNT: %d\nNEXT: %s\n---END_STATUS---\n",
		report.Complete(s), criteriaJSON(report.Criteria(s)), s.Streaks.UnmetStreak, c.next(s, at))
}

// criteriaJSON returns one line of JSON with a boolean for each criterion, in the plan's order, which a
// map would lose. The encoder escapes angle brackets.
func criteriaJSON(list []report.Criterion) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, c := range list {
		if i > 0 {
			b.WriteString(", ")
		}
		key, _ := json.Marshal(c.Text) // encoding a string cannot fail
		fmt.Fprintf(&b, "%s: %t", textfmt.JSON(key), c.Met)
	}
	b.WriteByte('}')
	return b.String()
}

// nextTask finds the next action without scanning every task each time: it passes a settled task
// once. It belongs to the scheduler's goroutine.
type nextTask struct {
	run       string
	session   time.Time
	order     []int // tasks by wave, in plan order within
	firstOpen int   // all tasks before it are settled
}

// reset begins anew, for another session, in which settled tasks may be open again, or with more tasks.
func (c *nextTask) reset(s *scheduler.State) {
	*c = nextTask{s.Config.Run, s.SessionStart, make([]int, len(s.Tasks)), 0}
	for i := range c.order {
		c.order[i] = i
	}
	slices.SortStableFunc(c.order, func(a, b int) int { return s.Tasks[a].Wave - s.Tasks[b].Wave })
}

// open returns the tasks by wave, without the settled ones at the start.
func (c *nextTask) open(s *scheduler.State) []int {
	if len(c.order) != len(s.Tasks) || c.run != s.Config.Run || !c.session.Equal(s.SessionStart) {
		c.reset(s)
	}
	for c.firstOpen < len(c.order) && s.Tasks[c.order[c.firstOpen]].Status.Finished() {
		c.firstOpen++
	}
	return c.order[c.firstOpen:]
}

// next returns the next action: the first waiting task, else the work that the run waits for, else the step that
// closes the run, else "none". told is the time of the event being shown (zero: now). Events that are recorded together
// are shown one by one with the state after all of them, so work that began at told or later has
// not begun yet for the reader.
func (c *nextTask) next(s *scheduler.State, told time.Time) string {
	waiting, verified := "", ""
	for _, i := range c.open(s) {
		if s.Ended == nil && !s.Selected(i) {
			continue
		}
		id := s.Plan.Tasks[i].ID
		switch t := &s.Tasks[i]; t.Status {
		case event.Pending:
			if t.Earlier != nil { // it may be up to date
				return "checks of " + taskLabel(s, id)
			}
			if t.Tries > 0 {
				return "retry " + taskLabel(s, id)
			}
			return taskLabel(s, id)
		case event.Advising:
			return "counsel for " + taskLabel(s, id)
		case event.InProgress:
			if !told.IsZero() && !t.Started.Before(told) {
				if t.Tries > 1 {
					return "retry " + taskLabel(s, id)
				}
				return taskLabel(s, id)
			}
			waiting = cmp.Or(waiting, "wait for "+textfmt.Fit(id, 60, true))
		case event.Verified:
			verified = cmp.Or(verified, "integration of "+textfmt.Fit(id, 60, true))
		}
	}
	return cmp.Or(waiting, verified, closingStep(s))
}

// closingStep returns the step that is due when no task is open, or "none".
func closingStep(s *scheduler.State) string {
	if !s.IsDone() || report.Complete(s) {
		return "none"
	}
	for _, c := range s.Assessment.Criteria {
		if !c.Met {
			return "verify the criteria"
		}
	}
	thorough := s.Config.Review == event.ReviewThorough || s.Config.Review == event.ReviewAuto
	if r := s.Assessment.Thorough(); thorough && (r == nil || !r.Passed) {
		return "the thorough review"
	}
	return "the gate"
}
