package scheduler

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"wavex/counsel"
	"wavex/dag"
	"wavex/internal/plan"
	"wavex/runner"
)

// This file applies the events of verifications, reviews and the gate. gate.go makes the decisions.

// closing holds the progress of verification and review.
type closing struct {
	work     int    // counts completed tasks; evidence from a lower count is out of date
	checked  int    // work at the last verification of all criteria; -1: none in this session
	looked   int    // the same, including verifications after waves
	vain     int    // verifications of all criteria in a row that ended with an error, in this session
	vainly   string // error of the last of them
	reviewed int    // work at the last thorough review; -1: none counts
	silent   int    // thorough reviews without an answer in a row, in this session
	rounds   int    // thorough reviews with an answer, in this session
	mended   int    // times that tasks were added for unmet criteria, in this session

	changes   int // grows with every event that may change files: ends of attempts, integrations, sessions
	session   int // changes when this session began
	rechecked int // changes when tasks' own checks were last repeated; -1: not in this session

	verifications int          // of the run
	reviews       int          // of the run, of both modes
	lit           map[int]bool // waves whose light review has started or was skipped
	lighting      bool         // a light review is running
	due           []int        // finished waves in which agents worked, in the order of their ends
	agents        int          // number of tasks that agents completed
	inWave        map[int]int  // the same by wave
	planned       int          // number of waves in the plan file
	cut           []int        // numbers of interrupted reviews
}

func newClosing(planned int) closing {
	return closing{checked: -1, looked: -1, reviewed: -1, rechecked: -1, lit: map[int]bool{}, inWave: map[int]int{},
		planned: planned}
}

// moved updates the counters when a task changes its status.
func (c *closing) moved(wave int, to Status, agent bool, left int) {
	if to == Completed {
		c.work++
		if agent {
			c.agents++
			c.inWave[wave]++
		}
	}
	if to.Settled() && left == 0 && c.inWave[wave] > 0 && !c.lit[wave] && wave <= c.planned {
		c.due = append(c.due, wave)
	}
}

// begin resets the facts that hold only within a session, because people work on the files between
// sessions. A review that passed stays valid; one that did not pass can be repeated.
func (c *closing) begin() {
	c.checked = -1
	c.looked = -1
	c.vain = 0
	c.vainly = ""
	c.rounds = 0
	c.mended = 0
	c.silent = 0
	c.lighting = false
	c.changes, c.rechecked = c.changes+1, -1
	c.session = c.changes
}

// CutShort returns the numbers of interrupted reviews. Some of their answers may have been paid
// for.
func (s *State) CutShort() []int { return slices.Clone(s.cut) }

func criteriaKey(round int) string { return fmt.Sprintf("/criteria-%d", round) }
func reviewKey(n int) string       { return fmt.Sprintf("/review-%d", n) }

func (s *State) criteriaStarted(b CriteriaStarted) error {
	if err := s.Ledger.Reserve(criteriaKey(b.Round), b.Cap, false); err != nil {
		return fmt.Errorf("verification %d of the criteria: %w", b.Round, err)
	}
	s.open[criteriaKey(b.Round)] = b
	s.verifications, s.busy, s.rechecking = b.Round, true, len(b.Rechecks) > 0
	return nil
}

func (s *State) criteriaEnded(b CriteriaEnded) {
	if _, open := s.open[criteriaKey(b.Round)]; open {
		delete(s.open, criteriaKey(b.Round))
		s.Ledger.Settle(criteriaKey(b.Round), b.Cost, 0, false)
		s.busy, s.rechecking = false, false
	} else { // of `wavex verify`, which reserves nothing
		s.Ledger.Spend(b.Cost, 0)
	}
	s.looked = s.work
	switch {
	case b.Error != "" && b.Wave == 0:
		s.vain, s.vainly = s.vain+1, b.Error
		return
	case b.Error != "":
		return // the verification at the end covers all criteria
	}
	s.settle(b.Criteria)
	if b.Wave == 0 {
		s.checked, s.vain, s.rechecked = s.work, 0, s.changes
	}
	if b.Rechecked != nil {
		s.Regressions = b.Rechecked.Regressions
	}
	for _, c := range s.Criteria {
		if !c.Met {
			s.ExitSignal = false
		}
	}
}

// Unsettled returns the gate of a completed run after a later verification found failures: it does
// not pass any more.
func Unsettled(s *State, against []string) GateEnded {
	const most = 5
	what := strings.Join(against[:min(len(against), most)], "; ")
	if more := len(against) - most; more > 0 {
		what += fmt.Sprintf("; and %d more", more)
	}
	g := GateEnded{Reasons: []string{"verified again, this does not hold: " + what}, Review: "off"}
	if s.Gate != nil {
		g.Review = s.Gate.Review
	}
	return g
}

// AfterVerification returns the end of such a run. It can be resumed.
func AfterVerification(s *State) RunEnded {
	e := RunEnded{Status: "failed", ExitCode: 1, Reason: "the gate refused", Resume: resumeCommand(s),
		Tasks: s.Counts, Cost: s.Ledger.Spent(), CostUSD: s.Ledger.Spent().Float(),
		Iterations: s.Ledger.Iterations(), Notional: s.Notional}
	if s.Gate != nil {
		e.Reason += ": " + strings.Join(s.Gate.Reasons, "; ")
	}
	return e
}

func (s *State) reviewStarted(b ReviewStarted) error {
	if err := s.Ledger.Reserve(reviewKey(b.N), b.Cap, false); err != nil {
		return fmt.Errorf("review %d: %w", b.N, err)
	}
	s.open[reviewKey(b.N)] = b
	s.reviews = b.N
	if b.Mode == counsel.Light {
		s.lit[b.Wave], s.lighting = true, true
	} else {
		s.busy = true
	}
	return nil
}

func (s *State) reviewEnded(b ReviewEnded) {
	delete(s.open, reviewKey(b.N))
	s.Ledger.Settle(reviewKey(b.N), b.Review.Cost, 0, false)
	cut := b.Review.Failure == runner.Interrupted
	if cut {
		s.cut = append(s.cut, b.N)
	} else {
		s.keep(b)
	}
	if b.Mode == counsel.Light {
		s.lit[b.Wave], s.lighting = !cut, false
		return
	}
	s.busy = false
	if b.Review.Error != "" {
		if b.Review.Failure != runner.Interrupted {
			s.silent++
		}
		return
	}
	s.silent = 0
	s.rounds++
	s.reviewed = s.work
}

func (s *State) reviewSkipped(b ReviewSkipped) {
	if b.Mode == counsel.Light {
		s.lit[b.Wave] = true
	}
}

// tasksAdded adds tasks to the plan. It skips tasks whose ids the plan file itself has since taken.
func (s *State) tasksAdded(b TasksAdded) {
	s.ExitSignal, s.Gate = false, nil
	if b.Origin == "criteria" {
		s.mended++
	}
	before := len(s.Plan.Tasks)
	for _, a := range b.Tasks {
		grown, err := s.Plan.With(b.Wave, json.RawMessage(a.Task))
		if err != nil {
			continue
		}
		s.Plan = grown
		a.Origin = b.Origin
		s.Added = append(s.Added, a)
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
		s.queue.lists, s.queue.heads = append(s.queue.lists, nil), append(s.queue.heads, 0)
		s.queue.left, s.queue.members, s.queue.turns = append(s.queue.left, 0), append(s.queue.members, nil),
			append(s.queue.turns, 0)
	}
	s.hard = s.irreversible()
	s.frontier = dag.NewFrontier(p.Graph)
	for i := range s.Tasks {
		if s.Tasks[i].Status == Completed {
			s.frontier.Complete(i)
		}
	}
	s.files = newFileLocks(func(i int) []string { return holds(&p.Tasks[i]) }, len(p.Tasks))
	for i := range s.Tasks {
		if s.Tasks[i].Status == InProgress {
			s.files.take(i)
		}
	}
	for i, keys := before, p.Keys(); i < len(p.Tasks); i++ {
		s.index[p.Tasks[i].ID] = int32(i)
		s.Tasks = append(s.Tasks, Task{Status: Pending, Key: keys[i], Wave: waves[i], Slot: -1, Next: "first"})
		s.queue.left[waves[i]]++
		s.queue.members[waves[i]] = append(s.queue.members[waves[i]], int32(i))
		s.Counts.Pending++
		s.enqueue(i)
	}
	s.Criteria = append(s.Criteria, criteriaOf(p, before)...)
	s.Wave = 0 // the new wave may come before the open one
}

// criteriaOf returns the criteria of the tasks from number from on; if from is 0, those of the plan
// come first. All of them are unmet.
func criteriaOf(p *plan.Plan, from int) []Criterion {
	var out []Criterion
	add := func(task string, list []plan.Condition) {
		for k, c := range list {
			id := fmt.Sprintf("C-%d", k+1)
			if task != "" {
				id = task + "/" + id
			}
			out = append(out, Criterion{ID: id, Task: task, Text: c.Text, Verification: Assumption})
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
