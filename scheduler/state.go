package scheduler

import (
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/dag"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
)

// numbers counts the starts of work at a task. They name its folders, so they go on after an edit of the task.
type numbers struct {
	Attempts, Panels, Prechecks int
	Began                       int64 // Event.Seq of the start of its first attempt; 0: none began
}

// Task holds the run's knowledge of one task beyond the plan.
type Task struct {
	Status event.Status
	Key    string // content key
	Wave   int    // from 1
	numbers
	Tries             int // first try and retries; MaxRetries bounds it
	TransientFailures int // starts in a row that failed through no fault of the task
	FreeRetries       int // attempts that were refused or broke off, which do not count as tries
	cutPanels         int // panels in a row that were cut off
	Stuck             int // stuckCount
	Slot              int // of the running attempt or panel; -1: none

	NotBefore time.Time // backoff
	Continue  bool      // the next attempt continues Session
	Next      string    // reason of the next attempt: "first", "retry", "continue", "again"
	Session   string
	Turn      *runner.Turn // the last turn, whose work is not checked yet; nil: none

	Commit        string         // commit of its work, with isolation; "" before
	Edited        bool           // its last attempt changed files, see runner.Result.Edited
	Last          *runner.Result // of the last attempt; nil before
	lastAttempt   int            // the attempt of Last
	Advice        *counsel.Verdict
	PastAdvice    []string           // advice that was already followed
	Challenge     *counsel.Challenge // for a task of reversibility 1; nil before its pre-check
	Consulted     []string           // experts asked
	History       []string           // reasons of failed attempts, oldest first
	SameError     int                // failures in a row with the same signature as the last
	LastSignature string             // that signature

	Cost            budget.USD // attempts and panels
	Refused         int        // tool calls of all attempts that the policy did not let run
	CounselCost     budget.USD
	Usage           runner.Usage
	Took            time.Duration // sum over all attempts
	Started         time.Time     // of the running attempt
	RootCause       string        // for a blocked task: the failed task
	Stop            *event.Stop   // the breaker that stopped this failed task; nil: none did
	outOfRetries    bool          // it failed because its retries are used up
	unmet           unmetChecks
	ApprovedAttempt int // the attempt whose retry a person agreed to

	Earlier        *event.EarlierTask // completed by an earlier run: up to date, or not decided yet; nil: no
	ChangedAt      int                // number of the last change by this task, see completion.changeCount; 0: none yet
	PassedAt       int                // number of the last change after which its checks passed; 0: never
	redBefore      bool               // its checks failed before one of its attempts
	checksFailed   bool               // an attempt failed by its checks
	checksFrom     int                // number of the last change before its checks began
	IntegratedWave int                // the wave with which it was integrated
}

// Phase is the part of a run that is under way. In Executing the loop decides the next step. In each
// other phase it waits for the event that ends the phase, and only watches the deadline in Verifying.
type Phase uint8

// The phases of a run. docs/design.md has a picture of their order.
const (
	Planning   Phase = iota // before the run's first record, and while a pre-check decides about a task
	Executing               // attempts and panels run; the next step is decided
	Verifying               // criteria are verified, or tasks' own checks repeated
	Reviewing               // the thorough review runs
	Delivering              // the work is brought from its worktrees to the user
	Ended                   // RunEnded; RunResumed leads back to Executing
)

// String returns the name of the phase.
func (p Phase) String() string {
	return [...]string{"planning", "executing", "verifying", "reviewing", "delivering", "ended"}[p]
}

// State holds a run's whole knowledge. Only apply changes it.
type State struct {
	Phase  Phase
	Plan   *plan.Plan
	Config event.Config
	Tasks  []Task
	Wave   int // the open wave; 0 before the first
	Waves  int
	Ledger budget.Ledger
	// Window is the last reported usage of the subscription's limit; nil: not reported.
	Window *runner.Window
	// Notional means that attempts use a subscription, which is not billed their cost.
	Notional bool
	warned   [3]string // the first warnings about attempts: their Priced is "table", it is "guess", and Held
	Streaks  failureStreaks

	SessionStart time.Time   // of this session of the run
	nonce        string      // of this session; "" in a run's first session, whose run id is random
	RunStart     time.Time   // of the run
	PauseUntil   time.Time   // no work starts before this time
	Stop         *event.Stop // no work starts any more; may be nil
	Ended        *event.RunEnded
	Seq          int64         // of the last event
	Time         time.Time     // of the last event
	Origin       *event.Origin // the request; may be nil
	Limiter      Limiter       // adaptive limit of concurrent attempts
	checking     int           // number of running attempts whose turn has ended

	Assessment Assessment
	approvals  approvals
	selection  selection
	deferral   deferral

	earlier  earlierWork
	filePlan *plan.Plan // the plan of the file; Plan may have grown since
	closing  completion // progress of verification and review

	irreversibleTasks []int32              // tasks of reversibility 1
	delivery          *event.DeliveryEnded // of this session; nil before

	index     map[string]int32 // task id to node
	groups    map[string]*group
	frontier  *dag.Frontier
	queue     queue
	merges    mergeQueue
	files     fileLocks
	slots     slots
	costs     costs
	durations map[string]time.Duration // duration of the last successful attempt, by task, over all runs of the journal
	strays    map[string]*numbers      // of tasks that are not in the plan, or not yet
	openWork  map[string]*openJob      // by their ledger key
	atCap     map[string]cappedAttempt // attempts on workers whose costs are unknown, by their ledger key
	Counts    event.Counts
	Figures   figures
}

// Output returns the structured result of task i, or nil if its work does not stand, or has none.
func (s *State) Output(i int) *runner.Output {
	t := &s.Tasks[i]
	switch {
	case !s.stands(i):
		return nil
	case t.Earlier != nil:
		return t.Earlier.Output
	case t.Last != nil:
		return t.Last.Output
	}
	return nil
}

// Index returns the number of the task with an id of the plan.
func (s *State) Index(id string) (int, bool) {
	i, ok := s.index[id]
	return int(i), ok
}
