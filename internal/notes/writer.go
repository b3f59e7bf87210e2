package notes

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"wavex/internal/async"
	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/runner"
	"wavex/scheduler"
)

// maxColumns is the maximum width of one text of an entry, in columns.
const maxColumns = 400

// Writer writes the unplanned events of a run into its context file. Panels' advice and failed tasks
// are deviations; stops and resumes by people are interventions. Event must be called from the
// scheduler's goroutine, and does not wait for the disk.
type Writer struct {
	redact      func([]byte) []byte
	lastFailure map[string]string // the last failure, by task

	queue *async.Queue[Entry]
	err   error // of the queue's goroutine
}

// NewWriter returns a Writer into a tracking directory; clean removes secrets.
func NewWriter(dir string, clean func([]byte) []byte) *Writer {
	d := &Writer{redact: clean, lastFailure: map[string]string{}}
	d.queue = async.NewQueue(func(list []Entry) { d.err = errors.Join(d.err, AppendEntries(dir, list)) })
	return d
}

// Close writes the remaining entries, ends the goroutine and returns the errors of writing.
func (d *Writer) Close() error {
	d.queue.Close()
	return d.err
}

// Event notes an event (scheduler.View).
func (d *Writer) Event(e event.Event, s *scheduler.State) {
	if one, ok := d.entry(e, s); ok {
		d.queue.Put(one)
	}
}

// WriteEvent writes an event that joined a run between its sessions into its tracking directory; clean
// removes secrets.
func WriteEvent(dir string, clean func([]byte) []byte, e event.Event, s *scheduler.State) error {
	d := &Writer{redact: clean, lastFailure: map[string]string{}}
	if one, ok := d.entry(e, s); ok {
		return AppendEntries(dir, []Entry{one})
	}
	return nil
}

// entry returns the entry for an event; most events have none.
func (d *Writer) entry(e event.Event, s *scheduler.State) (Entry, bool) {
	section, lines := d.eventLines(e, s)
	if len(lines) == 0 {
		return Entry{}, false
	}
	for i, l := range lines {
		// Otherwise a comment in an agent's text could pass for one of wavex's own.
		l = strings.ReplaceAll(textfmt.Fit(l, maxColumns, false), "<!--", "<! --")
		if d.redact != nil {
			l = string(d.redact([]byte(l)))
		}
		lines[i] = l
	}
	return Entry{section, lines, fmt.Sprintf("%s/%d", s.Config.Run, e.Seq)}, true
}

// eventLines returns the lines for an event, none for most.
func (d *Writer) eventLines(e event.Event, s *scheduler.State) (Section, []string) {
	at := e.Time.UTC().Format("2006-01-02 15:04Z")
	switch b := e.Body.(type) {
	case event.AttemptEnded:
		if b.Result.Outcome.Stuck() {
			d.lastFailure[b.Task] = fmt.Sprintf("%s (%s, attempt %d)", b.Result.Reason, b.Result.Outcome, b.Attempt)
		}
		if b.Status == event.Failed {
			lost := ""
			if n := len(b.Blocked); n > 0 {
				lost = fmt.Sprintf("; %s cannot start", report.Plural(n, "task", "tasks"))
			}
			return Deviations, d.deviation(s, b.Task, "given up"+lost)
		}
		if b.Result.Outcome == runner.Done {
			delete(d.lastFailure, b.Task)
		}
	case event.CounselEnded:
		if b.Verdict.Unavailable == "" && b.Verdict.Fix != "" {
			return Deviations, d.deviation(s, b.Task, "by counsel: "+b.Verdict.Fix)
		}
	case event.TasksAdded:
		return Deviations, []string{fmt.Sprintf("Found: %s needed more work than planned", at),
			fmt.Sprintf("Adjustment: %s added to the plan", report.Plural(len(b.Tasks), "task", "tasks"))}
	case event.Draining:
		if b.Stop.Status == event.RunInterrupted {
			return Interventions, []string{at + ": " + b.Stop.Reason}
		}
	case event.RunResumed:
		return Interventions, []string{fmt.Sprintf("%s: resumed with %s, budget %s", at, report.Plural(b.Tasks, "task",
			"tasks"), report.FormatBudget(b.Config.Limits))}
	case event.Answered:
		return Interventions, answerLines(at, b)
	case event.ReviewEnded:
		return Interventions, judgedLines(at, b)
	case event.RolledBack:
		return Interventions, []string{fmt.Sprintf("%s: %s rolled back with wavex rollback: %s, %s pending again", at, b.What,
			report.Plural(b.Paths, "path", "paths"), event.ListTasks(b.Tasks, 0))}
	case event.RunEnded:
		if b.Status == event.RunCancelled {
			return Interventions, []string{at + ": cancelled with wavex cancel"}
		}
		if b.Status == event.RunComplete && b.Tasks.Completed == b.Iterations {
			return Deviations, []string{at + ": run " + s.Config.Run + " is complete, no deviation"}
		}
	}
	return "", nil
}

// answerLines returns the line for the answer of a person, none if no person was asked.
func answerLines(at string, b event.Answered) []string {
	answer := "no"
	if b.Yes {
		answer = "yes"
	}
	about := b.Task
	if about == "" && b.Wave > 0 {
		about = fmt.Sprintf("wave %d", b.Wave)
	}
	if b.Stop != nil && !b.Yes && strings.HasPrefix(b.Stop.Reason, "nobody") {
		return nil
	}
	return []string{strings.TrimSpace(fmt.Sprintf("%s: a person said %s at %s %s", at, answer, b.Gate, about))}
}

// judgedLines returns the lines for the findings of a review that a person judged, none without one.
func judgedLines(at string, b event.ReviewEnded) []string {
	lines := []string{fmt.Sprintf("%s: a person judged findings of review %d", at, b.N)}
	for _, f := range b.Review.Findings {
		if f.Resolution != "" {
			lines = append(lines, fmt.Sprintf("%s %s: %s%s", f.Resolution, f.ID, f.Location(), f.Text))
		}
	}
	if len(lines) == 1 {
		return nil
	}
	return lines
}

// deviation returns the lines of a deviation: the task, the failure, and the adjustment.
func (d *Writer) deviation(s *scheduler.State, task, adjustment string) []string {
	before := task
	if i, ok := s.Index(task); ok && s.Plan.Tasks[i].Subject != "" {
		before += " " + s.Plan.Tasks[i].Subject
	}
	found := cmp.Or(d.lastFailure[task], "it did not pass its checks")
	return []string{"Before: " + before, "Found: " + found, "Adjustment: " + adjustment}
}
