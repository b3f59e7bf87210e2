package scheduler

import (
	"encoding/json"
	"fmt"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/runner"
)

// Event is one decision: a record of the journal and a line of the NDJSON output. It carries the
// next state, so that a replay does not depend on rules that may change.
type Event struct {
	Seq  int64     // position in the journal, from 1
	Time time.Time // UTC
	Body Body
}

// Body is the content of an event. The set of types is closed.
type Body interface {
	// Type returns the event's name in the journal and in the NDJSON output.
	Type() string
}

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
	// Edit holds the changes to the plan since the last session; nil: none, or unknown.
	Edit *Edit `json:"edit,omitempty"`
}

// WaveStarted says that a wave's tasks may start. A resume may emit it again; that is harmless.
type WaveStarted struct {
	Wave  int      `json:"wave"` // from 1
	Of    int      `json:"of"`
	Tasks []string `json:"tasks"` // not yet completed
}

// AttemptStarted reserves money and an iteration. It is written before the process exists.
type AttemptStarted struct {
	Task      string     `json:"task"`
	Key       string     `json:"key"` // content key of the task (plan.Key)
	Wave      int        `json:"wave"`
	Attempt   int        `json:"attempt"`   // from 1, counting every start
	Try       int        `json:"try"`       // from 1, counting the first try and retries only
	Iteration int        `json:"iteration"` // of the run, from 1; an iteration that was not charged is counted again
	Why       string     `json:"why"`       // "first", "retry", "continue" (more money), "again" (not the task's fault)
	Slot      int        `json:"slot"`
	Session   string     `json:"session"`
	Resume    bool       `json:"resume,omitempty"`  // continues the session
	Cap       budget.USD `json:"cap,omitempty"`     // micro-dollars reserved; 0: no limit
	Advised   bool       `json:"advised,omitempty"` // counsel's advice is in the prompt
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
	Note       string    `json:"note,omitempty"`     // explanation for the user
}

// CounselStarted convenes a panel for a stuck task.
type CounselStarted struct {
	Task     string     `json:"task"`
	Attempt  int        `json:"attempt"` // the attempt that failed
	Panel    int        `json:"panel"`   // from 1 within the task
	Wave     int        `json:"wave,omitempty"`
	Cap      budget.USD `json:"cap,omitempty"`
	Thorough bool       `json:"thorough,omitempty"`
}

// CounselEnded records the panel's verdict. The task is pending again.
type CounselEnded struct {
	Task    string          `json:"task"`
	Panel   int             `json:"panel"`
	Verdict counsel.Verdict `json:"verdict"`
}

// CounselSkipped says why a stuck task is retried without a panel.
type CounselSkipped struct {
	Task   string `json:"task"`
	Reason string `json:"reason"` // "holdout", "no money", ...
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
	Status     string     `json:"status"` // complete, failed, paused, blocked, limited, interrupted, cancelled
	ExitCode   int        `json:"exit_code"`
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

// Stop is a decision to start nothing more.
type Stop struct {
	Status   string    `json:"status"` // as in RunEnded
	ExitCode int       `json:"exit_code"`
	Reason   string    `json:"reason"`
	Breaker  string    `json:"breaker,omitempty"` // name of the breaker, if one tripped
	Limit    string    `json:"limit,omitempty"`   // money, iterations, tokens, wall-clock
	ResumeAt time.Time `json:"resume_at,omitzero"`
	Advice   string    `json:"advice,omitempty"` // advice for the user
}

func (RunStarted) Type() string     { return "run_started" }
func (RunResumed) Type() string     { return "run_resumed" }
func (WaveStarted) Type() string    { return "wave_started" }
func (AttemptStarted) Type() string { return "attempt_started" }
func (AttemptEnded) Type() string   { return "attempt_ended" }
func (CounselStarted) Type() string { return "counsel_started" }
func (CounselEnded) Type() string   { return "counsel_ended" }
func (CounselSkipped) Type() string { return "counsel_skipped" }
func (Draining) Type() string       { return "draining" }
func (Notice) Type() string         { return "notice" }
func (RunEnded) Type() string       { return "run_ended" }

// envelope is the form of an event on disk and on stdout.
type envelope struct {
	V    int             `json:"v"`
	Seq  int64           `json:"seq"`
	Time time.Time       `json:"time"`
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// EventVersion is the version of the event format, in the journal and on stdout.
const EventVersion = 1

// MarshalJSON writes {"v","seq","time","type","data"}.
func (e Event) MarshalJSON() ([]byte, error) { return e.Encode() }

// Encode returns the same bytes as json.Marshal, in one pass: with MarshalJSON the encoder would
// validate the whole text a second time.
func (e Event) Encode() ([]byte, error) {
	return json.Marshal(struct {
		V    int       `json:"v"`
		Seq  int64     `json:"seq"`
		Time time.Time `json:"time"`
		Type string    `json:"type"`
		Data Body      `json:"data"`
	}{EventVersion, e.Seq, e.Time, e.Body.Type(), e.Body})
}

// UnmarshalJSON reads the output of MarshalJSON. An unknown type or a newer version is an error: a
// journal that cannot be replayed whole must not be continued.
func (e *Event) UnmarshalJSON(b []byte) error {
	var v envelope
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	if v.V != EventVersion {
		return fmt.Errorf("event version %d; this wavex reads version %d", v.V, EventVersion)
	}
	body, err := decodeBody(v.Type, v.Data)
	if err != nil {
		return err
	}
	e.Seq, e.Time, e.Body = v.Seq, v.Time, body
	return nil
}

func decodeBody(typ string, data []byte) (Body, error) {
	switch typ {
	case "run_started":
		return decode[RunStarted](data)
	case "run_resumed":
		return decode[RunResumed](data)
	case "wave_warmed":
		return decode[WaveWarmed](data)
	case "wave_started":
		return decode[WaveStarted](data)
	case "attempt_started":
		return decode[AttemptStarted](data)
	case "spare_started":
		return decode[SpareStarted](data)
	case "spare_ended":
		return decode[SpareEnded](data)
	case "attempt_ended":
		return decode[AttemptEnded](data)
	case "counsel_started":
		return decode[CounselStarted](data)
	case "counsel_ended":
		return decode[CounselEnded](data)
	case "counsel_skipped":
		return decode[CounselSkipped](data)
	case "draining":
		return decode[Draining](data)
	case "integration_started":
		return decode[IntegrationStarted](data)
	case "integration_ended":
		return decode[IntegrationEnded](data)
	case "delivery_started":
		return decode[DeliveryStarted](data)
	case "delivery_ended":
		return decode[DeliveryEnded](data)
	case "criteria_started":
		return decode[CriteriaStarted](data)
	case "criteria_ended":
		return decode[CriteriaEnded](data)
	case "review_started":
		return decode[ReviewStarted](data)
	case "review_ended":
		return decode[ReviewEnded](data)
	case "review_skipped":
		return decode[ReviewSkipped](data)
	case "tasks_added":
		return decode[TasksAdded](data)
	case "gate_ended":
		return decode[GateEnded](data)
	case "request_opened":
		return decode[RequestOpened](data)
	case "call_started":
		return decode[CallStarted](data)
	case "call_ended":
		return decode[CallEnded](data)
	case "stage_ended":
		return decode[StageEnded](data)
	case "precheck_started":
		return decode[PrecheckStarted](data)
	case "precheck_ended":
		return decode[PrecheckEnded](data)
	case "rolled_back":
		return decode[RolledBack](data)
	case "asked":
		return decode[Asked](data)
	case "answered":
		return decode[Answered](data)
	case "notice":
		return decode[Notice](data)
	case "run_ended":
		return decode[RunEnded](data)
	}
	return nil, fmt.Errorf("unknown event type %q", typ)
}

func decode[T Body](data []byte) (Body, error) {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("event %s: %w", v.Type(), err)
	}
	return v, nil
}
