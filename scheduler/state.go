package scheduler

import (
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/dag"
	"wavex/internal/plan"
	"wavex/runner"
)

// Status is where a task stands.
type Status string

// The statuses. A task is ready, which is no status of its own, when it is pending
// and all its blockers are completed.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress" // an attempt is running
	Advising   Status = "advising"    // stuck; a panel is due or running
	Verified   Status = "verified"    // done in a tree of its own; completed once it is integrated
	Completed  Status = "completed"
	Failed     Status = "failed"  // retries spent
	Blocked    Status = "blocked" // a blocker failed
)

// Settled tells whether nothing more happens to the task in this session.
func (s Status) Settled() bool { return s == Completed || s == Failed || s == Blocked }

// Task is what a run knows about one task beyond the plan.
type Task struct {
	Status   Status
	Key      string // content key
	Wave     int    // from 1
	Attempts int    // started, counting every start; also the number of the last one
	Tries    int    // first try and retries; what MaxRetries bounds
	Again    int    // starts in a row that ended through no fault of the task
	Stuck    int    // stuckCount
	Panels   int    // panels convened
	Slot     int    // of the running attempt or panel; -1: none

	NotBefore time.Time // backoff
	Continue  bool      // the next attempt continues Session
	Next      string    // why the next attempt: "first", "retry", "continue", "again"
	Session   string

	Commit    string         // of its work, where it worked in a tree of its own; "" before
	Last      *runner.Result // of the last attempt; nil before
	Advice    *counsel.Verdict
	Earlier   []string           // advice already followed
	Challenge *counsel.Challenge // of a task of reversibility 1; nil before its pre-check
	Prechecks int
	Consulted []string // experts asked
	History   []string // reasons of failed attempts, oldest first
	SameError int      // failures in a row with the signature of the last
	Failure   string   // that signature

	Cost        budget.USD // attempts and panels
	CounselCost budget.USD
	Usage       runner.Usage
	Took        time.Duration // of all attempts
	Started     time.Time     // of the running attempt
	Root        string        // of a blocked task: the task that failed
	Agreed      int           // the attempt whose retry a person agreed to

	Moved int // which of the run's changes was the last by this task, see closing; 0: none yet
	Shown int // the change up to which its checks have passed; 0: they never did
	Stood int // the wave with which it was integrated
}

// State is everything a run knows. Only apply changes it; everything else reads.
type State struct {
	Plan   *plan.Plan
	Config Config
	Tasks  []Task
	Wave   int // the wave that is open; 0 before the first
	Waves  int
	Ledger budget.Ledger
	purses map[int]*budget.Ledger // of waves
	// Window is how far the subscription's usage limit was used up when last told; nil: never.
	Window *runner.Window
	// Notional says that attempts go on a subscription: nobody is billed their dollars.
	Notional bool
	disputed *runner.Result // the first attempt whose Priced is "table"; nil: none
	Unmet    []string       // failing checks of the last stuck attempt, sorted
	Same     int            // stuck attempts in a row with the same Unmet (the loop's breaker counter)

	Began   time.Time // of this session of the run
	nonce   string    // of this session; "" in a run's first one, whose run id is random itself
	Opened  time.Time // of the run
	Hold    time.Time // nothing starts before
	Stop    *Stop     // start nothing more
	Ended   *RunEnded
	Seq     int64
	From    *Origin // the request; nil when there was none
	Fleet   Fleet   // how many may run side by side just now
	running int     // attempts and panels

	Verdicts
	consent

	base    *plan.Plan // of the file; Plan may have grown since
	closing            // how far the verdict on the work has come

	hard []int32 // tasks of reversibility 1
	busy bool    // an integration or the delivery is under way
	// rechecking says that a verification is under way in which tasks' own checks are made again.
	rechecking bool
	delivered  bool
	// undelivered says why the work is not where it was asked to be; "": it is.
	undelivered string
	cold        bool // the wave's first response is still to come, and the rest waits for it

	index    map[string]int32 // task id to node
	frontier *dag.Frontier
	queue    queue
	files    fileLocks
	slots    slots
	ahead    []SpareStarted           // spares, in the order of their start
	took     map[string]time.Duration // the last attempt that was done, by task, over all runs of the journal
	open     map[string]Body          // attempts and panels started and not ended, by their ledger key
	Counts   Counts
}

// Running counts attempts and panels under way.
func (s *State) Running() int { return s.running }

// Index finds a task by the id the plan gives it.
func (s *State) Index(id string) (int, bool) {
	i, ok := s.index[id]
	return int(i), ok
}
