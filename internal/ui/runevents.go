package ui

import (
	"fmt"
	"strings"
	"time"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/scheduler"
)

// This file writes the sentences about criteria, reviews and the gate. The words of experts and
// judges are foreign text, like everything from an agent.

// teller tells events to people. The zero value is that of the terminal, whose question must be set.
type teller struct {
	opts     Options
	plain    bool         // of the line view
	question func(string) // shows a question until the next call; "": none
	next     nextTask
}

// put shows lines with one mark. The terminal cuts lines that are too long for it, unless wrap is set.
type put func(m mark, wrap bool, lines ...string)

// tell shows the lines of an event, except for those after the end of a run. Empty lines are left out.
func (t *teller) tell(e event.Event, s *scheduler.State, show put) {
	line := func(lines ...string) {
		if t.plain {
			show(markNone, true, lines...)
		}
	}
	switch b := e.Body.(type) {
	case event.RunStarted, event.RunResumed:
		t.tellBeginning(e.Beginning(), s, show)
	case event.WaveStarted:
		line(fmt.Sprintf("wave %d/%d: %s: %s", b.Wave, b.Of, report.Plural(len(b.Tasks), "task", "tasks"), idList(b.Tasks)))
	case event.AttemptStarted:
		if b.Why != event.WhyChecks {
			line(iterationText(s, b.Task, b.Iteration))
		}
		if why := attemptKindText(b); why != "" {
			line(fmt.Sprintf("%s attempt %d: %s", fitText(b.Task), b.Attempt, why))
		}
	case event.AttemptAdopted:
		line(fmt.Sprintf("%s attempt %d: it ran on meanwhile, and the run waits for its end", fitText(b.Task), b.Attempt))
	case event.AttemptEnded:
		t.tellAttempt(e.Time, b, s, show)
	case event.CounselStarted:
		line(fmt.Sprintf("%s counsel %d: convened after attempt %d%s", fitText(b.Task), b.Panel, b.Attempt,
			map[bool]string{true: ", a thorough one"}[b.Thorough]))
	case event.CounselEnded:
		for _, l := range adviceLines(b, s) {
			show(markPanel, true, t.about(s, b.Task, fmt.Sprintf(" counsel %d: ", b.Panel))+l)
		}
	case event.CounselSkipped:
		show(markPanel, false, t.about(s, b.Task, ": ")+"retry without counsel: "+fitText(b.Reason))
	case event.IntegrationStarted:
		if s.Config.Isolation == event.Isolated {
			line(fmt.Sprintf("integrating wave %d: %s", b.Wave, idList(b.Tasks)))
		} else {
			line("checking together: " + idList(b.Tasks))
		}
	case event.IntegrationEnded:
		t.tellCompleted(e.Time, b.Completed, s, show)
		lines, m := integrationEndedLines(b, s, t.plain)
		show(m, true, lines...)
	case event.CriteriaStarted: // the terminal shows its end
		line(criteriaStartedLines(b, s)...)
	case event.Asked:
		t.question(Prompt(fitText(b.Text)))
	case event.Answered:
		t.question("")
	case event.RunEnded:
		t.question("")
		line(endText(b, s))
	case event.Draining:
		t.question("")
		show(markWarn, true, stopLines(b.Stop, s)...)
	default:
		lines, m := runEventLines(b, s)
		show(m, true, lines...)
	}
}

func endText(b event.RunEnded, s *scheduler.State) string {
	return fmt.Sprintf("[LOOP] Ended | Status: %s | Exit code: %d | Progress: %d/%d | Cost: %s", b.Status, b.ExitCode,
		s.Counts.Completed, len(s.Tasks), report.FormatNotional(s.Ledger.Spent(), s.Ledger.Limits(), s.Notional))
}

// about returns the beginning of a line about a task: with its id and sep, or its name for the terminal.
func (t *teller) about(s *scheduler.State, task, sep string) string {
	if t.plain {
		return fitText(task) + sep
	}
	return taskLabel(s, task) + "  "
}

func (t *teller) tellBeginning(b *event.Beginning, s *scheduler.State, show put) {
	lines := []string{startText(b)}
	if b.Resumed {
		lines = resumeLines(s, &t.next)
	}
	show(markNone, true, append(lines, sessionText(b.Config, b.Plan, b.Name, b.Tasks, b.Waves), unknownListsText(s))...)
	show(markRetry, true, planEditText("plan edited: ", b.Edit))
	show(markWarn, true, rehearsalWarning(b.Config))
}

func (t *teller) tellAttempt(at time.Time, b event.AttemptEnded, s *scheduler.State, show put) {
	blocked := "blocked by " + fitText(b.Task) + ": "
	following := followingText(b, s)
	if b.Status == event.Completed {
		t.tellCompleted(at, []string{b.Task}, s, show)
	}
	switch {
	case t.plain:
		show(markNone, true, fmt.Sprintf("%s attempt %d: %s", fitText(b.Task), b.Attempt, attemptEndedText(b)))
		if blocked = fitText(b.Task) + ": blocked by its failure: "; following != "" {
			show(markNone, true, fitText(b.Task)+": "+following)
		}
	case b.Status == event.Completed:
	case b.Status == event.Verified:
		show(markNone, false, taskFigures(s, b.Task)+"  passed, to be checked with the others")
	case b.Status == event.Failed:
		show(markBad, true, taskLabel(s, b.Task)+"  "+attemptEndedText(b))
		show(markNone, true, report.OutputLines(b.Task, report.FailedOutput(b.Result.Checks, b.Result.Detail))...)
	default:
		show(markRetry, true, taskLabel(s, b.Task)+"  "+attemptEndedText(b))
	}
	if !t.plain && following != "" && b.Status != event.Completed {
		show(markNone, true, "  "+following)
	}
	if len(b.Blocked) > 0 {
		show(markBad, true, blocked+idList(b.Blocked))
	}
	if b.Stop != nil {
		show(markWarn, true, stopLines(*b.Stop, s)...)
	}
}

// tellCompleted shows tasks that were completed together.
func (t *teller) tellCompleted(at time.Time, tasks []string, s *scheduler.State, show put) {
	sign, next, lines := "✓", "", []string(nil)
	if t.opts.ASCII {
		sign = "OK"
	}
	if t.plain && len(tasks) > 0 {
		next = t.next.next(s, at)
	}
	for n, id := range tasks {
		if lines = append(lines, taskFigures(s, id)); t.plain {
			lines[n] = fmt.Sprintf("[LOOP] %s %s complete | Progress: %d/%d | Next: [%s]", sign, bracketedTask(s, id),
				s.Counts.Completed-len(tasks)+n+1, len(s.Tasks), next)
		}
	}
	show(markGood, false, lines...)
}

// runEventLines returns the lines of an event that both views show in the same words, and whether it is
// good news. It returns no lines for other events.
func runEventLines(b event.Body, s *scheduler.State) (lines []string, m mark) {
	switch b := b.(type) {
	case event.CostCorrected:
		return []string{fmt.Sprintf("%s attempt %d: it has cost %s, which its worker told late; it had counted as %s",
			fitText(b.Task), b.Attempt, b.Cost.Spent(), b.Was.Spent())}, markNone
	case event.PrecheckStarted:
		return []string{fitText(b.Task) + " is hard to undo: a panel looks for what speaks against it"}, markNone
	case event.PrecheckEnded:
		return precheckEndedLines(b)
	case event.CriteriaEnded:
		if b.UpToDate != nil {
			return upToDateLines(*b.UpToDate, s)
		}
		return criteriaEndedLines(b)
	case event.ReviewStarted:
		return []string{report.ReviewName(b.Mode, b.Wave, b.Round) + ": begun"}, markNone
	case event.ReviewEnded:
		return reviewEndedLines(b)
	case event.ReviewSkipped:
		return []string{report.ReviewName(b.Mode, b.Wave, 0) + ": left out: " + fitText(b.Reason)}, markNone
	case event.TasksAdded:
		var names []string
		for _, a := range b.Tasks {
			names = append(names, bracketedTask(s, a.ID))
		}
		if b.Origin == event.FromList {
			return []string{fmt.Sprintf("%s joined the task list: %s", report.Plural(len(b.Tasks), "task", "tasks"),
				strings.Join(names, ", "))}, markRetry
		}
		return []string{fmt.Sprintf("back to work: %s for what the %s found: %s",
			report.Plural(len(b.Tasks), "task", "tasks"),
			fitText(b.Origin), strings.Join(names, ", "))}, markRetry
	case event.ItemsAdded:
		return []string{itemsText(b)}, markRetry
	case event.GateEnded:
		return gateEndedLines(b)
	case event.DeliveryEnded:
		return deliveryText(b), markNone
	case event.Notice:
		return noticeLines(b)
	}
	return nil, markNone
}

func noticeLines(b event.Notice) ([]string, mark) {
	l, m := "notice: ", markNone
	if b.Level == "warning" {
		l, m = "warning: ", markWarn
	}
	if b.Task != "" {
		l += fitText(b.Task) + ": "
	}
	return []string{l + fitText(b.Text)}, m
}

// criteriaStartedLines returns the lines about the beginning of a verification.
func criteriaStartedLines(b event.CriteriaStarted, s *scheduler.State) (lines []string) {
	if n := len(b.Earlier); n > 0 {
		return []string{fmt.Sprintf("up to date: looking at %s that are completed on record",
			report.Plural(n, "task", "tasks"))}
	}
	if b.Before {
		return nil
	}
	if b.Wave > 0 {
		return []string{fmt.Sprintf("criteria after wave %d: verifying %d", b.Wave, len(b.Only))}
	}
	if len(s.Assessment.Criteria) > 0 {
		l := fmt.Sprintf("criteria: verifying %d", len(s.Assessment.Criteria))
		if b.Judge {
			l += ", those in prose by a judge"
		}
		lines = append(lines, l)
	}
	if n := len(b.Rechecks); n > 0 {
		lines = append(lines, fmt.Sprintf("checks: repeating %d that later work may have broken", n))
	}
	return lines
}

// upToDateLines returns the lines about the tasks of an earlier run. If nothing is left to do, the first
// line has the command that does everything again.
func upToDateLines(u event.UpToDate, s *scheduler.State) (lines []string, m mark) {
	l := fmt.Sprintf("up to date: %d of %s, not run again", len(u.Tasks), report.Plural(len(s.Tasks), "task", "tasks"))
	if len(u.Tasks) == len(s.Tasks) {
		l += " | to run everything again: wavex run " + textfmt.Line(plan.ShellQuote(s.Plan.Path)) + " --fresh"
	}
	lines, m = []string{l}, markGood
	if len(u.Changed) > 0 {
		lines = append(lines, "  changed since, and not done again: "+idList(u.Changed))
	}
	const most = 20
	for _, d := range u.Due[:min(len(u.Due), most)] {
		lines = append(lines, fmt.Sprintf("  %s runs again: %s", fitText(d.Task), fitText(d.Reason)))
	}
	if n := len(u.Due) - most; n > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more run again", n))
	}
	return lines, m
}

func criteriaEndedLines(b event.CriteriaEnded) ([]string, mark) {
	if b.Error != "" {
		return []string{"criteria: cut off: " + fitText(b.Error)}, markWarn
	}
	again, m := recheckLines(b.Rechecked)
	if len(b.Criteria) == 0 && again != nil {
		return again, m
	}
	met := 0
	var rest []string
	for _, c := range b.Criteria {
		switch {
		case c.Verification == event.Assumption:
			rest = append(rest, fmt.Sprintf("  %s rests on assumption: %s%s", fitText(c.ID), fitText(c.Text),
				lastEvidenceLine(c.Evidence)))
		case c.Met:
			met++
		default:
			rest = append(rest, fmt.Sprintf("  %s is not met: %s%s", fitText(c.ID), fitText(c.Text),
				lastEvidenceLine(c.Evidence)))
		}
	}
	if len(rest) > 0 {
		m = markWarn
	}
	l := fmt.Sprintf("criteria: %d of %d met by evidence", met, len(b.Criteria))
	if b.Wave > 0 {
		l = fmt.Sprintf("criteria after wave %d: %d of %d met by evidence", b.Wave, met, len(b.Criteria))
	}
	if b.Cost > 0 {
		l += " | " + b.Cost.Spent()
	}
	return append(append([]string{l}, rest...), again...), m
}

// recheckLines returns the lines about checks that were made again.
func recheckLines(r *event.RecheckSummary) (lines []string, m mark) {
	if r == nil {
		return nil, markGood
	}
	l := fmt.Sprintf("checks: %d of %d repeated still pass", r.Made-len(r.Regressions), r.Made)
	m = markGood
	if r.Skipped > 0 {
		l += fmt.Sprintf(" | %d left out: the run is stopping", r.Skipped)
		m = markWarn
	}
	lines = []string{l}
	for _, f := range r.Flaky {
		lines = append(lines, "  flaky, failed and passed when made once more: "+fitText(f))
	}
	for _, g := range r.Regressions {
		lines, m = append(lines, "  "+fitText(g.String())+lastEvidenceLine(g.Output)), markWarn
	}
	return lines, m
}

// lastEvidenceLine returns the last line of an evidence: a command's last output line, or a judge's reason.
func lastEvidenceLine(evidence string) string {
	lines := strings.Split(strings.TrimSpace(evidence), "\n")
	if last := fitText(lines[len(lines)-1]); last != "" {
		return " (" + last + ")"
	}
	return ""
}

func reviewEndedLines(b event.ReviewEnded) ([]string, mark) {
	l, r := report.ReviewName(b.Mode, b.Wave, b.Round)+": ", b.Review
	switch {
	case r.Nothing != "":
		return []string{l + "nothing to review: " + fitText(r.Nothing)}, markNone
	case r.Error != "":
		return []string{l + "no review: " + fitText(r.Error) + " | " + r.Cost.Spent()}, markWarn
	}
	l += fmt.Sprintf("score %.1f/10 | %s", r.Score, report.Plural(len(r.Findings), "finding", "findings"))
	if b.Mode == counsel.Thorough {
		l += fmt.Sprintf(" | %s", report.Plural(b.Blockers, "blocker", "blockers"))
	}
	l += fmt.Sprintf(" | asked %s | %s", fitText(strings.Join(r.Experts, ", ")), r.Cost.Spent())
	if len(r.Silent) > 0 {
		l += " | no answer: " + fitText(strings.Join(r.Silent, "; "))
	}
	lines := []string{l}
	for _, f := range r.Findings {
		if b.Mode == counsel.Thorough || f.Severity == counsel.Blocker {
			lines = append(lines, "  "+report.FindingText(f, b.Mode))
		}
	}
	m := markGood
	if b.Blockers > 0 || b.Mode == counsel.Light && r.Count(counsel.Blocker) > 0 {
		m = markWarn
	}
	return lines, m
}

func gateEndedLines(b event.GateEnded) ([]string, mark) {
	why := make([]string, len(b.Reasons))
	for i, r := range b.Reasons {
		why[i] = "  " + fitText(r)
	}
	if !b.Passed {
		if b.Advice != "" {
			why = append(why, "  "+fitText(b.Advice))
		}
		return append([]string{"gate: refused"}, why...), markBad
	}
	return append([]string{"gate: passed | review: " + fitText(b.Review)}, why...), markGood
}

func precheckEndedLines(b event.PrecheckEnded) (lines []string, m mark) {
	c := b.Challenge
	l, m := fitText(b.Task)+" pre-check: ", markGood
	switch {
	case c.Error != "":
		return []string{l + fitText(c.Error)}, markWarn
	case c.Go:
		l += "it may begin"
	default:
		l, m = l+"refused", markWarn
	}
	lines = []string{fmt.Sprintf("%s | asked %s | %s%s", l, fitText(strings.Join(c.Experts, ", ")), c.Cost.Spent(),
		lastEvidenceLine(c.Reason))}
	for _, want := range c.Conditions {
		lines = append(lines, "  to see to: "+fitText(want))
	}
	if len(b.Blocked) > 0 {
		lines = append(lines, fitText(b.Task)+": blocked with it: "+idList(b.Blocked))
	}
	return lines, m
}

// itemsText returns the sentence about a list that is known now.
func itemsText(b event.ItemsAdded) string {
	if len(b.Items) == 0 {
		return fmt.Sprintf("%s has no items, which is complete", fitText(b.Group))
	}
	names := make([]string, len(b.Tasks))
	for i, id := range b.Tasks {
		names[i] = fitText(id)
	}
	return fmt.Sprintf("%s has %s: %s", fitText(b.Group), report.Plural(len(b.Items), "item", "items"),
		textfmt.FirstOf(names, 6, 0))
}
