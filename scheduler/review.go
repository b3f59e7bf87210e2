package scheduler

import (
	"fmt"
	"strings"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/runner"
)

// This file decides which review is due, and what follows one with blockers. It is pure.

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
