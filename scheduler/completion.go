package scheduler

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
)

// This file applies the events of verifications, reviews and the gate. gate.go makes the decisions.

// completion holds the progress of verification and review.
type completion struct {
	workCount           int    // counts completed tasks; evidence from a lower count is out of date
	verifiedAt          int    // work at the last verification of all criteria; -1: none in this session
	waveVerifiedAt      int    // the same, including verifications after waves
	failedVerifications int    // verifications of all criteria in a row that ended with an error, in this session
	verificationError   string // error of the last of them
	lookedBefore        bool   // it is too late for a verification before the session's first attempt, or it was made
	attempted           bool   // an attempt of the run has begun
	unmeasured          bool   // its criteria were not measured before that, by an older wavex
	reviewedAt          int    // work at the last thorough review; -1: none counts
	openBlockers        bool   // confirmed blockers of the last thorough review have no consequence yet
	unansweredReviews   int    // thorough reviews without an answer in a row, in this session
	reviewRounds        int    // thorough reviews with an answer, in this session
	remediations        int    // times that tasks were added for unmet criteria, in this session

	changeCount   int // grows with every event that may change files: ends of attempts, integrations, sessions
	sessionChange int // changes when this session began
	recheckedAt   int // changes when tasks' own checks were last repeated; -1: not in this session

	verifications    int         // of the run
	reviews          int         // of the run, of both modes
	lightReviewed    map[int]int // by wave: its agentTasksInWave when its light review started or was skipped
	lightRunning     bool        // a light review is running; no phase, because the next wave runs beside it
	dueLightReviews  []int       // finished waves in which agents worked, in the order of their ends
	agentTasks       int         // number of tasks that agents completed
	agentTasksInWave map[int]int // the same by wave
	planWaves        int         // number of waves in the plan file
	cutReviews       []int       // numbers of interrupted reviews
}

func newCompletion(planned int) completion {
	return completion{verifiedAt: -1, waveVerifiedAt: -1, reviewedAt: -1, recheckedAt: -1, lightReviewed: map[int]int{},
		agentTasksInWave: map[int]int{},
		planWaves:        planned}
}

// countMove updates the counters when a task changes its status.
func (c *completion) countMove(wave int, to event.Status, agent bool, left int) {
	if to == event.Completed {
		c.workCount++
		if agent {
			c.agentTasks++
			c.agentTasksInWave[wave]++
		}
	}
	if to.Finished() && left == 0 && !c.isLightReviewed(wave) {
		c.dueLightReviews = append(c.dueLightReviews, wave)
	}
}

// isLightReviewed reports whether a light review covers all agents' tasks of a wave.
func (c *completion) isLightReviewed(wave int) bool {
	return c.lightReviewed[wave] >= c.agentTasksInWave[wave]
}

// resetSession resets the facts that hold only within a session, because people work on the files between
// sessions. A review that passed stays valid; one that did not pass can be repeated.
func (c *completion) resetSession() {
	c.verifiedAt = -1
	c.waveVerifiedAt = -1
	c.lookedBefore = false
	c.failedVerifications = 0
	c.verificationError = ""
	c.reviewRounds = 0
	c.remediations = 0
	c.unansweredReviews = 0
	c.lightRunning = false
	c.changeCount, c.recheckedAt = c.changeCount+1, -1
	c.sessionChange = c.changeCount
}

// noteFirstAttempt notes that an attempt has begun.
func (s *State) noteFirstAttempt() {
	s.closing.lookedBefore = true
	if s.closing.attempted {
		return
	}
	s.closing.attempted = true
	for i := range s.Assessment.Criteria {
		c := s.Condition(s.Assessment.Criteria[i].ID)
		s.closing.unmeasured = s.closing.unmeasured || c != nil && c.Check != nil && s.Assessment.Criteria[i].Check == ""
	}
}

// CutShort returns the numbers of interrupted reviews. Some of their answers may have been paid
// for.
func (s *State) CutShort() []int { return slices.Clone(s.closing.cutReviews) }

func (s *State) applyCriteriaEnded(b event.CriteriaEnded) {
	begun := s.open(criteriaKey(b.Round)).criteria
	if begun != nil {
		s.finish(criteriaKey(b.Round), b.Cost, 0, false)
		s.endPhase()
	} else { // of `wavex verify`, which reserves nothing
		s.Ledger.Spend(b.Cost, 0)
	}
	s.closing.waveVerifiedAt = s.closing.workCount
	s.Stop = cmp.Or(s.Stop, b.Stop)
	switch {
	case b.Error != "" && b.Wave == 0:
		s.closing.failedVerifications, s.closing.verificationError = s.closing.failedVerifications+1, b.Error
		return
	case b.Error != "":
		return // the verification at the end covers all criteria
	}
	if b.UpToDate != nil {
		s.applyUpToDate(b)
		return
	}
	s.Assessment.updateCriteria(b.Criteria)
	if begun != nil && begun.Before {
		s.closing.lookedBefore, s.closing.failedVerifications = true, 0
		return
	}
	if b.Wave == 0 {
		s.closing.verifiedAt, s.closing.failedVerifications, s.closing.recheckedAt = s.closing.workCount, 0,
			s.closing.changeCount
	}
	if b.Rechecked != nil {
		s.Assessment.Regressions = b.Rechecked.Regressions
	}
	for _, c := range s.Assessment.Criteria {
		if !c.Met {
			s.Assessment.ExitSignal = false
		}
	}
}

// EndGateAfterVerify returns the gate of a completed run after a later verification found failures: it does
// not pass any more.
func EndGateAfterVerify(s *State, against []string) event.GateEnded {
	const most = 5
	what := strings.Join(against[:min(len(against), most)], "; ")
	if more := len(against) - most; more > 0 {
		what += fmt.Sprintf("; and %d more", more)
	}
	g := event.GateEnded{Reasons: []string{"verified again, this does not hold: " + what}, Review: "off"}
	if s.Assessment.Gate != nil {
		g.Review = s.Assessment.Gate.Review
	}
	return g
}

func (s *State) applyReviewStarted(b event.ReviewStarted) {
	s.closing.reviews = b.N
	if b.Mode == counsel.Light {
		s.closing.lightReviewed[b.Wave], s.closing.lightRunning = s.closing.agentTasksInWave[b.Wave], true
	} else {
		s.Phase = Reviewing
	}
}

func (s *State) applyReviewEnded(b event.ReviewEnded) {
	s.finish(reviewKey(b.N), b.Review.Cost, 0, false)
	cut := b.Review.Failure == runner.Interrupted && b.Review.Error != "" // else a confirmed blocker is its answer
	if cut {
		s.closing.cutReviews = append(s.closing.cutReviews, b.N)
	} else {
		s.Assessment.addReview(b)
	}
	if b.Mode == counsel.Light {
		if s.closing.lightRunning = false; cut {
			delete(s.closing.lightReviewed, b.Wave)
		}
		return
	}
	s.endPhase()
	if b.Review.Error != "" {
		if b.Review.Failure != runner.Interrupted {
			s.closing.unansweredReviews++
		}
		return
	}
	s.closing.unansweredReviews = 0
	s.closing.reviewRounds++
	s.closing.reviewedAt, s.closing.openBlockers = s.closing.workCount, b.Blockers > 0
}

func (s *State) applyReviewSkipped(b event.ReviewSkipped) {
	if b.Mode == counsel.Light {
		s.closing.lightReviewed[b.Wave] = s.closing.agentTasksInWave[b.Wave]
	}
}

// applyTasksAdded adds tasks to the plan. It skips tasks whose ids the plan file itself has since taken.
func (s *State) applyTasksAdded(b event.TasksAdded) {
	s.Assessment.ExitSignal, s.Assessment.Gate, s.Assessment.Evidence = false, nil, nil
	if b.Origin == "review" {
		s.closing.openBlockers = false
	}
	if b.Origin == "criteria" {
		s.closing.remediations++
	}
	before := len(s.Plan.Tasks)
	for _, a := range b.Tasks {
		grown, err := s.Plan.WithTasks(b.Wave, json.RawMessage(a.Task))
		if err != nil {
			continue
		}
		s.Plan = grown
		a.Origin = b.Origin
		s.Assessment.Added = append(s.Assessment.Added, a)
	}
	if len(s.Plan.Tasks) > before {
		s.grow(before)
	}
}

// grow updates the state after the plan has grown by the tasks from number before on.
func (s *State) grow(before int) {
	p := s.Plan
	waves, total := p.Waves()
	for s.Waves < total {
		s.Waves++
		s.queue.grow()
		s.Figures.tallies = append(s.Figures.tallies, Tally{})
	}
	keys, fresh := p.Keys(), map[int]bool{} // tasks that wait for added ones have other keys and waves
	for i := range s.Tasks {
		if s.moveToWave(i, waves[i]); s.Tasks[i].Key != keys[i] {
			s.Tasks[i].Key, fresh[i] = keys[i], true
		}
	}
	for i := before; i < len(p.Tasks); i++ {
		s.addTask(keys[i], waves[i])
		s.hold(i, event.Pending, 1)
		fresh[i] = true
	}
	s.irreversibleTasks = s.findIrreversible()
	s.resetFrontier()
	s.files = newFileLocks(func(i int) []string { return exclusiveKeys(&p.Tasks[i]) }, len(p.Tasks))
	for i := range s.Tasks {
		if st := s.Tasks[i].Status; st == event.InProgress || st == event.Verified && !s.stands(i) {
			s.files.acquire(i)
		}
	}
	for i := before; i < len(p.Tasks); i++ {
		s.enqueue(i)
	}
	s.takeEarlier(fresh)
	s.blockBehindFailed(slices.Concat(s.Plan.TasksByWave()...)...)
	s.Assessment.Criteria = append(s.Assessment.Criteria, criteriaOf(p, before)...)
	s.Wave = 0 // the new wave may come before the open one
}

// criteriaOf returns the criteria of the tasks from number from on; if from is 0, those of the plan
// come first. All of them are unmet.
func criteriaOf(p *plan.Plan, from int) []event.Criterion {
	var out []event.Criterion
	add := func(task string, list []plan.Condition) {
		for k, c := range list {
			id := fmt.Sprintf("C-%d", k+1)
			if task != "" {
				id = task + "/" + id
			}
			out = append(out, event.Criterion{ID: id, Task: task, Text: c.Text, Verification: event.Assumption})
		}
	}
	if from == 0 {
		add("", p.Criteria)
	}
	for i := from; i < len(p.Tasks); i++ {
		add(p.Tasks[i].ID, p.Tasks[i].Criteria)
	}
	return out
}
