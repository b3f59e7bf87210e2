package runlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"wavex/budget"
	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/safefile"
	"wavex/runner"
	"wavex/scheduler"
)

// This file prices the work that was under way when a wavex ended, by the files that it left. Every
// command that shows the cost of a run uses it, and so does the resume that records the cost. It
// ends no process and changes no file.

// Recovery prices the unfinished work of a run. It is a scheduler.Recovery.
type Recovery struct {
	Loop   loop.Dir // the .loop directory
	Run    string
	Agent  string // the name of the agent whose work it was
	Prices budget.Prices
	// Elsewhere means that workers make the attempts, which may go on.
	Elsewhere bool
}

// Adopts returns false: the attempts of this machine end with their session.
func (l Recovery) Adopts(event.AttemptStarted) bool { return false }

// Attempt returns the result of an attempt whose end is not on record.
func (l Recovery) Attempt(e event.AttemptStarted) runner.Result {
	res := runner.Result{Outcome: runner.Interrupted, Reason: "wavex ended before the attempt did", Contained: true}
	logs := l.Loop.Task(l.Run, e.Task, loop.Attempt(e.Attempt))
	spent, session, err := recoverCost(logs, l.Agent, l.Prices, e.Cap)
	_, missing := os.Lstat(filepath.Join(logs, loop.StreamFile))
	switch { // an unknown charge is at most the cap
	case err != nil:
		spent.Cost, spent.Priced = max(spent.Cost, e.Cap), "cap"
		res.Reason += ", and its stream cannot be read: " + err.Error()
	case l.Elsewhere && missing != nil && e.Cap > 0:
		spent.Cost, spent.Priced = e.Cap, "cap"
		res.Reason += ", which may go on with its worker"
	}
	res.Cost, res.Priced = spent.Cost, spent.Priced
	res.Usage = spent.Usage
	res.Session = session
	if session != "" {
		res.Turns = 1 // there is a conversation to continue
	}
	return res
}

// Cost returns the cost of the calls of a task's panel, or without a task of a review, a verification or a challenge.
func (l Recovery) Cost(task, calls string, limit budget.USD) budget.USD {
	if task != "" {
		return RecoverCalls(l.Loop.Task(l.Run, task, calls), l.Agent, l.Prices, limit)
	}
	return RecoverCalls(l.Loop.Calls(l.Run, calls), l.Agent, l.Prices, limit)
}

// recoverCost is agent.Program.RecoverCost for the program of an agent's name.
func recoverCost(logs, who string, prices budget.Prices, limit budget.USD) (runner.Bill, string, error) {
	p, err := agent.Lookup(who)
	if err != nil {
		return runner.Bill{}, "", err
	}
	return p.RecoverCost(logs, prices, limit)
}

// RecoverCalls returns the cost of the calls of an agent below a directory, by the files that they left. It is at
// least limit if a call cannot be priced. If the directory is missing no expert was asked.
func RecoverCalls(dir, who string, prices budget.Prices, limit budget.USD) (cost budget.USD) {
	calls, err := safefile.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return limit
	}
	known := true
	for _, c := range calls {
		logs := filepath.Join(dir, c.Name())
		if _, err := os.Stat(filepath.Join(logs, "request.json")); err == nil {
			known = false // an older wavex asked the API itself: the cost is not recorded anywhere
			continue
		}
		spent, _, err := recoverCost(logs, who, prices, 0)
		cost += spent.Cost
		known = known && err == nil && spent.Priced != "cap"
	}
	if !known {
		return max(cost, limit)
	}
	return cost
}

// UnfinishedEnds returns the end events of everything that a run left open, as a resume records them, with
// the prices that the run was started with.
func UnfinishedEnds(s *scheduler.State, dir loop.Dir) []event.Body {
	return s.SettleUnfinished(Recovery{Loop: dir, Run: s.Config.Run, Agent: s.Config.Agent,
		Prices: loadPrices(s.Config.Prices), Elsewhere: s.Config.Workers.Engine != ""})
}

// loadPrices reads a price table over the embedded one. If the table cannot be read, it returns the
// embedded one; a resume reports that.
func loadPrices(path string) budget.Prices {
	var overlay []byte
	if path != "" {
		overlay, _ = os.ReadFile(path)
	}
	p, err := budget.LoadPrices(overlay)
	if err != nil {
		p, _ = budget.LoadPrices(nil) // embedded and tested
	}
	return p
}

// ReadSettled returns the events of all runs in a .loop directory, and whether a process works on the last
// one. If the last run was cut off, its events include the cost of unfinished work.
func ReadSettled(dir loop.Dir) (events []event.Event, alive bool, err error) {
	events, err = Read(dir)
	alive = journal.Locked(dir)
	last := Last(events)
	if err != nil || alive || last == nil || last.Ended != nil {
		return events, alive, err
	}
	p, err := LoadForDisplay(dir, "", "")
	if err != nil || p.Settle() != nil {
		return events, alive, nil // without the plan only the recorded cost is known
	}
	return p.Events, p.Alive, nil
}

// Settled returns a run that was cut off, with the cost of unfinished work. events are those of its journal, and p is
// its plan.
func Settled(p *plan.Plan, events []event.Event, dir loop.Dir) (*History, error) {
	h := &History{Loop: dir, Events: events}
	if err := h.replay(p); err != nil {
		return nil, err
	}
	return h, h.Settle()
}

// Settle adds the cost of unfinished work to state and events of a run that was cut off, for commands that show it. A
// command that adds to the journal must not call it.
func (p *History) Settle() error {
	if p.Alive || len(p.Events) == 0 || p.State.Ended != nil {
		return nil
	}
	last := p.Events[len(p.Events)-1].Time
	p.Events = slices.Clip(p.Events)
	for _, b := range UnfinishedEnds(p.State, p.Loop) {
		e := event.Event{Seq: p.State.Seq + 1, Time: last, Body: b}
		if err := p.State.Replay([]event.Event{e}); err != nil {
			return err
		}
		p.Events = append(p.Events, e)
	}
	return nil
}
