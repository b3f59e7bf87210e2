package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// outlook says which tasks come next and how long the rest of the plan may take.
type outlook struct {
	next    []string // ids of the next tasks that wait, clean
	waiting int      // number of all tasks that wait
	left    time.Duration
	known   bool      // left is an estimate, not zero
	lists   bool      // lists that are not known yet add to it
	at      time.Time // of the estimate
}

// maxNext bounds the tasks that an outlook names.
const maxNext = 3

// manyTasks is the number of tasks from which on events within a second share an estimate, which looks at every task.
const manyTasks = 1000

// look updates the outlook.
func (o *outlook) look(s *scheduler.State, c *nextTask, at time.Time) {
	o.next, o.waiting = o.next[:0], 0
	if s.Ended != nil {
		*o = outlook{}
		return
	}
	t := s.Tally(0)
	o.waiting = s.Left(0) - t.Verified - t.Running
	for _, i := range c.open(s) {
		if len(o.next) == maxNext {
			break
		}
		if s.Tasks[i].Status == event.Pending && s.Selected(i) {
			o.next = append(o.next, textfmt.Fit(s.Plan.Tasks[i].ID, 60, true))
		}
	}
	if len(s.Tasks) < manyTasks || at.Sub(o.at) >= time.Second {
		o.left, o.known = s.TimeLeft(at)
		o.lists = slices.ContainsFunc(s.Plan.Groups, func(g plan.Group) bool { return !g.Known })
		o.at = at
	}
}

// nextLine returns "next: T-003, T-004, T-006 and 3 more"; "" if no task waits.
func (o *outlook) nextLine() string {
	if len(o.next) == 0 {
		return ""
	}
	return "next: " + textfmt.FirstOf(o.next, maxNext, max(0, o.waiting-len(o.next)))
}

// timeText returns the elapsed time, and how much may be left: "3m12s, about 4m left".
func (o *outlook) timeText(elapsed time.Duration, now time.Time) string {
	text := report.FormatDuration(elapsed)
	left := (o.left - max(now.Sub(o.at), 0)).Round(time.Second)
	if !o.known || left <= 0 {
		return text
	}
	if left >= 2*time.Minute {
		left = left.Round(time.Minute)
	}
	about := "about"
	if o.lists {
		about = "at least"
	}
	return fmt.Sprintf("%s, %s %s left", text, about, strings.TrimSuffix(report.FormatDuration(left), "00s"))
}
