package scheduler

import (
	"encoding/json"
	"time"

	"wavex/budget"
	"wavex/runner"
)

// This file is the events of the way from a request to a plan, which comes before a
// run and is kept in the same journal. Package internal/stage writes and replays them;
// for a run they change nothing but what is spent, which RunStarted repeats.

// RequestOpened begins the way from a request to a plan.
type RequestOpened struct {
	Run     string        `json:"run"` // id of its calls
	Request string        `json:"request"`
	Config  RequestConfig `json:"config"`
}

// RequestConfig is how a request is worked on, frozen when it is opened.
type RequestConfig struct {
	Agent    string        `json:"agent"`
	Limits   budget.Limits `json:"limits"`
	Plan     string        `json:"plan"`                // absolute path of the plan to write
	PlanOnly bool          `json:"plan_only,omitempty"` // nothing is run
	Offline  bool          `json:"offline,omitempty"`   // scored by words alone, and no further
	Workflow string        `json:"workflow,omitempty"`  // given, not detected
	Shape    string        `json:"shape,omitempty"`     // given, not by the scores
	// Iterations is what was chosen for the run: a number, or "unlimited"; "": by its tasks.
	Iterations string `json:"iterations,omitempty"`
	// SpecScore is a score that was given, so that nobody is asked for one: five points,
	// of outcome, scope, constraints, success and done; none: it is worked out.
	SpecScore []int `json:"spec_score,omitempty"`
	// Force goes on although the request is too vague.
	Force bool `json:"force,omitempty"`
	// TaskList is "new" when the plan shall be put into a task list of Claude Code too.
	TaskList string `json:"task_list,omitempty"`
}

// CallStarted reserves money for one question, or one panel, before it is put.
type CallStarted struct {
	Step string     `json:"step"`           // "score/1", "decompose/2": the same question has the same name
	Try  int        `json:"try"`            // from 1
	Mark string     `json:"mark,omitempty"` // of its processes; each session of wavex has its own
	Cap  budget.USD `json:"cap,omitempty"`
}

// CallEnded brings the answer, which is never asked for again when the outcome is done.
type CallEnded struct {
	Step     string          `json:"step"`
	Try      int             `json:"try"`
	Outcome  runner.Outcome  `json:"outcome"`
	Reason   string          `json:"reason,omitempty"`
	Answer   json.RawMessage `json:"answer,omitempty"`
	Cost     budget.USD      `json:"cost"`
	ResetsAt time.Time       `json:"resets_at,omitzero"` // of a usage limit
}

// StageEnded closes a stage with what it came to; its form is the stage's own.
type StageEnded struct {
	Stage  string          `json:"stage"`
	Result json.RawMessage `json:"result"`
}

// Origin is what a run knows of the request that its plan comes from.
type Origin struct {
	Request       string     `json:"request"`
	SpecScore     int        `json:"spec_score"`
	FitScore      int        `json:"fit_score"`
	Shape         string     `json:"shape"`
	Workflow      string     `json:"workflow"`
	Reversibility string     `json:"reversibility"`
	Recall        []string   `json:"recall_surfaced,omitempty"`
	Spent         budget.USD `json:"spent"` // on the way to the plan; the run's ledger begins with it
}

// Type names the event.
func (RequestOpened) Type() string { return "request_opened" }

// Type names the event.
func (CallStarted) Type() string { return "call_started" }

// Type names the event.
func (CallEnded) Type() string { return "call_ended" }

// Type names the event.
func (StageEnded) Type() string { return "stage_ended" }
