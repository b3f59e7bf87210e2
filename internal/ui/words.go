package ui

import (
	"fmt"
	"strings"
	"time"

	"wavex/counsel"
	"wavex/internal/report"
	"wavex/internal/ui/safe"
	"wavex/runner"
	"wavex/scheduler"
)

// This file has the sentences that the line view and the terminal share. All foreign text passes
// through package safe.

// said bounds one foreign text inside a line.
const said = 200

func text(s string) string { return safe.Fit(s, said, true) }

// name returns a task in brackets: "[T-001 Add the parser]".
func name(s *scheduler.State, id string) string {
	return "[" + label(s, id) + "]"
}

func label(s *scheduler.State, id string) string {
	l := safe.Fit(id, 60, true)
	if i, ok := s.Index(id); ok {
		if sub := safe.Fit(s.Plan.Tasks[i].Title(), 80, true); sub != "" {
			l += " " + sub
		}
	}
	return l
}

// ids lists task ids, only the first ones of many.
func ids(list []string) string {
	const most = 12
	var b strings.Builder
	for i, id := range list {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(list)-most)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(safe.Fit(id, 60, true))
	}
	return b.String()
}

func starting(b scheduler.RunStarted, o Options) string {
	if f := b.From; f != nil {
		o.Shape, o.Workflow = fmt.Sprintf("%s (%d/10)", f.Shape, f.SpecScore), f.Workflow
	}
	return fmt.Sprintf("[LOOP] Starting | Shape: %s | Workflow: %s | Steps: %d | Budget: %s",
		or(text(o.Shape), "unscored"), or(text(o.Workflow), "unset"), b.Tasks, report.Budget(b.Config.Limits))
}

func or(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

// setting describes a session's settings in one line.
func setting(c scheduler.Config, plan, title string, tasks, waves int) string {
	l := fmt.Sprintf("run %s | plan %s", text(c.Run), or(text(plan), "-"))
	if title != "" {
		l += fmt.Sprintf(" (%s)", text(title))
	}
	return l + fmt.Sprintf(" | %s in %s | %d side by side | iterations %s | agent %s",
		report.Plural(tasks, "task", "tasks"),
		report.Plural(waves, "wave", "waves"), c.Parallel, most(c), or(text(c.Agent), "claude"))
}

func most(c scheduler.Config) string {
	if c.Limits.NoIterations {
		return "unlimited"
	}
	return fmt.Sprintf("up to %d", c.Limits.Iterations)
}

// rehearsed warns that the agent is a rehearsal; "" with a real agent.
func rehearsed(c scheduler.Config) string {
	if c.Agent != "rehearse" {
		return ""
	}
	return "rehearsal: no model is asked; costs and tokens are made up, edits and checks are real"
}

// resumed returns the lines of the announcement of a resumed run.
func resumed(s *scheduler.State, c *cursor) []string {
	return []string{
		"[LOOP RESUME] Active loop detected",
		"Stage: " + staged(s),
		fmt.Sprintf("Progress: %d/%d tasks | Wave: %d", s.Counts.Completed, len(s.Tasks), max(s.Wave, 1)),
		"Reviews: " + reviewed(s),
		"Next: " + c.next(s, time.Time{}),
	}
}

// edited describes the effect of a plan edit on the run; "" for no edit.
func edited(before string, e *scheduler.Edit) string {
	if e == nil {
		return ""
	}
	var l []string
	for _, part := range []struct {
		words string
		list  []string
	}{{"run again: ", e.Again}, {"changed before they were completed: ", e.Changed}, {"added: ", e.Added},
		{"dropped: ", e.Dropped}} {
		if len(part.list) > 0 {
			l = append(l, part.words+ids(part.list))
		}
	}
	return before + or(strings.Join(l, "; "), "no task is another one for it")
}

func iteration(s *scheduler.State, task string, n int) string {
	return fmt.Sprintf("[LOOP] Iteration %s | Cost: %s | Step: %s",
		report.Iterations(n, s.Ledger.Limits()), report.Paid(s.Ledger.Spent(), s.Ledger.Limits(), s.Notional), name(s, task))
}

func finished(s *scheduler.State, task string, c *cursor, at time.Time, o Options) string {
	mark := "✓"
	if o.ASCII {
		mark = "OK"
	}
	return fmt.Sprintf("[LOOP] %s %s complete | Progress: %d/%d | Next: [%s]", mark, name(s, task),
		s.Counts.Completed, len(s.Tasks), c.next(s, at))
}

// again describes the special circumstances of an attempt; "" for a first attempt.
func again(b scheduler.AttemptStarted) string {
	var why []string
	switch b.Why {
	case "retry":
		why = append(why, "retry")
	case "continue":
		why = append(why, "more money for the same work")
	case "again":
		why = append(why, "once more, the last end was not the task's fault")
	}
	if b.Advised {
		why = append(why, "with counsel's advice")
	}
	if b.Resume {
		why = append(why, "in the same session")
	}
	return strings.Join(why, ", ")
}

// end describes how an attempt ended, in figures and, if it went wrong, in words.
func end(b scheduler.AttemptEnded) string {
	r := b.Result
	l := fmt.Sprintf("%s | %s | %s", r.Outcome, report.Took(r.Duration), r.Cost.Spent())
	if n := r.Usage.Total(); n > 0 {
		l += " | " + report.Tokens(n) + " tokens"
	}
	if len(r.Checks) > 0 {
		l += fmt.Sprintf(" | checks %d/%d", passed(r), len(r.Checks))
	}
	for _, t := range r.Tampered {
		l += fmt.Sprintf(" | changed %s: %s", text(t.Path), text(t.Why))
	}
	if r.Outcome == runner.Done {
		if r.Vacuous {
			l += " | every check passed before any work: they prove nothing"
		}
		return l
	}
	if r.Reason != "" {
		l += " | " + text(r.Reason)
	}
	return l
}

func passed(r runner.Result) (n int) {
	for _, c := range r.Checks {
		if c.Passed {
			n++
		}
	}
	return n
}

// follows describes the next step after an attempt; "" if it is obvious.
func follows(b scheduler.AttemptEnded, s *scheduler.State) string {
	var l string
	switch {
	case b.Status == scheduler.Failed:
		l = "failed for good"
	case b.Stop != nil:
		// the stop says more
	case b.Status == scheduler.Advising:
		l = "counsel first, then " + retry(b, s)
	case b.Status == scheduler.Pending:
		l = "again"
		if b.Result.Outcome.Stuck() {
			l = retry(b, s)
		}
		if !b.NotBefore.IsZero() {
			l += " not before " + b.NotBefore.UTC().Format(time.RFC3339)
		}
	}
	if b.Note != "" {
		l = strings.TrimPrefix(l+": "+text(b.Note), ": ")
	}
	return l
}

func retry(b scheduler.AttemptEnded, s *scheduler.State) string {
	i, ok := s.Index(b.Task)
	if !ok {
		return "retry"
	}
	most := s.Config.MaxRetries
	if own := s.Plan.Settings(i).MaxRetries; own != nil && !s.Config.ForceRetries {
		most = *own
	}
	n := s.Tasks[i].Tries
	if s.Tasks[i].Attempts > b.Attempt {
		n-- // the retry has already started: events are shown in batches
	}
	l := fmt.Sprintf("retry %d of %d", n, most)
	if b.Continue {
		l += " in the same session"
	}
	return l
}

// advice describes a panel's verdict: the experts, the first line of their advice, and how far they
// agree. Further lines hold dissent.
func advice(v counsel.Verdict) []string {
	var asked, silent []string
	for _, o := range v.Opinions {
		if o.Unavailable != "" {
			silent = append(silent, text(o.Expert))
			continue
		}
		asked = append(asked, text(o.Expert))
	}
	l := "asked " + or(strings.Join(asked, ", "), "nobody")
	if len(silent) > 0 {
		l += " (no answer: " + strings.Join(silent, ", ") + ")"
	}
	l += " | " + v.Cost.Spent()
	if v.Unavailable != "" {
		return []string{l + " | unavailable: " + text(v.Unavailable) + "; the retry goes on with the error alone"}
	}
	l += fmt.Sprintf(" | agreement %.0f%%", 100*v.Agreement)
	if v.Tradeoff {
		l += ", a genuine tradeoff"
	}
	advice := safe.First(v.Fix)
	if advice == "" {
		advice = safe.First(v.Analysis)
	}
	lines := []string{l + fmt.Sprintf(" | %s: %s", or(text(string(v.Action)), "retry"), or(text(advice), "no words"))}
	for _, d := range v.Dissent {
		lines = append(lines, "dissent: "+text(safe.First(d)))
	}
	return lines
}

// stopping describes a decision to start nothing more.
func stopping(st scheduler.Stop, s *scheduler.State) []string {
	l := "stopping: " + or(text(st.Reason), st.Status)
	switch {
	case st.Breaker != "":
		l += fmt.Sprintf(" (breaker %s)", text(st.Breaker))
	case st.Limit != "":
		l += fmt.Sprintf(" (limit %s)", text(st.Limit))
	}
	if n := s.Running(); n > 0 {
		l += fmt.Sprintf("; %d still running, nothing more starts", n)
	}
	lines := []string{l}
	if st.Advice != "" && st.Limit == "" { // at a limit the advice is a flag of the command shown at the end
		lines = append(lines, "what to do: "+safe.Line(st.Advice))
	}
	if !st.ResumeAt.IsZero() {
		lines = append(lines, "resume at "+st.ResumeAt.UTC().Format(time.RFC3339))
	}
	return lines
}
