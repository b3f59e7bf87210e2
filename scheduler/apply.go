package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"wavex/budget"
	"wavex/dag"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
)

// NewState returns the state before the first event.
func NewState(p *plan.Plan) *State {
	s := &State{Plan: p, filePlan: p, durations: map[string]time.Duration{},
		costs: costs{open: map[string]budget.USD{}, done: map[string]budget.USD{}, models: map[string]mean{}}}
	s.clear()
	return s
}

// clear resets every task: a journal holds one run after the other, and the last one counts.
func (s *State) clear() {
	s.Plan = s.filePlan
	clear(s.costs.open)
	p := s.Plan
	waves, total := p.Waves()
	s.Assessment, s.closing = Assessment{Criteria: criteriaOf(p, 0)}, newCompletion(total)
	s.Waves, s.Wave = total, 0
	s.index, s.Tasks = make(map[string]int32, len(p.Tasks)), make([]Task, 0, len(p.Tasks))
	s.queue, s.merges = newQueue(total), mergeQueue{waiting: map[int]int{}}
	s.Figures.tallies = make([]Tally, total+1)
	s.frontier = dag.NewFrontier(p.Graph)
	s.irreversibleTasks = s.findIrreversible()
	s.files = newFileLocks(func(i int) []string { return exclusiveKeys(&p.Tasks[i]) }, len(p.Tasks))
	s.slots, s.deferral = slots{}, deferral{}
	s.groups = map[string]*group{}
	s.strays = map[string]*numbers{}
	s.openWork, s.atCap = map[string]*openJob{}, map[string]cappedAttempt{}
	s.Counts = event.Counts{}
	s.checking, s.Streaks = 0, failureStreaks{}
	s.Stop, s.Ended, s.PauseUntil = nil, nil, time.Time{}
	for i, key := range p.Keys() {
		s.addTask(key, waves[i])
	}
}

// addTask adds the next task of the plan, with its content key and its wave.
func (s *State) addTask(key string, wave int) {
	i := len(s.Tasks)
	id := s.Plan.Tasks[i].ID
	s.index[id] = int32(i)
	s.Tasks = append(s.Tasks, Task{Status: event.Pending, Key: key, Wave: wave, Slot: -1, Next: "first"})
	if n := s.strays[id]; n != nil {
		s.Tasks[i].numbers = *n
	}
	s.Figures.tallies[0].All++
	s.Figures.tallies[wave].All++
	s.queue.members[wave] = append(s.queue.members[wave], int32(i))
	s.Counts.Pending++
}

// numbersOf returns the numbers of a task, also of one that is not in the plan, or not yet: it may be an item of a list
// that is made again.
func (s *State) numbersOf(task string) *numbers {
	if i, ok := s.Index(task); ok {
		return &s.Tasks[i].numbers
	}
	if s.strays[task] == nil {
		s.strays[task] = &numbers{}
	}
	return s.strays[task]
}

// apply changes the state by one event, live or in a replay. No other code changes it. An error
// means that the events of the journal contradict each other.
func (s *State) apply(e event.Event) error {
	s.Seq, s.Time = e.Seq, e.Time
	before := s.Figures.trackSession(e)
	s.Figures.trackWork(e)
	if err := errors.Join(s.requireOpen(e), s.begin(e)); err != nil {
		return err
	}
	switch b := e.Body.(type) {
	case event.RunStarted:
		s.clear()
		s.selectTasks(b.Config.Only)
		s.applyEarlier(b.Earlier)
		s.Config, s.RunStart = b.Config, e.Time
		s.Ledger = budget.NewLedger(b.Config.Limits)
		s.Notional = false
		s.Window = nil
		if s.Origin = b.Origin; b.Origin != nil {
			s.Ledger.Spend(b.Origin.Spent, 0)
		}
		s.startSession(b.Config, e.Time)
	case event.RunResumed:
		s.selectTasks(b.Config.Only)
		s.reopen(b)
		s.applyDoubts(b.Earlier)
		s.startSession(b.Config, e.Time)
		s.nonce = b.Nonce
		s.setLimits()
	case event.WaveStarted:
		s.Wave = min(b.Wave, s.Waves)
		if b.Last {
			s.endDeferral()
		}
	case event.Removed:
		s.Ledger.Spend(b.Cost, 0)
	case event.AttemptStarted:
		s.applyAttemptStarted(b, e.Time)
	case event.AttemptAdopted:
		s.Figures.startActivity(event.Work{Kind: event.Attempt, Task: b.Task, N: b.Attempt}, e.Time)
		return s.applyAttemptAdopted(b)
	case event.TurnEnded:
		return s.applyTurnEnded(b)
	case event.AttemptEnded:
		s.Figures.addAttempt(b, e.Time)
		return s.applyAttemptEnded(b)
	case event.CostCorrected:
		return s.applyCostCorrected(b)
	case event.CounselStarted:
		s.applyCounselStarted(b)
	case event.CounselEnded:
		s.applyCounselEnded(b)
	case event.CounselSkipped:
		if i, ok := s.Index(b.Task); ok && s.Tasks[i].Status == event.Advising {
			s.Tasks[i].Advice = nil
			s.move(i, event.Pending)
		}
	case event.IntegrationStarted:
		if s.merges.running = true; s.Config.Isolation != event.Isolated {
			s.Phase = Verifying // nothing starts meanwhile
		}
	case event.IntegrationEnded:
		s.Figures.Integrated = cmp.Or(b.Commit, s.Figures.Integrated)
		s.applyIntegrationEnded(b)
	case event.DeliveryStarted:
		s.Phase, s.Figures.delivering = Delivering, true
	case event.DeliveryEnded:
		if s.delivery, s.Figures.LastDelivery = &b, &b; !s.Figures.delivering { // by wavex deliver, between sessions
			s.Figures.lastEvent = before
		}
		s.Figures.delivering = false
		s.endPhase()
	case event.CriteriaStarted:
		s.closing.verifications, s.Phase = b.Round, Verifying
		s.open(criteriaKey(b.Round)).criteria = &b
	case event.CriteriaEnded:
		s.applyCriteriaEnded(b)
	case event.ReviewStarted:
		s.applyReviewStarted(b)
	case event.ReviewEnded:
		s.applyReviewEnded(b)
	case event.ReviewSkipped:
		s.applyReviewSkipped(b)
	case event.TasksAdded:
		s.applyTasksAdded(b)
	case event.ItemsAdded:
		s.applyItemsAdded(b)
	case event.GateEnded:
		s.Assessment.Gate, s.Assessment.ExitSignal, s.Assessment.Evidence = &b, b.ExitSignal, s.evidence(s.isReviewed())
	case event.PrecheckStarted:
		s.Phase = Planning
		s.numbersOf(b.Task).Prechecks = b.N
	case event.PrecheckEnded:
		s.applyPrecheckEnded(b)
	case event.RolledBack:
		s.Figures.lastEvent = before // it belongs to no session
		s.applyRolledBack(b)
	case event.Inspected:
		s.Figures.lastEvent = before
	case event.Asked:
		s.approvals.openQuestion = &b
	case event.Answered:
		s.applyAnswered(b)
	case event.Draining:
		s.Stop = &b.Stop
		s.closing.openBlockers = s.closing.openBlockers && b.Stop.Breaker != event.Blockers
	case event.RunEnded:
		s.Phase, s.Ended = Ended, &b
		if b.Status != event.RunComplete { // for example because a person did not confirm it
			s.Assessment.ExitSignal = false
		}
	case event.Notice, event.RequestOpened, event.CallStarted, event.CallEnded, event.StageEnded:
	default:
		return fmt.Errorf("event %d has a body of unknown type %T", e.Seq, b)
	}
	return nil
}

// startSession starts a session of the run.
func (s *State) startSession(c event.Config, at time.Time) {
	s.Config, s.SessionStart, s.Wave = c, at, 0
	s.Phase, s.delivery = Executing, nil
	s.merges.running = false
	s.closing.resetSession()
	s.approvals = approvals{}
	s.Assessment.Gate, s.Assessment.ExitSignal, s.Assessment.Regressions = nil, false, nil
	s.Assessment.Evidence = nil
	s.Limiter = newLimiter(c.Parallel)
	s.deferStuck()
	s.requeue()
}

// endPhase leaves a phase whose work has ended. If the end of the work is recorded after the end of
// the run, the run stays ended.
func (s *State) endPhase() {
	if s.Phase != Ended {
		s.Phase = Executing
	}
}

// resetFrontier rebuilds the frontier from the statuses.
func (s *State) resetFrontier() {
	s.frontier = dag.NewFrontier(s.Plan.Graph)
	for i := range s.Tasks {
		if s.stands(i) || s.IsAllowed(i) {
			s.complete(i)
		}
	}
}

// requeue rebuilds the queue from the statuses.
func (s *State) requeue() {
	for l := range s.queue.lists {
		s.queue.lists[l], s.queue.finishedFront[l] = nil, 0
	}
	s.queue.panels, s.queue.delayed = s.queue.panels[:0], s.queue.delayed[:0]
	for _, i := range s.rankTasks() {
		if s.Tasks[i].Status == event.Pending {
			s.enqueue(int(i))
			s.delayTask(int(i), s.Tasks[i].NotBefore)
		}
	}
	for i := range s.Tasks {
		if s.Tasks[i].Status == event.Advising && s.mayStart(i) {
			s.queue.panels = append(s.queue.panels, int32(i))
		}
	}
}

// enqueue queues a pending task that may start if its blockers are completed. A task that has begun goes first, while
// its session is cached and its advice is fresh.
func (s *State) enqueue(i int) {
	if s.frontier.UnmetBlockers(i) == 0 && s.mayStart(i) {
		list, group := s.queueIndex(s.Tasks[i].Wave), s.limitedGroup(i)
		if s.Tasks[i].Tries > 0 {
			s.queue.setFirst(list, group, i)
		}
		s.queue.push(list, group, i)
	}
}

func (s *State) queueIndex(wave int) int {
	if s.Config.Schedule == event.Eager {
		return 0
	}
	return wave
}

// move sets a task's status and updates every counter. All transitions use it.
func (s *State) move(i int, to event.Status) {
	t := &s.Tasks[i]
	from := t.Status
	t.Status, t.Stop = to, nil
	t.outOfRetries = false
	if to.Finished() && !from.Finished() {
		t.unmet = unmetChecks{} // it is not tried again in this session
	}
	s.queue.removePanel(i)
	s.merges.move(t.Wave, from, to)
	*s.Counts.Of(from)--
	*s.Counts.Of(to)++
	s.Figures.tally(t.Wave, from, -1)
	s.Figures.tally(t.Wave, to, 1)
	s.countInGroup(i, from, to)
	s.hold(i, from, -1)
	s.hold(i, to, 1)
	s.closing.countMove(t.Wave, to, s.Plan.Tasks[i].Command == "" && t.Earlier == nil, s.Left(t.Wave))
	switch to {
	case event.Completed, event.Verified:
		if s.stands(i) {
			for _, d := range s.complete(i) {
				s.enqueue(d)
			}
		}
	case event.Failed, event.Blocked:
		s.passAllowed(i)
	case event.Pending:
		s.enqueue(i)
	case event.Advising:
		if s.mayStart(i) {
			s.queue.panels = append(s.queue.panels, int32(i))
		}
	}
}

// Replay applies a journal to the state. Its error names the record that does not fit.
func (s *State) Replay(events []event.Event) error {
	for _, e := range events {
		if err := s.apply(e); err != nil {
			return fmt.Errorf("journal record %d: %w", e.Seq, err)
		}
	}
	return nil
}

// Learn takes the durations and the costs of tasks from the records of earlier runs. The durations serve as
// estimates for tasks without one in the plan. A replay learns as well.
func (s *State) Learn(events []event.Event) {
	for _, e := range events {
		switch b := e.Body.(type) {
		case event.RunStarted:
			clear(s.costs.open)
		case event.CounselEnded:
			s.learnCost(b.Task, b.Verdict.Cost, false)
		case event.AttemptEnded:
			s.learn(b)
			s.learnCost(b.Task, b.Result.Cost, b.Result.Outcome == runner.Done)
		case event.CostCorrected:
			s.correctCost(b.Task, b.Cost-b.Was)
		}
	}
}

// onStart returns the beginning of a session. That of a further one has the tasks that get another chance.
func onStart(s *State, start event.Body) event.Body {
	b, ok := start.(event.RunResumed)
	if !ok {
		return start
	}
	b.Retried = s.retriedTasks(b.Config)
	b.Users = s.usersOfRetried(b.Retried)
	return b
}
