package event

import (
	"encoding/json"
	"time"

	"wavex/budget"
	"wavex/runner"
)

// This file holds the events of the stages from a request to a plan, which precede a run in the
// same journal. Package internal/request writes and replays them. In a run they change only the money
// spent, which RunStarted repeats.

// RequestOpened opens a request.
type RequestOpened struct {
	Run     string        `json:"run"` // run id of its calls
	Request string        `json:"request"`
	Config  RequestConfig `json:"config"`
}

// RequestConfig holds the configuration of a request, frozen when it is opened.
type RequestConfig struct {
	Agent    string        `json:"agent"`
	Limits   budget.Limits `json:"limits"`
	Plan     string        `json:"plan"`                // absolute path of the plan to write
	PlanOnly bool          `json:"plan_only,omitempty"` // no run follows
	Offline  bool          `json:"offline,omitempty"`   // only scored by its words, without the model
	Workflow string        `json:"workflow,omitempty"`  // given by the user, not detected
	Shape    string        `json:"shape,omitempty"`     // given by the user, not chosen by the scores
	// BudgetGiven means that the user has set the limit of money.
	BudgetGiven bool `json:"budget_given,omitempty"`
	// Iterations is the user's choice for the run: a number, or "unlimited"; "": derived from its
	// tasks.
	Iterations string `json:"iterations,omitempty"`
	// SpecScore is a score that the user gave instead of the model: points for outcome, scope,
	// constraints, success and done. Empty: it is computed.
	SpecScore []int `json:"spec_score,omitempty"`
	// Force continues although the request is too vague.
	Force bool `json:"force,omitempty"`
	// TaskList is "new" if the plan is also put into a task list of Claude Code.
	TaskList string `json:"task_list,omitempty"`
}

// CallStarted reserves money before one question, or one panel, is asked.
type CallStarted struct {
	Step string     `json:"step"`           // "score/1", "decompose/2": equal questions have equal names
	Try  int        `json:"try"`            // from 1
	Mark string     `json:"mark,omitempty"` // mark of its processes, different in each session of wavex
	Cap  budget.USD `json:"cap,omitempty"`
}

// CallEnded records the answer. A question with the outcome done is not asked again.
type CallEnded struct {
	Step     string          `json:"step"`
	Try      int             `json:"try"`
	Outcome  runner.Outcome  `json:"outcome"`
	Reason   string          `json:"reason,omitempty"`
	Answer   json.RawMessage `json:"answer,omitempty"`
	Cost     budget.USD      `json:"cost"`
	ResetsAt time.Time       `json:"resets_at,omitzero"` // of a usage limit
}

// StageEnded closes a stage with its result; each stage has its own form.
type StageEnded struct {
	Stage  string          `json:"stage"`
	Result json.RawMessage `json:"result"`
}

func (RequestOpened) Type() string { return "request_opened" }
func (CallStarted) Type() string   { return "call_started" }
func (CallEnded) Type() string     { return "call_ended" }
func (StageEnded) Type() string    { return "stage_ended" }
