package ui

import (
	"fmt"
	"strings"

	"wavex/counsel"
	"wavex/internal/report"
	"wavex/scheduler"
)

// This file writes the sentences about criteria, reviews and the gate. The words of experts and
// judges are foreign text, like everything from an agent.

// concluded returns the lines of an event about the run's own work, and whether it is good news. It
// returns no lines for other events.
func concluded(b scheduler.Body, s *scheduler.State) (lines []string, m mark) {
	switch b := b.(type) {
	case scheduler.CriteriaStarted:
		if b.Wave > 0 {
			return []string{fmt.Sprintf("criteria after wave %d: verifying %d", b.Wave, len(b.Only))}, none
		}
		if len(s.Criteria) > 0 {
			l := fmt.Sprintf("criteria: verifying %d", len(s.Criteria))
			if b.Judge {
				l += ", what is in prose by a judge"
			}
			lines = append(lines, l)
		}
		if n := len(b.Rechecks); n > 0 {
			lines = append(lines, fmt.Sprintf("checks: making %d of tasks again, which later work may have broken", n))
		}
		return lines, none
	case scheduler.PrecheckStarted:
		return []string{text(b.Task) + " is hard to undo: a panel looks for what speaks against it"}, none
	case scheduler.PrecheckEnded:
		return precheckEnded(b)
	case scheduler.CriteriaEnded:
		return criteriaEnded(b)
	case scheduler.ReviewStarted:
		return []string{reviewName(b.Mode, b.Wave, b.Round) + ": begun"}, none
	case scheduler.ReviewEnded:
		return reviewEnded(b)
	case scheduler.ReviewSkipped:
		return []string{reviewName(b.Mode, b.Wave, 0) + ": left out: " + text(b.Reason)}, none
	case scheduler.TasksAdded:
		var names []string
		for _, a := range b.Tasks {
			names = append(names, name(s, a.ID))
		}
		if b.Origin == scheduler.FromList {
			return []string{fmt.Sprintf("%s joined the task list: %s", report.Plural(len(b.Tasks), "task", "tasks"),
				strings.Join(names, ", "))}, redo
		}
		return []string{fmt.Sprintf("back to work: %s for what the %s found: %s",
			report.Plural(len(b.Tasks), "task", "tasks"),
			text(b.Origin), strings.Join(names, ", "))}, redo
	case scheduler.GateEnded:
		return gateEnded(b)
	}
	return nil, none
}

func criteriaEnded(b scheduler.CriteriaEnded) ([]string, mark) {
	if b.Error != "" {
		return []string{"criteria: cut off: " + text(b.Error)}, warn
	}
	again, m := rechecked(b.Rechecked)
	if len(b.Criteria) == 0 && again != nil {
		return again, m
	}
	met := 0
	var rest []string
	for _, c := range b.Criteria {
		switch {
		case c.Verification == scheduler.Assumption:
			rest = append(rest, fmt.Sprintf("  %s rests on assumption: %s%s", text(c.ID), text(c.Text), because(c.Evidence)))
		case c.Met:
			met++
		default:
			rest = append(rest, fmt.Sprintf("  %s is not met: %s%s", text(c.ID), text(c.Text), because(c.Evidence)))
		}
	}
	if len(rest) > 0 {
		m = warn
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

// rechecked returns the lines about checks that were made again.
func rechecked(r *scheduler.Rechecked) (lines []string, m mark) {
	if r == nil {
		return nil, good
	}
	l := fmt.Sprintf("checks: %d of %d made again still hold", r.Made-len(r.Regressions), r.Made)
	m = good
	if r.Left > 0 {
		l += fmt.Sprintf(" | %d left out: the run is stopping", r.Left)
		m = warn
	}
	lines = []string{l}
	for _, f := range r.Flaky {
		lines = append(lines, "  flaky, failed and passed when made once more: "+text(f))
	}
	for _, g := range r.Regressions {
		lines, m = append(lines, "  "+text(g.String())+because(g.Output)), warn
	}
	return lines, m
}

// because returns the last line of an evidence: a command's last output line, or a judge's reason.
func because(evidence string) string {
	lines := strings.Split(strings.TrimSpace(evidence), "\n")
	if last := text(lines[len(lines)-1]); last != "" {
		return " (" + last + ")"
	}
	return ""
}

func reviewName(mode counsel.Mode, wave, round int) string {
	if mode == counsel.Light {
		return fmt.Sprintf("review of wave %d", wave)
	}
	return fmt.Sprintf("thorough review, round %d", round)
}

func reviewEnded(b scheduler.ReviewEnded) ([]string, mark) {
	l, r := reviewName(b.Mode, b.Wave, b.Round)+": ", b.Review
	switch {
	case r.Nothing != "":
		return []string{l + "nothing to review: " + text(r.Nothing)}, none
	case r.Error != "":
		return []string{l + "no review: " + text(r.Error) + " | " + r.Cost.Spent()}, warn
	}
	l += fmt.Sprintf("score %.1f/10 | %s", r.Score, report.Plural(len(r.Findings), "finding", "findings"))
	if b.Mode == counsel.Thorough {
		l += fmt.Sprintf(" | %s", report.Plural(b.Blockers, "blocker", "blockers"))
	}
	l += fmt.Sprintf(" | asked %s | %s", text(strings.Join(r.Experts, ", ")), r.Cost.Spent())
	if len(r.Silent) > 0 {
		l += " | no answer: " + text(strings.Join(r.Silent, "; "))
	}
	lines := []string{l}
	for _, f := range r.Findings {
		if b.Mode == counsel.Thorough || f.Severity == counsel.Blocker {
			lines = append(lines, "  "+finding(f, b.Mode))
		}
	}
	m := good
	if b.Blockers > 0 || b.Mode == counsel.Light && r.Count(counsel.Blocker) > 0 {
		m = warn
	}
	return lines, m
}

func finding(f counsel.Finding, mode counsel.Mode) string {
	l := string(f.Severity)
	switch {
	case f.Severity != counsel.Blocker:
	case f.Confirmed:
		l += ", confirmed"
	case f.Refuted != "":
		l += ", refuted"
	case mode == counsel.Light:
		l += ", for the thorough review to look at"
	default:
		l += ", not confirmed"
	}
	if f.Resolution != "" {
		l += ", " + text(f.Resolution)
	}
	l += ": " + text(scheduler.Where(f)+f.Text)
	if f.Refuted != "" {
		l += " (" + text(f.Refuted) + ")"
	}
	return l
}

func gateEnded(b scheduler.GateEnded) ([]string, mark) {
	why := make([]string, len(b.Reasons))
	for i, r := range b.Reasons {
		why[i] = "  " + text(r)
	}
	if !b.Passed {
		return append([]string{"gate: refused"}, why...), bad
	}
	return append([]string{"gate: passed | review: " + text(b.Review)}, why...), good
}

func precheckEnded(b scheduler.PrecheckEnded) (lines []string, m mark) {
	c := b.Challenge
	l, m := text(b.Task)+" pre-check: ", good
	switch {
	case c.Error != "":
		return []string{l + text(c.Error)}, warn
	case c.Go:
		l += "it may begin"
	default:
		l, m = l+"refused", warn
	}
	lines = []string{fmt.Sprintf("%s | asked %s | %s%s", l, text(strings.Join(c.Experts, ", ")), c.Cost.Spent(),
		because(c.Reason))}
	for _, want := range c.Conditions {
		lines = append(lines, "  to see to: "+text(want))
	}
	if len(b.Blocked) > 0 {
		lines = append(lines, text(b.Task)+": blocked with it: "+ids(b.Blocked))
	}
	return lines, m
}
