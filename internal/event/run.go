package event

import (
	"time"

	"wavex/budget"
)

// RunStarted opens a run. It freezes Config; a resume uses the same Config except for the flags
// that it is given.
type RunStarted struct {
	Config Config `json:"config"`
	Plan   string `json:"plan"`   // path as given
	Digest string `json:"digest"` // sha256 of the plan file
	Name   string `json:"name,omitempty"`
	Tasks  int    `json:"tasks"`
	Waves  int    `json:"waves"`
	Wavex  string `json:"wavex"`           // version of wavex
	Owner  string `json:"owner,omitempty"` // Claude Code session whose command started wavex; "": none
	// Origin describes the request that the plan comes from; nil if a person wrote the plan.
	Origin *Origin `json:"from,omitempty"`
	// Earlier is the work of an earlier run that may be up to date; nil: there is none.
	Earlier *EarlierWork `json:"earlier,omitempty"`
}

// RunResumed opens a further session of the same run, possibly with other limits and an edited plan.
type RunResumed struct {
	Config Config `json:"config"`
	Plan   string `json:"plan"`
	Digest string `json:"digest"`
	Tasks  int    `json:"tasks"`
	Waves  int    `json:"waves"`
	Owner  string `json:"owner,omitempty"` // as in RunStarted; the last one owns the run
	// Nonce is random and part of the ids of later CLI sessions, which must differ from those that
	// another wavex opens for the same records, for example from a restored backup.
	Nonce string `json:"nonce,omitempty"`
	// Earlier are tasks whose work has to be looked at before the run goes on: completed ones, in another
	// folder, and those that the branch of the run has although they are not completed on record.
	Earlier []EarlierTask `json:"earlier,omitempty"`
	// Edit holds the changes to the plan since the last session; nil: none, or unknown.
	Edit *Edit `json:"edit,omitempty"`
	// Retried are the failed tasks that get another chance, and those that they have blocked.
	Retried []string `json:"retried,omitzero"`
	// Users are completed tasks that run again because they used the outputs of a group whose failed items get another
	// chance, directly or not.
	Users []string `json:"users,omitzero"`
}

// Origin describes the request that a run's plan comes from.
type Origin struct {
	Request       string     `json:"request"`
	SpecScore     int        `json:"spec_score"`
	FitScore      int        `json:"fit_score"`
	Shape         string     `json:"shape"`
	Workflow      string     `json:"workflow"`
	Reversibility string     `json:"reversibility"`
	Recall        []string   `json:"recall_surfaced,omitempty"`
	Spent         budget.USD `json:"spent"` // cost of making the plan; the run's ledger begins with it
}

// Edit lists the changes to a plan since the last session, by ids in the plan's order.
type Edit struct {
	Rerun   []string `json:"again,omitempty"`   // completed tasks that changed, or whose blockers changed
	Changed []string `json:"changed,omitempty"` // the same for tasks that were not completed
	Added   []string `json:"added,omitempty"`
	Dropped []string `json:"dropped,omitempty"`
}

// WaveStarted says that a wave's tasks may start. A resume may emit it again; that is harmless.
type WaveStarted struct {
	Wave  int      `json:"wave"` // from 1
	Of    int      `json:"of"`
	Tasks []string `json:"tasks"` // not yet completed
	// Last means that nothing else can start: the tasks that failed in an earlier session may start too.
	Last bool `json:"last,omitempty"`
}

// Draining says that no work starts any more. Running work may finish.
type Draining struct {
	Stop Stop `json:"stop"`
}

// Notice is a message for the user. It changes no state.
type Notice struct {
	Level string `json:"level"` // "info", "warning"
	Task  string `json:"task,omitempty"`
	Text  string `json:"text"`
}

// RunEnded closes a session of a run.
type RunEnded struct {
	Status     RunStatus  `json:"status"`
	ExitCode   ExitCode   `json:"exit_code"`
	Reason     string     `json:"reason,omitempty"`
	ResumeAt   time.Time  `json:"resume_at,omitzero"`
	Resume     string     `json:"resume,omitempty"` // the command that continues
	Tasks      Counts     `json:"tasks"`
	Cost       budget.USD `json:"cost"`     // micro-dollars
	CostUSD    float64    `json:"cost_usd"` // the same in dollars
	Iterations int        `json:"iterations"`
	Notional   bool       `json:"notional,omitempty"` // a subscription: the cost is not billed
}

// Counts counts tasks by status.
type Counts struct {
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
	Blocked   int `json:"blocked"`
	Pending   int `json:"pending"`
}

// Of returns the counter of a status.
func (c *Counts) Of(s Status) *int {
	switch s {
	case Completed:
		return &c.Completed
	case Failed:
		return &c.Failed
	case Blocked:
		return &c.Blocked
	}
	return &c.Pending
}

// RolledBack says that the work of tasks was undone. The tasks are pending again. It is recorded between sessions.
type RolledBack struct {
	What   string   `json:"what"`  // "T-003", "wave-2", or "run"
	Tasks  []string `json:"tasks"` // the tasks whose work is undone
	From   string   `json:"from"`  // the restored commit
	Undo   string   `json:"undo"`  // the ref that keeps the replaced state
	Paths  int      `json:"paths"` // number of changed paths
	Forced bool     `json:"forced,omitempty"`
}

// Inspected is the result of `wavex verify`, which looks for gaps between sessions. It changes no state. It is recorded
// once in a session, if the number of gaps changed, and in each round of --fix.
type Inspected struct {
	Gaps   int `json:"gaps"`             // found
	Round  int `json:"round,omitempty"`  // of --fix, from 1; 0: without --fix
	Rounds int `json:"rounds,omitempty"` // limit of Round
	// Stop is the reason why --fix leaves the gaps open; "": it adds tasks for them, or there are none.
	Stop string `json:"stop,omitempty"`
}

func (RunStarted) Type() string  { return "run_started" }
func (RunResumed) Type() string  { return "run_resumed" }
func (WaveStarted) Type() string { return "wave_started" }
func (Draining) Type() string    { return "draining" }
func (Notice) Type() string      { return "notice" }
func (RunEnded) Type() string    { return "run_ended" }
func (RolledBack) Type() string  { return "rolled_back" }
func (Inspected) Type() string   { return "inspected" }
