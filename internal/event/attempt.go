package event

import (
	"time"

	"wavex/budget"
	"wavex/runner"
)

// AttemptStarted reserves money and an iteration. It is written before the process exists.
type AttemptStarted struct {
	Task      string `json:"task"`
	Key       string `json:"key"` // content key of the task (plan.Key)
	Wave      int    `json:"wave"`
	Attempt   int    `json:"attempt"`   // from 1, counting every start
	Try       int    `json:"try"`       // from 1, counting the first try and retries only
	Iteration int    `json:"iteration"` // of the run, from 1; an iteration that was not charged is counted again
	// Why is "first", "retry", "continue" (more money), "again" (its end was not a failed try), or WhyChecks.
	Why     string     `json:"why"`
	Slot    int        `json:"slot"`
	Session string     `json:"session"`
	Resume  bool       `json:"resume,omitempty"`  // continues the session
	Cap     budget.USD `json:"cap,omitempty"`     // micro-dollars reserved; 0: no limit
	Advised bool       `json:"advised,omitempty"` // counsel's advice is in the prompt
}

// WhyChecks is AttemptStarted.Why of an attempt that checks the work of a turn that has ended.
const WhyChecks = "checks"

// AttemptAdopted says that the session goes on with an attempt of an earlier session, which ran on elsewhere. Its
// reservation and its slot stay as they were.
type AttemptAdopted struct {
	Task    string `json:"task"`
	Attempt int    `json:"attempt"`
}

// TurnEnded records the end of an agent's turn before its work is checked. The cost of the turn
// replaces the attempt's reservation.
type TurnEnded struct {
	Task    string      `json:"task"`
	Key     string      `json:"key"`
	Attempt int         `json:"attempt"`
	Turn    runner.Turn `json:"turn"`
}

// AttemptEnded is one decision: the result of an attempt and all its consequences.
type AttemptEnded struct {
	Task    string        `json:"task"`
	Key     string        `json:"key"`
	Attempt int           `json:"attempt"`
	Result  runner.Result `json:"result"`
	Charged bool          `json:"charged"` // counts as an iteration

	Status     Status    `json:"status"` // the task's status after the event
	Stuck      int       `json:"stuck"`  // the task's stuckCount after the event
	NotBefore  time.Time `json:"not_before,omitzero"`
	Continue   bool      `json:"continue,omitempty"` // the next attempt continues the session
	Blocked    []string  `json:"blocked,omitempty"`  // tasks that can no longer start
	PauseUntil time.Time `json:"hold,omitzero"`      // nothing starts before this time (usage limit, throttling)
	Stop       *Stop     `json:"stop,omitempty"`     // no work starts any more
	// TaskStop is the breaker that stopped the task, which has failed until the next session.
	TaskStop *Stop  `json:"task_stop,omitempty"`
	Note     string `json:"note,omitempty"` // explanation for the user
}

// CostCorrected says what an attempt has cost that was counted at its cap, because its worker was lost. The worker told
// its result later.
type CostCorrected struct {
	Task    string       `json:"task"`
	Key     string       `json:"key"` // content key of the task
	Attempt int          `json:"attempt"`
	Was     budget.USD   `json:"was"`    // micro-dollars, as counted before
	Cost    budget.USD   `json:"cost"`   // micro-dollars, instead of Was
	Priced  string       `json:"priced"` // see runner.Result
	Usage   runner.Usage `json:"usage"`  // tokens; none were counted before
}

// Correct returns the result of the attempt with its cost.
func (b CostCorrected) Correct(r runner.Result) runner.Result {
	r.Cost, r.Priced, r.Usage = b.Cost, b.Priced, b.Usage
	return r
}

func (AttemptStarted) Type() string { return "attempt_started" }
func (AttemptAdopted) Type() string { return "attempt_adopted" }
func (TurnEnded) Type() string      { return "turn_ended" }
func (AttemptEnded) Type() string   { return "attempt_ended" }
func (CostCorrected) Type() string  { return "cost_corrected" }
