package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/textfmt"
	"wavex/runner"
	"wavex/scheduler"
)

// This file computes the verdict on a complete run: how far it can be trusted, from the evidence of
// the work and from how hard the work would be to undo.

// The verdicts, the best first.
const (
	Ship = "SHIP" // shown by execution, or seen by a judge or a reviewer, and reversible
	// Monitor is one level less: only its author saw a part of the work, or the review was not thorough, or a check
	// broke, or it is hard to undo.
	Monitor = "MONITOR"
	// Research means that a person must find out: part of the work is assumed, or only observed and
	// hard to undo.
	Research = "RESEARCH"
)

// Verdict is how far a complete run can be trusted, and why.
type Verdict struct {
	Word     string
	Verified []string // the kinds of its evidence, strongest first
	Done, Of int      // tasks
	Score    float64  // 0 to 10, of the latest thorough review, else the mean of the light ones; below 0: no review
	Type     string   // the hardest reversibility among the tasks
	Iters    int
	Alt      string   // the alternative action
	Risks    []string // the arguments against more trust, the weightiest first
}

// maxRisks bounds the broken checks that a box names.
const maxRisks = 3

// evidenceOrder orders the kinds of evidence.
var evidenceOrder = []string{event.ExecutionOutput, event.Measurement, event.Observation,
	event.Assumption}

// VerdictOf judges a complete run.
func VerdictOf(s *scheduler.State) Verdict {
	v := Verdict{Done: s.Counts.Completed, Of: len(s.Tasks), Score: reviewScore(s), Type: hardestReversibility(s),
		Iters: s.Ledger.Iterations()}
	v.Alt = "wavex verify makes all checks again"
	if v.Type != "2A" && s.Config.Isolation != event.Isolated {
		v.Alt = "wavex rollback takes it back, in a git checkout"
	}
	if s.Config.MadeUp {
		v.Alt = "the same command without --agent rehearse does the work"
	}
	caution := v.weighEvidence(s.Assessment.Evidence)
	if g := s.Assessment.Gate; g != nil && (g.Review == event.ReviewOff || g.Review == event.ReviewLight) {
		caution = max(caution, 1)
		risk := map[string]string{event.ReviewOff: "nobody reviewed the work",
			event.ReviewLight: "the work was reviewed lightly, by wave"}[g.Review]
		if n, open := openBlockers(&s.Assessment); n > 0 {
			caution, risk = 2, "no review looked again at "+Plural(n, "confirmed blocker", "confirmed blockers")+": "+open
		}
		v.Risks = append(v.Risks, risk)
	}
	if said := append(s.AllowedFailures(), s.Uncontained()...); said != nil {
		caution = max(caution, 1)
		v.Risks = append(v.Risks, said...)
	}
	if tasks := settingsChangers(s); tasks != nil {
		caution = max(caution, 1)
		v.Risks = append(v.Risks, "the settings of later runs were changed by "+clipIDs(tasks))
	}
	if v.Type == "1" {
		caution++
		v.Risks = append(v.Risks, "hard to undo: "+clipIDs(tasksOfReversibility(s, "1")))
	}
	if n := openWarnings(s); n > 0 {
		v.Risks = append(v.Risks, Plural(n, "warning", "warnings")+" of the review stand")
	}
	if s.Config.Agent == event.Rehearsal {
		v.Risks = append(v.Risks, "a rehearsal: no model was asked; edits and checks are real")
	}
	v.Word = []string{Ship, Monitor, Research}[min(caution, 2)]
	return v
}

// weighEvidence adds the evidence and its gaps to the verdict, and returns the caution that it calls for: 0; 1 for work
// that only its author saw, or that is hard to undo and was not run; 2 for an accepted assumption.
func (v *Verdict) weighEvidence(rows []event.Evidence) (caution int) {
	kinds, bases, unseen := map[string]int{}, map[event.Basis]int{}, []string(nil)
	doubtful := []event.Basis{event.Rests, event.Nothing, event.Empty, event.Kept, event.Changed}
	for _, r := range rows {
		if bases[r.Basis]++; r.Basis != event.Allowed {
			kinds[r.Kind]++
		}
		if r.Criterion == "" && slices.Contains(doubtful, r.Basis) {
			unseen = append(unseen, textfmt.Line(DisplayID(r.Task))+": "+textfmt.Line(r.Why))
		}
	}
	for _, kind := range evidenceOrder {
		if kinds[kind] > 0 {
			v.Verified = append(v.Verified, kind)
		}
	}
	if n := bases[event.Accepted] + bases[event.Unproven]; n > 0 {
		caution = 2
		v.Risks = append(v.Risks, "nothing shows "+Plural(n, "thing that was accepted", "things that were accepted"))
	}
	if n := len(unseen); n > 0 {
		caution = max(caution, 1)
		v.Risks = append(v.Risks, unseen[:min(n, maxRisks)]...)
		if n -= maxRisks; n > 0 {
			v.Risks = append(v.Risks, fmt.Sprintf("only its author saw the work of %s", Plural(n, "more task", "more tasks")))
		}
	}
	if n := kinds[event.Observation]; n > 0 {
		v.Risks = append(v.Risks, Plural(n, "thing was", "things were")+" looked at, not run")
		if v.Type == "1" {
			caution = max(caution, 1)
		}
	}
	return caution
}

// reviewScore returns the reviewers' score: that of the last thorough review, else the mean of the light
// ones; -1 if there is none.
func reviewScore(s *scheduler.State) float64 {
	if r := s.Assessment.Thorough(); r != nil && r.Review.Error == "" && len(r.Review.Experts) > 0 {
		return r.Review.Score
	}
	sum, n := 0.0, 0
	for i := range s.Assessment.Reviews {
		if r := &s.Assessment.Reviews[i]; r.Mode == counsel.Light && r.Review.Error == "" && len(r.Review.Experts) > 0 {
			sum += r.Review.Score
			n++
		}
	}
	if n == 0 {
		return -1
	}
	return sum / float64(n)
}

// hardestReversibility returns the reversibility of the run as a whole.
func hardestReversibility(s *scheduler.State) string {
	for _, class := range []string{"1", "2B"} {
		if len(tasksOfReversibility(s, class)) > 0 {
			return class
		}
	}
	return "2A"
}

func tasksOfReversibility(s *scheduler.State, class string) (ids []string) {
	for i := range s.Plan.Tasks {
		if s.Plan.Tasks[i].Reversibility == class {
			ids = append(ids, s.Plan.Tasks[i].ID)
		}
	}
	return ids
}

// settingsChangers returns the tasks that changed settings of later runs without declaring them.
func settingsChangers(s *scheduler.State) (tasks []string) {
	for i := range s.Tasks {
		if last := s.Tasks[i].Last; last != nil && slices.ContainsFunc(last.Tampered, func(t runner.Tamper) bool {
			return t.Why == runner.WhySettings || t.Why == runner.WhyCLI
		}) {
			tasks = append(tasks, s.Plan.Tasks[i].ID)
		}
	}
	return tasks
}

// openBlockers returns the number of confirmed blockers that are not closed, and names the first.
func openBlockers(a *scheduler.Assessment) (n int, names string) {
	var open []string
	for _, f := range a.OpenBlockers() {
		open = append(open, textfmt.Fit(textfmt.Line(f.Location()+f.Text), 60, true))
	}
	return len(open), textfmt.FirstOf(open, maxRisks, 0)
}

// openWarnings returns the number of warnings of the last thorough review.
func openWarnings(s *scheduler.State) int {
	if r := s.Assessment.Thorough(); r != nil {
		return r.Review.Count(counsel.Warning)
	}
	return 0
}

// clipIDs returns the first of some ids as people see them.
func clipIDs(ids []string) string {
	var shown []string
	for _, id := range ids {
		shown = append(shown, textfmt.Line(DisplayID(id)))
	}
	return textfmt.FirstOf(shown, 4, 0)
}

// Box draws the verdict in at most width columns, but never fewer than narrowest; 0 means as wide
// as its lines. If ascii is false, it uses line-drawing characters and a coloured sign, which
// terminals show two columns wide.
func (v Verdict) Box(width int, ascii bool) string {
	sign := map[string]string{Ship: "🟢 ", Monitor: "🟡 ", Research: "🔴 "}[v.Word]
	arrow, dot := "↳", "·"
	corner := [...]string{"╭", "╮", "├", "┤", "╰", "╯", "─", "│"}
	if ascii {
		sign, arrow, dot = "", "->", "-"
		corner = [...]string{"+", "+", "+", "+", "+", "+", "-", "|"}
	}
	opinion := "not asked"
	if v.Score >= 0 {
		opinion = fmt.Sprintf("~%.0f%%", 10*v.Score)
	}
	above := []string{
		"Verified: " + cmp.Or(strings.Join(v.Verified, ", "), "nothing"),
		fmt.Sprintf("Tasks: %d/%d complete", v.Done, v.Of),
		fmt.Sprintf("Subjective: %s %s Type %s %s %s", opinion, dot, v.Type, dot, Plural(v.Iters, "iteration", "iterations")),
	}
	below := []string{arrow + " Alt: " + v.Alt}
	if len(v.Risks) == 0 {
		below = append(below, arrow+" Risk: none seen")
	}
	for _, r := range v.Risks {
		below = append(below, arrow+" Risk: "+r)
	}
	if width > 0 {
		above, below = wrapLines(above, max(width, minBoxColumns)-4), wrapLines(below, max(width, minBoxColumns)-4)
	}
	title := fmt.Sprintf("%s %s%s ", corner[6], sign, v.Word)
	wide := textfmt.Width(title)
	for _, l := range append(above, below...) {
		wide = max(wide, textfmt.Width(l)+2)
	}
	var b strings.Builder
	edge := func(left, text, right string) {
		fmt.Fprintf(&b, "%s%s%s%s\n", left, text, strings.Repeat(corner[6], wide-textfmt.Width(text)), right)
	}
	rows := func(lines []string) {
		for _, l := range lines {
			fmt.Fprintf(&b, "%s %s %s\n", corner[7], textfmt.Pad(l, wide-2), corner[7])
		}
	}
	edge(corner[0], title, corner[1])
	rows(above)
	edge(corner[2], "", corner[3])
	rows(below)
	edge(corner[4], "", corner[5])
	return b.String()
}

// minBoxColumns is the minimum width of a box, in columns.
const minBoxColumns = 24

// wrapLines breaks lines that are too wide and indents the continuation.
func wrapLines(lines []string, columns int) []string {
	var out []string
	for _, l := range lines {
		for i, part := range textfmt.Wrap(l, columns-2) {
			if i > 0 {
				part = "  " + part
			}
			out = append(out, part)
		}
	}
	return out
}
