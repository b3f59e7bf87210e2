package event

import (
	"time"

	"wavex/budget"
	"wavex/counsel"
)

// CounselStarted convenes a panel for a stuck task.
type CounselStarted struct {
	Task     string     `json:"task"`
	Attempt  int        `json:"attempt"` // the attempt that failed
	Panel    int        `json:"panel"`   // from 1 within the task
	Wave     int        `json:"wave,omitempty"`
	Cap      budget.USD `json:"cap,omitempty"`
	Thorough bool       `json:"thorough,omitempty"`
}

// CounselEnded records the panel's verdict and its consequences. The task is pending, or waits for another panel.
type CounselEnded struct {
	Task       string          `json:"task"`
	Panel      int             `json:"panel"`
	Verdict    counsel.Verdict `json:"verdict"`
	Again      bool            `json:"again,omitempty"` // the panel was cut off and is convened again
	PauseUntil time.Time       `json:"pause_until,omitzero"`
	Stop       *Stop           `json:"stop,omitempty"`
}

// CounselSkipped says why a stuck task is retried without a panel.
type CounselSkipped struct {
	Task   string `json:"task"`
	Reason string `json:"reason"` // "counsel is off", NoMoneyForPanel
}

// NoMoneyForPanel is CounselSkipped.Reason without money for a panel.
const NoMoneyForPanel = "no money left for a panel"

// PrecheckStarted begins the challenge of a task. Nothing else starts meanwhile.
type PrecheckStarted struct {
	Task string     `json:"task"`
	Key  string     `json:"key"` // content key of the task
	N    int        `json:"n"`   // from 1 within the task
	Cap  budget.USD `json:"cap,omitempty"`
}

// PrecheckEnded is one decision: the result of a challenge and its consequences.
type PrecheckEnded struct {
	Task      string            `json:"task"`
	Key       string            `json:"key"`
	N         int               `json:"n"`
	Challenge counsel.Challenge `json:"challenge"`
	Blocked   []string          `json:"blocked,omitempty"` // the tasks that depend on a refused task
	Stop      *Stop             `json:"stop,omitempty"`
}

func (CounselStarted) Type() string  { return "counsel_started" }
func (CounselEnded) Type() string    { return "counsel_ended" }
func (CounselSkipped) Type() string  { return "counsel_skipped" }
func (PrecheckStarted) Type() string { return "precheck_started" }
func (PrecheckEnded) Type() string   { return "precheck_ended" }
