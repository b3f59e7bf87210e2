package cmd

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"wavex/internal/loop"
	"wavex/internal/question"
	"wavex/internal/report/page"
	"wavex/internal/textfmt"
)

// This file connects the live page with the run: its questions, the ends of its logs, and its stops.

// pageControl carries out the requests of the person at the page.
type pageControl struct {
	loop loop.Dir
	dir  atomic.Pointer[question.Dir] // of the shown run
}

// Stop asks the wavex at work to drain, or to interrupt its attempts.
func (c *pageControl) Stop(interrupt bool) string { return askOwner(c.loop, interrupt) }

// Answer answers a question of the shown run. The first answer counts.
func (c *pageControl) Answer(id, choice string) (words string, late bool) {
	dir := *c.dir.Load()
	err := dir.Answer(id, question.Answer{Choice: question.Choice(choice), By: "page"}, time.Now())
	switch a, answered := dir.Answered(id); {
	case err == nil:
		return id + " is answered: " + choice, false
	case errors.Is(err, question.ErrClosed) && answered:
		return fmt.Sprintf("%s had an answer already: %s, by %s", textfmt.Line(id), a.Choice, textfmt.Line(a.By)), true
	}
	return textfmt.Line(err.Error()), true
}

// Attend says that a person is there to answer.
func (c *pageControl) Attend() (release func()) {
	release, err := c.dir.Load().Watch()
	if err != nil {
		return func() {} // then calls are denied as without a person
	}
	return release
}

// pageLogLines is the number of lines of a running attempt's log on the page.
const pageLogLines = 12

// addLive adds the ends of the logs of running attempts, and the open questions.
func (f follower) addLive(r *page.Run) {
	files := f.Files()
	for i := range r.Tasks {
		if n := r.Tasks[i].Now; n != nil && !n.Counsel {
			lines := logTail(files, f.State.Plan.Tasks[i].ID, n.Number, pageLogLines)
			n.Log = strings.Join(lines, "\n")
		}
	}
	if f.control == nil {
		return
	}
	dir := f.questions()
	f.control.dir.Store(&dir)
	for _, q := range openQuestions(dir) {
		r.Questions = append(r.Questions, page.Question{ID: q.ID, Task: textfmt.Line(q.Task), Tool: textfmt.Line(q.Tool),
			Target: textfmt.Block(q.Target), Pattern: textfmt.Line(q.Pattern), Until: q.Deadline.UnixMilli()})
	}
}

// questionIDs returns the ids of the open questions, to see whether they have changed.
func (f follower) questionIDs() string {
	if f.control == nil || f.State == nil {
		return ""
	}
	var ids []string
	for _, q := range openQuestions(f.questions()) {
		ids = append(ids, q.ID)
	}
	return strings.Join(ids, " ")
}
