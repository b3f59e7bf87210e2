package ui

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/runner"
	"wavex/scheduler"
)

// This file has the sentences that the line view and the terminal share. All foreign text passes
// through package textfmt.

// maxTextColumns bounds one foreign text inside a line.
const maxTextColumns = 200

func fitText(s string) string { return textfmt.Fit(s, maxTextColumns, true) }

// bracketedTask returns a task in brackets: "[T-001 Add the parser]".
func bracketedTask(s *scheduler.State, id string) string {
	return "[" + taskLabel(s, id) + "]"
}

func taskLabel(s *scheduler.State, id string) string {
	title := ""
	if i, ok := s.Index(id); ok {
		title = s.Plan.Tasks[i].Title()
	}
	return taskName(id, title)
}

// taskName returns the id and the title of a task, cut.
func taskName(id, title string) string {
	return strings.TrimSpace(textfmt.Fit(id, 60, true) + " " + textfmt.Fit(title, 80, true))
}

// idList lists task ids, only the first ones of many.
func idList(list []string) string {
	const most = 12
	var shown []string
	for _, id := range list[:min(len(list), most)] {
		shown = append(shown, textfmt.Fit(id, 60, true))
	}
	return textfmt.FirstOf(shown, most, len(list)-len(shown))
}

func startText(b *event.Beginning) string {
	shape, workflow := "unscored", ""
	if f := b.Origin; f != nil {
		shape, workflow = fmt.Sprintf("%s (%d/10)", f.Shape, f.SpecScore), f.Workflow
	}
	return fmt.Sprintf("[LOOP] Starting | Shape: %s | Workflow: %s | Steps: %d | Budget: %s", fitText(shape),
		cmp.Or(fitText(workflow), "unset"), b.Tasks, report.FormatBudget(b.Config.Limits))
}

// sessionText describes a session's settings in one line.
func sessionText(c event.Config, plan, title string, tasks, waves int) string {
	l := fmt.Sprintf("run %s | plan %s", fitText(c.Run), cmp.Or(fitText(plan), "-"))
	if title != "" {
		l += fmt.Sprintf(" (%s)", fitText(title))
	}
	return l + fmt.Sprintf(" | %s in %s | %d side by side | iterations %s | agent %s",
		report.Plural(tasks, "task", "tasks"),
		report.Plural(waves, "wave", "waves"), c.Parallel, iterationLimitText(c), cmp.Or(fitText(c.Agent), "claude"))
}

// unknownListsText names the lists whose tasks are in no count yet; "" if there are none.
func unknownListsText(s *scheduler.State) string {
	var lists []string
	for _, g := range s.Plan.Groups {
		if !g.Known {
			lists = append(lists, fmt.Sprintf("%s (at most %s)", fitText(g.ID), report.Plural(g.MaxItems, "item", "items")))
		}
	}
	if lists == nil {
		return ""
	}
	return "lists that are not known yet: " + textfmt.FirstOf(lists, 6, 0)
}

func iterationLimitText(c event.Config) string {
	if c.Limits.NoIterations {
		return "unlimited"
	}
	return fmt.Sprintf("up to %d", c.Limits.Iterations)
}

// rehearsalWarning warns that the agent is a rehearsal; "" with a real agent.
func rehearsalWarning(c event.Config) string {
	if c.Agent != event.Rehearsal {
		return ""
	}
	return "rehearsal: no model is asked; costs and tokens are made up, edits and checks are real"
}

// resumeLines returns the lines of the announcement of a resumed run.
func resumeLines(s *scheduler.State, c *nextTask) []string {
	return []string{
		"[LOOP RESUME] Active loop detected",
		"Stage: " + stageText(s),
		fmt.Sprintf("Progress: %d/%d tasks | Wave: %d", s.Counts.Completed, len(s.Tasks), s.CurrentWave()),
		"Reviews: " + reviewsText(s),
		"Next: " + c.next(s, time.Time{}),
	}
}

// planEditText describes the effect of a plan edit on the run; "" for no edit.
func planEditText(before string, e *event.Edit) string {
	if e == nil {
		return ""
	}
	var l []string
	for _, part := range []struct {
		words string
		list  []string
	}{{"run again: ", e.Rerun}, {"changed before they were completed: ", e.Changed}, {"added: ", e.Added},
		{"dropped: ", e.Dropped}} {
		if len(part.list) > 0 {
			l = append(l, part.words+idList(part.list))
		}
	}
	return before + cmp.Or(strings.Join(l, "; "), "no task is another one for it")
}

func iterationText(s *scheduler.State, task string, n int) string {
	return fmt.Sprintf("[LOOP] Iteration %s | Cost: %s | Step: %s",
		report.FormatIterations(n, s.Ledger.Limits()), report.FormatNotional(s.Ledger.Spent(), s.Ledger.Limits(), s.Notional),
		bracketedTask(s, task))
}

// attemptKindText describes the special circumstances of an attempt; "" for a first attempt.
func attemptKindText(b event.AttemptStarted) string {
	var why []string
	switch b.Why {
	case "retry":
		why = append(why, "retry")
	case "continue":
		why = append(why, "more money for the same work")
	case "again":
		why = append(why, "once more")
	case event.WhyChecks:
		why = append(why, "checks the work of the last attempt, whose turn had ended")
	}
	if b.Advised {
		why = append(why, "with counsel's advice")
	}
	if b.Resume {
		why = append(why, "in the same session")
	}
	return strings.Join(why, ", ")
}

// attemptEndedText describes how an attempt ended, in figures and, if it went wrong, in words.
func attemptEndedText(b event.AttemptEnded) string {
	r := b.Result
	l := fmt.Sprintf("%s | %s | %s", r.Outcome, report.FormatDuration(r.Duration), r.Cost.Spent())
	if r.Worker != "" {
		l += " | on " + fitText(r.Worker)
	}
	if n := r.Usage.Total(); n > 0 {
		l += " | " + report.FormatTokens(n) + " tokens"
	}
	if len(r.Checks) > 0 {
		l += fmt.Sprintf(" | checks %d/%d", passedChecks(r), len(r.Checks))
	}
	for _, t := range r.Tampered {
		l += " | changed " + fitText(t.String())
	}
	if r.Outcome == runner.Done {
		if r.Vacuous {
			l += " | every check passed before any work: they prove nothing"
		}
		return l
	}
	if r.Reason != "" {
		l += " | " + fitText(r.Reason)
	}
	return l
}

func passedChecks(r runner.Result) (n int) {
	for _, c := range r.Checks {
		if c.Passed {
			n++
		}
	}
	return n
}

// followingText describes the next step after an attempt; "" if it is obvious.
func followingText(b event.AttemptEnded, s *scheduler.State) string {
	retry, again := retryText(b, s), "again"
	if b.Result.Outcome.Stuck() {
		again = retry
	}
	return nextStepText(b, "", "counsel first, then "+retry, again) // a stop has lines of its own
}

// nextStepText describes the next step after an attempt with the words for a run that stops, for a panel
// and for another attempt.
func nextStepText(b event.AttemptEnded, stopping, counsel, again string) (l string) {
	switch {
	case b.TaskStop != nil:
		l = fmt.Sprintf("stopped (breaker %s)", fitText(string(b.TaskStop.Breaker)))
	case b.Status == event.Failed:
		l = "failed for good"
	case b.Stop != nil:
		l = stopping
	case b.Status == event.Advising:
		l = counsel
	case b.Status == event.Pending:
		l = again
		if !b.NotBefore.IsZero() {
			l += " not before " + b.NotBefore.UTC().Format(time.RFC3339)
		}
	}
	if b.Note != "" {
		l = strings.TrimPrefix(l+": "+fitText(b.Note), ": ")
	}
	return l
}

func retryText(b event.AttemptEnded, s *scheduler.State) string {
	i, ok := s.Index(b.Task)
	if !ok {
		return "retry"
	}
	n := s.Tasks[i].Tries
	if s.Tasks[i].Attempts > b.Attempt {
		n-- // the retry has already started: events are shown in batches
	}
	l := fmt.Sprintf("retry %d of %d", n, s.Retries(i))
	if b.Continue {
		l += " in the same session"
	}
	return l
}

// adviceLines describes a panel's verdict: the experts, the first line of their advice, and how far they
// agree. Further lines hold dissent, or the stop that follows.
func adviceLines(b event.CounselEnded, s *scheduler.State) []string {
	v := b.Verdict
	var asked, silent []string
	for _, o := range v.Opinions {
		if o.Unavailable != "" {
			silent = append(silent, fitText(o.Expert))
			continue
		}
		asked = append(asked, fitText(o.Expert))
	}
	l := "asked " + cmp.Or(strings.Join(asked, ", "), "nobody")
	if len(silent) > 0 {
		l += " (no answer: " + strings.Join(silent, ", ") + ")"
	}
	l += " | " + v.Cost.Spent()
	if v.Unavailable != "" {
		follows := "the retry goes on with the error alone"
		if b.Again {
			follows = "the panel is asked again"
		}
		lines := []string{l + " | unavailable: " + fitText(v.Unavailable) + "; " + follows}
		if b.Stop != nil {
			lines = append(lines, stopLines(*b.Stop, s)...)
		}
		return lines
	}
	l += fmt.Sprintf(" | agreement %.0f%%", 100*v.Agreement)
	if v.Tradeoff {
		l += ", a genuine tradeoff"
	}
	advice := cmp.Or(textfmt.FirstLine(v.Fix), textfmt.FirstLine(v.Analysis))
	lines := []string{l + fmt.Sprintf(" | %s: %s", cmp.Or(fitText(string(v.Action)), "retry"),
		cmp.Or(fitText(advice), "no words"))}
	for _, d := range v.Dissent {
		lines = append(lines, "dissent: "+fitText(textfmt.FirstLine(d)))
	}
	return lines
}

// stopLines describes a decision to start nothing more.
func stopLines(st event.Stop, s *scheduler.State) []string {
	l := "stopping: " + cmp.Or(fitText(st.Reason), string(st.Status))
	switch {
	case st.Breaker != "":
		l += fmt.Sprintf(" (breaker %s)", fitText(string(st.Breaker)))
	case st.Limit != "":
		l += fmt.Sprintf(" (limit %s)", fitText(st.Limit))
	}
	if n := s.Running(); n > 0 {
		l += fmt.Sprintf("; %d still running, nothing more starts", n)
	}
	lines := []string{l}
	if st.Advice != "" && st.Limit == "" { // at a limit the advice is a flag of the command shown at the end
		lines = append(lines, "what to do: "+textfmt.Line(st.Advice))
	}
	if !st.ResumeAt.IsZero() {
		lines = append(lines, "resume at "+st.ResumeAt.UTC().Format(time.RFC3339))
	}
	return lines
}
