package event

// This file has the facts that several readers take from events, so that they need not tell their types apart.

import (
	"cmp"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/runner"
)

// The facts, as the bodies of events have them.
type (
	beginner interface{ beginning() *Beginning }
	opener   interface{ runID() string }
	finisher interface{ end() *RunEnded }
	reopener interface{ reopens() bool }
	stager   interface{ endsStage() bool }
	starter  interface{ starts() Work }
	ender    interface{ ends() Work }
	spender  interface{ forMoney() bool }
	failer   interface{ failed() []string }
)

// fact returns a fact of an event, or the zero value if the event does not have it.
func fact[B, F any](e Event, of func(B) F) (f F) {
	if b, ok := e.Body.(B); ok {
		f = of(b)
	}
	return f
}

// Beginning is the beginning of a session of a run, the first one or a further one.
type Beginning struct {
	RunStarted // of a further session without Name, Wavex, Origin and Earlier
	Resumed    bool
	Edit       *Edit // of a further session
}

// Beginning returns the beginning of the session that the event begins, or nil.
func (e Event) Beginning() *Beginning { return fact(e, beginner.beginning) }

func (b RunStarted) beginning() *Beginning { return &Beginning{RunStarted: b} }

func (b RunResumed) beginning() *Beginning {
	return &Beginning{RunStarted{Config: b.Config, Plan: b.Plan, Digest: b.Digest, Tasks: b.Tasks, Waves: b.Waves,
		Owner: b.Owner}, true, b.Edit}
}

// Begins reports whether the event begins a run.
func (e Event) Begins() bool {
	b := e.Beginning()
	return b != nil && !b.Resumed
}

// RunID returns the id of the run or request that the event begins or continues, or "".
func (e Event) RunID() string { return fact(e, opener.runID) }

func (b RunStarted) runID() string    { return b.Config.Run }
func (b RunResumed) runID() string    { return b.Config.Run }
func (b RequestOpened) runID() string { return b.Run }

// End returns the end of the session that the event ends, or nil.
func (e Event) End() *RunEnded { return fact(e, finisher.end) }

func (b RunEnded) end() *RunEnded { return &b }

// Reopens reports whether the event lets a run go on that has ended: a person has added tasks, or undone their work.
func (e Event) Reopens() bool { return fact(e, reopener.reopens) }

func (TasksAdded) reopens() bool { return true }
func (RolledBack) reopens() bool { return true }

// EndsStage reports whether the event ends a stage of a request.
func (e Event) EndsStage() bool { return fact(e, stager.endsStage) }

func (StageEnded) endsStage() bool { return true }

// Work is one piece of work of a run, at its start or at its end.
type Work struct {
	Kind    string     // one of the kinds below; "": the event starts or ends no work
	Task    string     // "": work of the whole run
	N       int        // number of the attempt, of the panel of the task, or of the work of its kind
	Wave    int        // of an attempt or a panel, at its start
	Cost    budget.USD // micro-dollars: at most, at the start; in all, at the end
	Charged bool       // at the end of an attempt: it counts as an iteration
	Paid    bool       // at the start of an attempt: the turn whose work it checks has paid
	Tasks   []string   // at the start of an integration
}

// These are the kinds of work.
const (
	Attempt     = "attempt"
	Counsel     = "counsel"
	Precheck    = "precheck"
	Criteria    = "criteria"
	Review      = "review"
	Integration = "integration"
	Delivery    = "delivery"
)

// Starts returns the work that the event starts.
func (e Event) Starts() Work { return fact(e, starter.starts) }

// Ends returns the work that the event ends.
func (e Event) Ends() Work { return fact(e, ender.ends) }

func (b AttemptStarted) starts() Work {
	return Work{Kind: Attempt, Task: b.Task, N: b.Attempt, Wave: b.Wave, Cost: b.Cap, Paid: b.Why == WhyChecks}
}

func (b AttemptEnded) ends() Work {
	return Work{Kind: Attempt, Task: b.Task, N: b.Attempt, Cost: b.Result.Cost, Charged: b.Charged}
}

func (b CounselStarted) starts() Work {
	return Work{Kind: Counsel, Task: b.Task, N: b.Panel, Wave: b.Wave, Cost: b.Cap}
}

func (b CounselEnded) ends() Work {
	return Work{Kind: Counsel, Task: b.Task, N: b.Panel, Cost: b.Verdict.Cost}
}
func (b PrecheckEnded) ends() Work {
	return Work{Kind: Precheck, Task: b.Task, N: b.N, Cost: b.Challenge.Cost}
}

func (b PrecheckStarted) starts() Work {
	return Work{Kind: Precheck, Task: b.Task, N: b.N, Cost: b.Cap}
}
func (b CriteriaStarted) starts() Work    { return Work{Kind: Criteria, N: b.Round, Cost: b.Cap} }
func (b CriteriaEnded) ends() Work        { return Work{Kind: Criteria, N: b.Round, Cost: b.Cost} }
func (b ReviewStarted) starts() Work      { return Work{Kind: Review, N: b.N, Cost: b.Cap} }
func (b ReviewEnded) ends() Work          { return Work{Kind: Review, N: b.N, Cost: b.Review.Cost} }
func (b IntegrationStarted) starts() Work { return Work{Kind: Integration, N: b.Wave, Tasks: b.Tasks} }
func (b IntegrationEnded) ends() Work     { return Work{Kind: Integration, N: b.Wave} }
func (DeliveryStarted) starts() Work      { return Work{Kind: Delivery} }
func (DeliveryEnded) ends() Work          { return Work{Kind: Delivery} }

// Interrupted returns the end of a panel, a pre-check, a verification or a review that was cut off, or nil for the
// start of other work.
func Interrupted(start Body, why string, cost budget.USD) Body {
	if b, ok := start.(interface{ interrupted(string, budget.USD) Body }); ok {
		return b.interrupted(why, cost)
	}
	return nil
}

func (b CounselStarted) interrupted(why string, cost budget.USD) Body {
	return CounselEnded{Task: b.Task, Panel: b.Panel, Again: true,
		Verdict: counsel.Verdict{Unavailable: why, Failure: runner.Interrupted, Cost: cost}}
}

func (b PrecheckStarted) interrupted(why string, cost budget.USD) Body {
	return PrecheckEnded{Task: b.Task, Key: b.Key, N: b.N,
		Challenge: counsel.Challenge{Error: why, Failure: runner.Interrupted, Cost: cost}}
}

func (b CriteriaStarted) interrupted(why string, cost budget.USD) Body {
	return CriteriaEnded{Round: b.Round, Wave: b.Wave, Cost: cost, Error: why}
}

func (b ReviewStarted) interrupted(why string, cost budget.USD) Body {
	return ReviewEnded{N: b.N, Mode: b.Mode, Wave: b.Wave, Round: b.Round,
		Review: counsel.Review{Error: why, Failure: runner.Interrupted, Cost: cost}}
}

// ForMoney reports whether the event gives up work or a panel for want of money. It may be a mere decision so far.
func (e Event) ForMoney() bool { return fact(e, spender.forMoney) }

func (b Draining) forMoney() bool       { return b.Stop.ForMoney() }
func (b CounselSkipped) forMoney() bool { return b.Reason == NoMoneyForPanel }

// Redact returns an event from which clean has removed the secrets. The signature of a failure quotes its reason, and
// is made anew.
func Redact(b Body, clean func(any) any) Body {
	if end, ok := b.(interface{ signed(func(any) any) Body }); ok {
		b = end.signed(clean)
	}
	return clean(b).(Body)
}

func (b AttemptEnded) signed(clean func(any) any) Body {
	was := b.Result
	b.Result = clean(was).(runner.Result)
	if r := &b.Result; r.Signature != "" && (r.Reason != was.Reason || r.Detail != was.Detail) {
		r.Signature = runner.Signature(r.Reason, r.Detail)
	}
	return b
}

// Failed returns the tasks that fail for good with the event, each followed by those that can no longer start.
func (e Event) Failed() []string { return fact(e, failer.failed) }

func (b AttemptEnded) failed() []string {
	if b.Status != Failed {
		return nil
	}
	return append([]string{b.Task}, b.Blocked...)
}

func (b IntegrationEnded) failed() (all []string) {
	for _, r := range b.Reopened {
		if r.Status == Failed {
			all = append(append(all, r.Task), r.Blocked...)
		}
	}
	return all
}

// Changes returns the tasks that the event may have changed, or all: it may be any task.
func (e Event) Changes() (tasks []string, all bool) {
	if b, ok := e.Body.(interface{ changes() []string }); ok {
		return b.changes(), false
	}
	return nil, true
}

func (b AttemptStarted) changes() []string { return []string{b.Task} }
func (b AttemptAdopted) changes() []string { return []string{b.Task} }
func (b TurnEnded) changes() []string      { return []string{b.Task} }
func (b AttemptEnded) changes() []string   { return append([]string{b.Task}, b.Blocked...) }
func (b CostCorrected) changes() []string  { return []string{b.Task} }
func (b CounselStarted) changes() []string { return []string{b.Task} }
func (b CounselEnded) changes() []string   { return []string{b.Task} }
func (b CounselSkipped) changes() []string { return []string{b.Task} }
func (WaveStarted) changes() []string      { return nil }
func (Removed) changes() []string          { return nil }
func (Notice) changes() []string           { return nil }
func (Inspected) changes() []string        { return nil }
func (Draining) changes() []string         { return nil }

// Stops returns the stop of the run and that of a task that the event decides, if it is the end of an attempt or of an
// integration, or a decision of its own to stop.
func (e Event) Stops() (run, task *Stop) {
	if b, ok := e.Body.(interface{ stops() (run, task *Stop) }); ok {
		return b.stops()
	}
	return nil, nil
}

func (b Draining) stops() (run, task *Stop)     { return &b.Stop, nil }
func (b AttemptEnded) stops() (run, task *Stop) { return b.Stop, b.TaskStop }

func (b IntegrationEnded) stops() (run, task *Stop) {
	for _, r := range b.Reopened {
		task = cmp.Or(task, r.TaskStop)
	}
	return b.Stop, task
}

// Activity is one piece of work that has begun and not ended.
type Activity struct {
	Task, Subject string // Task is "" for work of the whole run; Subject is its active title
	Kind          string // of Work; no pre-check
	Attempt       int
	Since         time.Time
	Last          string    // the last sign of life
	At            time.Time // time of Last
	Worker        string    // the worker that makes the attempt; "": this machine
}
