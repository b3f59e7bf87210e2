package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/textfmt"
)

// This file has the lines with which a session ends: the result, failures with the end of their output, money and time
// by purpose and by task, where the work is, and what to do next. Below a table they are its totals.

// Bounds of the lines: failed tasks with output, failed tasks by name, tasks with money and time, a
// subject, and broken checks that are named.
const (
	maxFailures    = 2
	maxFailedNames = 6
	maxCostly      = 4
	maxSubject     = 60 // columns
	maxRegressions = 10
)

// Ending returns the lines with which a session ends.
func (r *Summary) Ending() string { return strings.Join(r.endLines(false), "\n") + "\n" }

// endLines returns the lines; those of the whole report have one more about advice.
func (r *Summary) endLines(whole bool) []string {
	l := []string{r.resultLine()}
	for _, g := range r.Groups {
		l = append(l, "Group "+g.String())
	}
	l = append(l, r.failureLines()...)
	if r.Reason != "" {
		l = append(l, "Stopped: "+textfmt.Line(r.Reason))
	}
	l = append(l, r.moneyLine())
	if e := r.effortLine(); e != "" {
		l = append(l, e)
	}
	if x := &r.totals; whole && x.followed > 0 {
		l = append(l, fmt.Sprintf("Advice followed, then passed: %d of %d", x.helped, x.followed))
	}
	switch s := r.Sandbox; {
	case s.Wall && s.Mode == event.SandboxStrict:
		l = append(l, "Wall: strict, tasks write nothing but their tree and caches; only agents have a network")
	case s.Wall:
		l = append(l, "Wall: up, agents cannot write protected paths")
	case s.Reason != "":
		l = append(l, "Wall: none, "+textfmt.Line(s.Reason))
	}
	l = append(append(l, r.policyLines()...), r.regressionLines()...)
	l = append(l, r.reviewLines()...)
	if n, open := openBlockers(&r.Assessment); n > 0 {
		l = append(l, "Open blockers: "+open)
	}
	l = append(l, r.evidenceLines()...)
	if w := r.workLine(); w != "" {
		l = append(l, w)
	}
	return append(l, r.nextLines()...)
}

func (r *Summary) resultLine() string {
	l := fmt.Sprintf("%s: %s, %d failed, %d blocked, %d pending", r.Status, r.Done(), r.Counts.Failed,
		r.Counts.Blocked, r.Counts.Pending-r.totals.verified)
	if n := r.totals.upToDate; n > 0 {
		l += fmt.Sprintf("; %d up to date", n)
	}
	if r.Status == event.RunFailed && r.Gate != nil && !r.Gate.Passed {
		l += "; refused by the gate"
	}
	return l
}

// Done says how many tasks are completed, and how many are verified and not completed yet.
func (r *Summary) Done() string {
	l := fmt.Sprintf("%d of %s completed", r.Counts.Completed, Plural(len(r.Tasks), "task", "tasks"))
	if n := r.totals.verified; n > 0 {
		l += fmt.Sprintf(", %d verified", n)
	}
	return l
}

// failureLines returns the failed tasks, the first ones with the end of their output.
func (r *Summary) failureLines() (lines []string) {
	var others []string
	shown := 0
	for i := range r.Tasks {
		t := &r.Tasks[i]
		id := textfmt.Line(t.ID)
		switch shown++; {
		case !t.isFailing():
			shown--
		case shown > maxFailures:
			others = append(others, id)
		default:
			lines = append(lines, t.failureLines()...)
		}
	}
	if len(others) > 0 {
		lines = append(lines, "Failed as well: "+textfmt.FirstOf(others, maxFailedNames, r.totals.failing-shown))
	}
	return lines
}

// failureLines returns the reason of a failure, the last lines of the output, and the command that shows more.
func (t *Task) failureLines() []string {
	reason, output := t.Failure()
	id := textfmt.Line(t.ID)
	l := []string{fmt.Sprintf("%s %s, %s | %s | %s", id, t.StatusText(), Plural(t.Attempts, "attempt", "attempts"),
		textfmt.Fit(t.Subject, maxSubject, true), textfmt.Line(reason))}
	return append(l, OutputLines(t.ID, output)...)
}

// moneyLine returns the money by purpose, and the other figures of the run.
func (r *Summary) moneyLine() string {
	l := "Cost: " + FormatNotional(r.Cost, r.Limits, r.Notional)
	var parts []string
	for k, cost := range costsOf(r.Efforts) {
		if cost > 0 {
			parts = append(parts, string(purposes[k])+" "+cost.Spent())
		}
	}
	if len(parts) > 1 {
		l += " (" + strings.Join(parts, "; ") + ")"
	}
	if w := r.Window; w != nil {
		l += fmt.Sprintf(" | Usage limit: %.0f %% of %s", 100*w.Used, textfmt.Line(w.Name))
	}
	l += " | Iterations: " + FormatIterations(r.Iterations, r.Limits) + " | Tokens: " + FormatTokens(r.Usage.Total())
	if !r.Started.IsZero() {
		l += " | Time: " + FormatDuration(r.WorkTime)
	}
	return l
}

// effortLine returns the time by purpose, and the tasks that took most; "" if nothing was done.
func (r *Summary) effortLine() string {
	e := &r.Efforts
	var parts []string
	for _, p := range []struct {
		name string
		time time.Duration
	}{{string(Work), e.Work.Time}, {"checks", e.Checks.Time}, {string(Counsel), e.Counsel.Time},
		{string(Reviews), e.Review.Time}} {
		if text := FormatDuration(p.time); text != FormatDuration(0) {
			parts = append(parts, p.name+" "+text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	var worked []*Task
	for i := range r.Tasks {
		if r.Tasks[i].Attempts > 0 {
			worked = append(worked, &r.Tasks[i])
		}
	}
	slices.SortStableFunc(worked, func(a, b *Task) int {
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Duration, a.Duration))
	})
	var tasks []string
	for _, t := range worked[:min(len(worked), maxCostly)] {
		tasks = append(tasks, fmt.Sprintf("%s %s %s", textfmt.Line(t.ID), t.Cost.Spent(), FormatDuration(t.Duration)))
	}
	return "Time by purpose: " + strings.Join(parts, "; ") + " | by task: " +
		textfmt.FirstOf(tasks, maxCostly, len(worked)-len(tasks))
}

// regressionLines returns the checks that passed and fail now.
func (r *Summary) regressionLines() (l []string) {
	for i, g := range r.Regressions {
		if i == maxRegressions {
			return append(l, fmt.Sprintf("Broken: %d more checks passed and fail now", len(r.Regressions)-i))
		}
		l = append(l, "Broken: "+textfmt.Line(g.String()))
	}
	return l
}

// workLine says where the work of a run is that has ended; "" if it did none.
func (r *Summary) workLine() string {
	w := &r.Place
	d := w.Delivery
	switch {
	case r.Status == event.RunRunning || r.Status == event.RunCutOff || r.Counts.Completed == r.totals.upToDate:
		return ""
	case w.MadeUp:
		return "Work: made up by the rehearsal, and not kept"
	case w.Isolation != event.Isolated && w.Dir == "":
		return ""
	case w.Isolation != event.Isolated:
		return "Work: in " + textfmt.Line(w.Dir)
	case d == nil || d.How == "none":
		return "Work: not delivered; bring it to your branch with: wavex deliver"
	}
	l := "Work: " + textfmt.Line(d.How) + " " + textfmt.Line(d.Ref)
	if d.Why != "" {
		l += " (" + textfmt.Line(d.Why) + ")"
	}
	if d.Command != "" {
		l += "; take it over with: " + textfmt.Line(d.Command)
	}
	return l
}

// nextLines says what to do next.
func (r *Summary) nextLines() (l []string) {
	if !r.ResumeAt.IsZero() {
		l = append(l, "Resume at: "+r.ResumeAt.UTC().Format("2006-01-02T15:04:05Z"))
	}
	if r.Advice != "" && r.Limit == "" { // at a limit it is a flag, and part of Resume
		l = append(l, "What to do: "+textfmt.Line(r.Advice))
	}
	if r.Resume != "" && len(r.totals.retry) > 0 {
		l = append(l, "To try failed tasks again, edit them or run: "+r.retryCommand())
	}
	if next := r.Next(); r.Resume != "" {
		l = append(l, "Continue with: "+textfmt.Line(r.Resume))
	} else if next != "" {
		l = append(l, next)
	}
	return l
}

// retryCommand returns the command that tries failed tasks again, at most as many as are named.
func (r *Summary) retryCommand() string {
	var ids []string
	for _, id := range r.totals.retry[:min(len(r.totals.retry), maxFailedNames)] {
		ids = append(ids, plan.ShellQuote(textfmt.Line(id)))
	}
	l := event.RetryCommand(strings.Join(ids, " "))
	if more := len(r.totals.retry) - len(ids); more > 0 {
		l += fmt.Sprintf(" (and %d more)", more)
	}
	return l
}

// Next returns the line that says what to do after a complete run, or "" for another run.
func (r *Summary) Next() string {
	switch {
	case r.Status != event.RunComplete || r.Plan == "":
		return ""
	case r.Agent == event.Rehearsal && r.Request != "":
		return "Next, with Claude Code: wavex start " + plan.ShellQuote(textfmt.Line(r.Request))
	case r.Agent == event.Rehearsal:
		return "Next, with Claude Code: wavex run " + plan.ShellQuote(r.Plan)
	}
	return "Next: wavex report " + plan.ShellQuote(r.Plan)
}

// policyLines returns a line with the number of tool calls that the policy did not let run.
func (r *Summary) policyLines() []string {
	if r.totals.refused == 0 {
		return nil
	}
	return []string{"Policy: " + Plural(r.totals.refused, "tool call", "tool calls") + " denied"}
}
