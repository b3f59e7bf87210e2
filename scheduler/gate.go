package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/runner"
)

// This file decides what stands between the last task and the word "complete", in the
// order of LEDGER C25: the tasks are completed, the criteria are met and none of them
// rests on assumption, the thorough review has passed, the gate passes. It is pure.
// mend.go makes the tasks that put right what is found.

// The values of Config.Review.
const (
	ReviewOff      = "off"
	ReviewLight    = "light"    // after each wave only
	ReviewThorough = "thorough" // before the gate only
	ReviewAuto     = "auto"     // after each wave but the last, and before the gate
)

// What reviews and verdicts may cost at most; they draw on the run's own budget.
const (
	lightCap    = budget.Dollar
	thoroughCap = 3 * budget.Dollar
	judgeCap    = budget.Dollar
)

// maxSilent is how often in a row a thorough review may give no answer.
const maxSilent = 2

// light is the light review that is due, or nil. It takes no place among the attempts
// and only money that they will not miss, so that it never delays the next wave.
func light(s *State, now time.Time) Body {
	if c := s.Config.Review; c != ReviewLight && c != ReviewAuto || s.lighting || len(s.due) == 0 || s.Stop != nil || now.Before(s.Hold) {
		return nil
	}
	for _, w := range s.due {
		if s.lit[w] || s.queue.left[w] > 0 || s.Config.Review == ReviewAuto && w == s.planned {
			continue // the thorough review, which follows at once, reads the last wave's changes
		}
		limit, ok := lightCap, true
		if !s.Ledger.Limits().NoUSD {
			limit = min(limit, s.Ledger.Available()/10)
			ok = limit >= budget.MinReservation
		}
		probe := s.Ledger
		if !ok || probe.Reserve(reviewKey(s.reviews+1), limit, false) != nil {
			return ReviewSkipped{Mode: counsel.Light, Wave: w, Reason: "no money to spare"}
		}
		return ReviewStarted{N: s.reviews + 1, Mode: counsel.Light, Wave: w, Cap: limit}
	}
	return nil
}

// conclude is what follows when every task is completed: the next step towards the end,
// or nil to wait.
func conclude(s *State, now time.Time) Body {
	if s.Gate != nil {
		if s.lighting {
			return nil
		}
		return finish(s)
	}
	if over := s.Ledger.OverWall(now.Sub(s.Began)); over != nil {
		return Draining{Stop: atLimit(over)}
	}
	if len(s.Criteria) > 0 && s.checked != s.work {
		return verification(s)
	}
	if open := unmet(s); len(open) > 0 && s.mended < s.Config.ReviewRounds {
		if body := mendCriteria(s, open); body != nil {
			return body
		}
	}
	against, assumed := unproven(s)
	if len(against) > 0 { // a review would not change that, and costs
		return s.gate(against, assumed)
	}
	if body, wait := review(s); body != nil || wait {
		return body
	}
	if last := s.Thorough(); reviews(s) && last != nil && !last.Passed {
		if st := refused(*last); st != nil {
			return Draining{Stop: *st}
		}
		if last.Review.Error == "" {
			return remedy(s, last)
		}
	}
	return s.gate(unreviewed(s), assumed)
}

// between is the verification that is due between two waves (LEDGER S2-03): of the criteria
// with a check that completed tasks promised, or that were met before, which the work since
// can have undone. It costs no money, and nothing else runs meanwhile. nil: none is due.
func between(s *State) Body {
	if s.Wave == 0 || s.running > 0 || s.looked == s.work {
		return nil
	}
	ev := CriteriaStarted{Round: s.verifications + 1, Wave: s.Wave}
	for _, c := range s.Criteria {
		i, ok := s.Index(c.Task)
		if promised := ok && c.Task != "" && s.Tasks[i].Status == Completed; !promised && !c.Met {
			continue
		}
		if cond := s.Condition(c.ID); cond != nil && cond.Check != nil {
			ev.Only = append(ev.Only, c.ID)
		}
	}
	if ev.Only == nil {
		return nil
	}
	return ev
}

// verification puts all criteria to the test.
func verification(s *State) Body {
	if s.vain >= maxSilent {
		return Draining{Stop: Stop{Status: "blocked", ExitCode: 5, Reason: "the criteria could not be verified: " + s.vainly,
			Advice: "put the cause right, then resume"}}
	}
	ev := CriteriaStarted{Round: s.verifications + 1}
	if s.Config.Judge && prose(s) {
		limit, ok := s.Ledger.Share(1, judgeCap)
		probe := s.Ledger
		if !ok {
			return unpaid("a judge of the criteria", s.Ledger.Shortage())
		}
		if err := probe.Reserve(criteriaKey(ev.Round), limit, false); err != nil {
			return unpaid("a judge of the criteria", err)
		}
		ev.Cap, ev.Judge = limit, true
	}
	return ev
}

// unpaid is the pause before what the run's limits do not allow any more.
func unpaid(what string, err error) Body {
	st := atLimit(err)
	st.Reason = "nothing is left for " + what + ": " + st.Reason
	return Draining{Stop: st}
}

// prose tells whether any criterion can only be judged.
func prose(s *State) bool {
	for _, c := range s.Criteria {
		if c := s.Condition(c.ID); c != nil && c.Check == nil && c.Verification != Assumption {
			return true
		}
	}
	return false
}

// unmet are the criteria that were looked at and are not met.
func unmet(s *State) []Criterion {
	var out []Criterion
	for _, c := range s.Criteria {
		if !c.Met && c.Verification != Assumption {
			out = append(out, c)
		}
	}
	return out
}

// unproven says what keeps the work from counting as shown, and what is taken on trust
// because somebody said so. Where a plan has criteria of its own they are the evidence;
// a task without any answers for itself by its checks.
func unproven(s *State) (against, assumed []string) {
	trust := func(id, why string) {
		if s.Config.AcceptAssumptions {
			assumed = append(assumed, id)
			return
		}
		against = append(against, why)
	}
	own := map[string]bool{}
	planned := false
	for _, c := range s.Criteria {
		own[c.Task] = true
		planned = planned || c.Task == ""
		switch {
		case c.Verification == Assumption:
			trust(c.ID, fmt.Sprintf("criterion %s rests on assumption: %s", c.ID, c.Text))
		case !c.Met:
			against = append(against, fmt.Sprintf("criterion %s is not met: %s", c.ID, c.Text))
		}
	}
	if planned {
		return against, assumed
	}
	added := map[string]bool{}
	for _, a := range s.Added {
		added[a.ID] = true // whether they mended what they were for is seen by who found it
	}
	for i := range s.Tasks {
		if id := s.Plan.Tasks[i].ID; !own[id] && !added[id] && s.ShownBy(i) == Assumption {
			trust(id, fmt.Sprintf("nothing shows that task %s is done: %s", id, nothing(s, i)))
		}
	}
	return against, assumed
}

// tampered tells whether an attempt changed what its own checks rest on.
func tampered(r *runner.Result) bool {
	return slices.ContainsFunc(r.Tampered, func(t runner.Tamper) bool { return t.Own })
}

func nothing(s *State, i int) string {
	if last := s.Tasks[i].Last; last != nil && tampered(last) {
		return "it changed what its own checks rest on"
	}
	if last := s.Tasks[i].Last; last != nil && last.Vacuous {
		return "its checks passed before any work, and nothing was edited"
	}
	return "it has no check, no criterion, and no declared file that changed"
}

// ShownBy is the kind of evidence that a completed task has in itself: its command, its
// checks (unless they passed before any work and nothing was edited), or a declared file
// that changed.
func (s *State) ShownBy(i int) string {
	p, last := &s.Plan.Tasks[i], s.Tasks[i].Last
	switch {
	case p.Command != "":
		return ExecutionOutput
	case last == nil:
		return Assumption
	case tampered(last):
		return Assumption
	case len(p.Verify) > 0 && (!last.Vacuous || len(last.Touched) > 0):
		for _, c := range p.Verify {
			if c.Run != "" {
				return ExecutionOutput
			}
		}
		return Observation
	case len(last.Changed) > 0:
		return Observation
	}
	return Assumption
}

// reviews tells whether the run's work is for a thorough review: only an agent's is.
func reviews(s *State) bool {
	c := s.Config.Review
	return (c == ReviewThorough || c == ReviewAuto) && s.agents > 0
}

// review is the thorough review that is due. wait says that it has to wait.
func review(s *State) (body Body, wait bool) {
	last := s.Thorough()
	again := last != nil && !last.Passed && s.rounds == 0 // by an earlier session
	switch {
	case !reviews(s) || s.reviewed == s.work && !again || s.silent >= maxSilent:
		return nil, false
	case s.lighting:
		return nil, true // its blockers are candidates
	}
	limit, ok := s.Ledger.Share(1, thoroughCap)
	if !ok {
		return unpaid("the thorough review", s.Ledger.Shortage()), false
	}
	probe := s.Ledger
	if err := probe.Reserve(reviewKey(s.reviews+1), limit, false); err != nil {
		return unpaid("the thorough review", err), false
	}
	return ReviewStarted{N: s.reviews + 1, Mode: counsel.Thorough, Round: s.rounds + 1, Cap: limit}, false
}

// remedy is what follows a thorough review with blockers: tasks that mend them, or, when
// the rounds are used up or a person would not have them mended, a pause.
func remedy(s *State, last *ReviewEnded) Body {
	if s.rounds < s.Config.ReviewRounds {
		if body := mendFindings(s, last); body != nil {
			return body
		}
	}
	var left []string
	for _, f := range last.Review.Blockers() {
		left = append(left, Where(f)+f.Text)
	}
	return Draining{Stop: Stop{Status: "paused", ExitCode: 4, Breaker: "review",
		Reason: fmt.Sprintf("%d blockers remain after round %d of the thorough review: %s", len(left), last.Round, strings.Join(left, "; ")),
		Advice: "mend them, or judge them with --interactive; resume reviews again"}}
}

// Where is a finding's place as "file:line: ", or "".
func Where(f counsel.Finding) string {
	switch {
	case f.File == "":
		return ""
	case f.Line == 0:
		return f.File + ": "
	}
	return fmt.Sprintf("%s:%d: ", f.File, f.Line)
}

// unreviewed says why the review keeps the run from completing.
func unreviewed(s *State) []string {
	if last := s.Thorough(); reviews(s) && (last == nil || !last.Passed || s.reviewed != s.work) {
		why := "it did not take place"
		if last != nil && last.Review.Error != "" {
			why = last.Review.Error
		}
		return []string{"the thorough review has not passed: " + why}
	}
	return nil
}

// gate is the last word: against lists what speaks against completion.
func (s *State) gate(against, assumed []string) Body {
	g := GateEnded{Passed: len(against) == 0, Reasons: against, Assumed: assumed, Review: "off"}
	g.ExitSignal = g.Passed
	last := s.Thorough()
	switch c := s.Config.Review; {
	case reviews(s) && last != nil && last.Review.Nothing == "":
		g.Review = "thorough"
	case c == ReviewThorough, c == ReviewAuto:
		g.Review = "nothing to review"
	}
	if g.Passed && g.Review == "off" {
		g.Reasons = append(g.Reasons, "no thorough review was made: review is "+or(s.Config.Review, ReviewOff))
	}
	for i := range s.Tasks {
		if last := s.Tasks[i].Last; last != nil {
			for _, t := range last.Tampered {
				g.Reasons = append(g.Reasons, fmt.Sprintf("task %s changed %s: %s", s.Plan.Tasks[i].ID, t.Path, t.Why))
			}
		}
	}
	if len(assumed) > 0 {
		g.Reasons = append(g.Reasons, "accepted without evidence: "+strings.Join(assumed, ", "))
	}
	return g
}

func or(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}

// reviewOver is what a review came to, as an event. When nobody could answer because the
// run itself cannot go on, the run stops with that.
func reviewOver(e ReviewStarted, r counsel.Review) ReviewEnded {
	blockers := len(r.Blockers())
	if e.Mode == counsel.Light {
		blockers = r.Count(counsel.Blocker)
	}
	return ReviewEnded{N: e.N, Mode: e.Mode, Wave: e.Wave, Round: e.Round, Review: r, Blockers: blockers,
		Passed: r.Error == "" && blockers == 0}
}

// refused is the stop that a thorough review asks for whose every call met the same
// wall, or nil.
func refused(e ReviewEnded) *Stop {
	if e.Mode != counsel.Thorough || e.Review.Error == "" {
		return nil
	}
	st := Stop{Status: "blocked", ExitCode: 5, Reason: "the thorough review: " + e.Review.Error}
	switch e.Review.Failure {
	case runner.Limited, runner.Throttled:
		st.Status, st.ExitCode, st.Advice = "limited", 6, "nothing is wrong with the work; resume later"
	case runner.Unauthorised:
		st.Advice = "log in with `claude` or set ANTHROPIC_API_KEY, then resume"
	case runner.Broken:
		st.Advice = "see `wavex doctor`"
	default:
		return nil
	}
	return &st
}
