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

// This file applies the events by which a run comes to a verdict on its own work. It
// decides nothing; gate.go does.

// closing is how far the verdict on the work has come.
type closing struct {
	work     int    // grows with each completed task: what was shown before says nothing of it
	checked  int    // work at the last verification of the criteria; -1: none in this session
	looked   int    // the same, of those after waves too
	vain     int    // verifications of all criteria in a row that could not be made, in this session
	vainly   string // why the last could not
	reviewed int    // work at the last thorough review; -1: none that counts
	silent   int    // thorough reviews in a row that gave no answer, in this session
	rounds   int    // thorough reviews of this session that gave one
	mended   int    // times that tasks were added for unmet criteria, in this session

	changes   int // grows with whatever may have changed files: ends of attempts, integrations, sessions
	session   int // changes when this session began
	rechecked int // changes when tasks' own checks were made again; -1: not in this session

	verifications int          // of the run
	reviews       int          // of the run, of either mode
	lit           map[int]bool // waves whose light review has begun or was skipped
	lighting      bool         // a light review is under way
	due           []int        // waves in which agents have worked, in the order they were done with
	agents        int          // tasks that agents completed
	inWave        map[int]int  // the same by wave
	planned       int          // waves of the plan file
	cut           []int        // reviews that were cut short, by number
}

func newClosing(planned int) closing {
	return closing{checked: -1, looked: -1, reviewed: -1, rechecked: -1, lit: map[int]bool{}, inWave: map[int]int{}, planned: planned}
}

// moved counts what a task's move means for reviews.
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

// begin forgets what only a session may rely on: people work on the files in between. A
// review that passed stays; one that did not has another chance.
func (c *closing) begin() {
	c.checked, c.looked, c.vain, c.vainly = -1, -1, 0, ""
	c.rounds, c.mended, c.silent, c.lighting = 0, 0, 0, false
	c.changes, c.rechecked = c.changes+1, -1
	c.session = c.changes
}

// CutShort lists the reviews that were cut short, by number: some of their answers may
// have been paid for.
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
		return // all are verified in the end
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

// Unsettled is the gate of a run that was complete and of which a verification found, since,
// that something does not hold: it does not pass any more.
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

// AfterVerification is the end of such a run, which a resume goes on with.
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

// tasksAdded lets the plan grow. Tasks whose ids an edit of the plan file has taken are
// the file's own now, and are passed over.
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

// grow brings the state up to a plan that has tasks from number before on that the
// state does not know.
func (s *State) grow(before int) {
	p := s.Plan
	waves, total := p.Waves()
	for s.Waves < total {
		s.Waves++
		s.queue.lists, s.queue.heads = append(s.queue.lists, nil), append(s.queue.heads, 0)
		s.queue.left, s.queue.members, s.queue.turns = append(s.queue.left, 0), append(s.queue.members, nil), append(s.queue.turns, 0)
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
	s.Wave = 0 // the new wave may be behind the one that is open
}

// criteriaOf lists what the plan asks to be true in the end: of tasks from number from
// on, and, when that is 0, the plan's own before them. Nothing is shown yet.
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
