package scheduler

import (
	"cmp"
	"errors"
	"fmt"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
)

// This file forecasts the cost of the tasks that are left. It decides how many of the tasks that could
// start the money suffices for, and how much more a run needs that has reached a limit.

// costs holds the costs of tasks, with their retries and panels, over all runs of the journal.
type costs struct {
	open   map[string]budget.USD // by task: spent since it was last done
	done   map[string]budget.USD // by task: when it was last done
	models map[string]mean       // of the tasks of the plan, by their model
	all    mean
}

// mean is the mean of n amounts.
type mean struct {
	sum budget.USD
	n   int64
}

func (m mean) value() budget.USD { return m.sum / budget.USD(max(m.n, 1)) }

// learnCost adds the cost of an attempt or a panel to its task. done reports whether the task is done.
func (s *State) learnCost(task string, cost budget.USD, done bool) {
	c := &s.costs
	if c.open[task] += cost; !done || c.open[task] == 0 {
		return
	}
	add := mean{c.open[task] - c.done[task], 1}
	if c.done[task] > 0 {
		add.n = 0 // it replaces the earlier amount
	}
	c.done[task] = c.open[task]
	delete(c.open, task)
	c.all = mean{c.all.sum + add.sum, c.all.n + add.n}
	if i, ok := s.Index(task); ok {
		m := c.models[s.model(i)]
		c.models[s.model(i)] = mean{m.sum + add.sum, m.n + add.n}
	}
}

// correctCost adds a difference to the cost of an attempt at a task: to the open part, unless the task was done since.
func (s *State) correctCost(task string, more budget.USD) {
	c := &s.costs
	if open, there := c.open[task]; there && open+more >= 0 {
		c.open[task] = open + more
		return
	}
	if c.done[task] == 0 {
		return
	}
	more = max(more, -c.done[task])
	c.done[task] += more
	c.all.sum += more
	if i, ok := s.Index(task); ok {
		m := c.models[s.model(i)]
		c.models[s.model(i)] = mean{m.sum + more, m.n}
	}
}

func (s *State) model(i int) string {
	if own := s.Plan.Tasks[i].Settings; own != nil && own.Model != "" {
		return own.Model
	}
	return s.Plan.Defaults.Model
}

// expectedCost returns what task i is expected to cost until it is done, in micro-dollars: as much as last time,
// or as the tasks with its model, else the plan's estimate. A task that has used up its cap continues: it
// needs the part of that amount that it has not spent, at least half of its cost so far.
func (s *State) expectedCost(i int) budget.USD {
	p, c := &s.Plan.Tasks[i], &s.costs
	if p.Command != "" {
		return 0
	}
	cost := cmp.Or(c.done[p.ID], c.models[s.model(i)].value(), p.Estimate.USD, c.all.value(), plan.DefaultCost)
	if s.Tasks[i].Next == nextReason(runner.OverCap) {
		spent := c.open[p.ID]
		cost = max(cost-spent, spent/2)
	}
	return cost
}

// neededCost returns the money that must be there before task i starts: a quarter above its expected cost, so that most
// tasks finish although costs vary.
func (s *State) neededCost(i int) budget.USD {
	cost := max(s.expectedCost(i)*5/4, budget.MinReservation)
	if own := s.taskBudget(i); own > 0 {
		cost = min(cost, own)
	}
	return cost
}

// fund returns the cap for the first of the tasks that could start. Each of them gets the money it needs, and an even
// part of the remaining money. If the money does not suffice for all of them, fewer start. wait reports that it
// does not suffice for the first one before other work has ended; short is the limit if there is too little for any
// attempt.
func (s *State) fund(ready []int) (limit budget.USD, wait bool, short *budget.LimitError) {
	i := ready[0]
	own, free := s.taskBudget(i), s.Ledger.Available()
	n, sum := s.fundable(ready, free)
	busy := s.Running() > 0 || s.closing.lightRunning
	limit, ok := s.Ledger.Share(max(n, 1), own)
	switch {
	case !ok:
		return 0, busy, s.Ledger.Shortage()
	case n == 0: // only reserved money can be released
		return limit, busy && s.Ledger.Reserved() > 0, nil
	}
	if limit > 0 { // there is a limit
		limit = s.neededCost(i) + (free-sum)/budget.USD(n+s.comingTasks(len(ready)))
		if own > 0 {
			limit = min(limit, own)
		}
	}
	return limit, false, nil
}

// fundable returns how many of the tasks that could start an amount suffices for, and what those need.
func (s *State) fundable(ready []int, free budget.USD) (n int, sum budget.USD) {
	for _, j := range ready {
		need := s.neededCost(j)
		if need > free-sum {
			break
		}
		n, sum = n+1, sum+need
	}
	return n, sum
}

// unreserved returns the number of slots for which no money is reserved: those that are free, and those of attempts
// whose turn has ended.
func (s *State) unreserved() int {
	return s.Limiter.Limit - s.Running() + s.checking
}

// comingTasks returns the number of tasks for which money is kept, besides the ready tasks that could start now. In the
// eager schedule each end of an attempt and each integration may release another task.
func (s *State) comingTasks(ready int) int {
	if s.Config.Schedule != event.Eager {
		return 0
	}
	unfinished := s.Running()
	for _, n := range s.merges.waiting {
		unfinished += n
	}
	return max(0, min(s.unreserved()-ready, s.Left(0)-unfinished-ready, unfinished))
}

// limitStop returns the stop at one of the run's limits. Its advice raises the limit by the forecast for the
// rest of the plan.
func (s *State) limitStop(err error) event.Stop {
	st := *event.NewStop(event.RunPaused, err.Error(), "")
	var le *budget.LimitError
	if !errors.As(err, &le) {
		return st
	}
	st.Limit = le.Limit
	more := map[string]string{budget.LimitTokens: "+1000000", budget.LimitWall: "1h"}[le.Limit]
	switch le.Limit {
	case budget.LimitMoney:
		more = s.missingMoney(le).Raise()
	case budget.LimitIterations:
		more = fmt.Sprintf("+%d", s.missingIterations())
	}
	st.Advice = le.Flag() + " " + more
	return st
}

// isLeft reports whether task i needs another attempt with a turn, also in a resume: a failed task stays failed.
func (s *State) isLeft(i int) bool {
	t := &s.Tasks[i]
	return !t.Status.Finished() && t.Status != event.Verified && t.Turn == nil
}

// missingMoney returns the money above the limit that the remaining tasks are expected to cost. If no task remains, it
// uses the cost of another job.
func (s *State) missingMoney(le *budget.LimitError) budget.USD {
	cost, left := budget.USD(0), false
	for i := range s.Tasks {
		if s.isLeft(i) {
			cost, left = cost+s.expectedCost(i), true
		}
	}
	if !left {
		cost = plan.DefaultCost // of a job
	}
	return s.Ledger.Spent() + cost - budget.USD(le.Value)
}

// missingIterations returns one iteration for each task that is left, and as many retries as tasks have needed, at
// least for every fourth.
func (s *State) missingIterations() int {
	left := 0
	for i := range s.Tasks {
		if s.isLeft(i) {
			left++
		}
	}
	made := max(s.Ledger.Charged()-s.Counts.Completed, 0) * left / max(s.Counts.Completed, 1)
	return max(left, 1) + min(max(made, (left+3)/4), left*s.Config.MaxRetries)
}
