package scheduler

import (
	"fmt"
	"strings"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
)

// This file decides which review is due, and what follows a review with blockers. It is pure.

// These constants bound the cost of reviews and of a judge, which are paid from the run's own
// budget.
const (
	lightCap    = budget.Dollar
	thoroughCap = 3 * budget.Dollar
	judgeCap    = budget.Dollar
)

// maxUnanswered bounds the thorough reviews in a row without an answer.
const maxUnanswered = 2

// decideLightReview returns the light review that is due, or nil. It needs no slot and only money that attempts
// do not need, so it never delays the next wave.
func decideLightReview(s *State, now time.Time) event.Body {
	if c := s.Config.Review; c != event.ReviewLight && c != event.ReviewAuto || s.closing.lightRunning ||
		len(s.closing.dueLightReviews) == 0 || s.Stop != nil || now.Before(s.PauseUntil) {
		return nil
	}
	for _, w := range s.closing.dueLightReviews {
		if s.closing.isLightReviewed(w) || s.Left(w) > 0 ||
			s.Config.Review == event.ReviewAuto && (w >= s.closing.planWaves || s.closing.lightReviewed[w] > 0) {
			continue // the thorough review covers the last wave and the later work
		}
		limit, ok := lightCap, true
		if !s.Ledger.Limits().NoUSD {
			limit = min(limit, s.Ledger.Available()/10)
			ok = limit >= budget.MinReservation
		}
		ev := event.ReviewStarted{N: s.closing.reviews + 1, Mode: counsel.Light, Wave: w, Cap: limit}
		if !ok || s.admits(jobOf(ev)) != nil {
			return event.ReviewSkipped{Mode: counsel.Light, Wave: w, Reason: "no money to spare"}
		}
		return ev
	}
	return nil
}

// needsThoroughReview reports whether the run gets a thorough review: only if agents did work.
func needsThoroughReview(s *State) bool {
	c := s.Config.Review
	return (c == event.ReviewThorough || c == event.ReviewAuto) && s.closing.agentTasks > 0
}

// decideThoroughReview returns the thorough review that is due. wait reports whether it must wait.
func decideThoroughReview(s *State) (body event.Body, wait bool) {
	last := s.Assessment.Thorough()
	// An earlier session may have left blockers that are mended by now, and blockers that it could not act on and this
	// session can.
	again := last != nil && !last.Passed && s.closing.reviewRounds == 0 && !s.closing.openBlockers
	switch {
	case !needsThoroughReview(s) || s.closing.reviewedAt == s.closing.workCount && !again ||
		s.closing.unansweredReviews >= maxUnanswered:
		return nil, false
	case s.closing.lightRunning:
		return nil, true // the light review's blockers are candidates
	}
	limit, err := s.jobCap(reviewKey(s.closing.reviews+1), thoroughCap)
	if err != nil {
		return decideLimitPause(s, "the thorough review", err), false
	}
	return event.ReviewStarted{N: s.closing.reviews + 1, Mode: counsel.Thorough, Round: s.closing.reviewRounds + 1,
		Cap: limit}, false
}

// decideRemediation returns the event after a thorough review with blockers: tasks that repair them, or a
// pause if the rounds are used up or the user skipped all blockers.
func decideRemediation(s *State, last *event.ReviewEnded) event.Body {
	if s.closing.reviewRounds < s.Config.ReviewRounds {
		if body := decideFindingRemediation(s, last); body != nil {
			return body
		}
	}
	var left []string
	for _, f := range last.Review.Blockers() {
		left = append(left, f.Location()+f.Text)
	}
	return event.Draining{Stop: *event.Trip(event.Blockers, fmt.Sprintf(
		"%d blockers remain after round %d of the thorough review: %s", len(left), last.Round, strings.Join(left, "; ")),
		event.AdviceBlockers)}
}

// onReview returns the event for the result of a review.
func onReview(e event.ReviewStarted, r counsel.Review) event.ReviewEnded {
	blockers := len(r.Blockers())
	if e.Mode == counsel.Light {
		blockers = r.Count(counsel.Blocker)
	}
	return event.ReviewEnded{N: e.N, Mode: e.Mode, Wave: e.Wave, Round: e.Round, Review: r, Blockers: blockers,
		Passed: r.Error == "" && blockers == 0}
}
