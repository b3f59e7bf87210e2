package runner

import (
	"encoding/json"
	"time"

	"wavex/budget"
)

// Question is one lean call of the CLI: no task, no session, no edits. Panels of experts, judges
// and planners use it.
type Question struct {
	Name   string          `json:"name"`             // for logs: "counsel/debugger"
	Dir    string          `json:"dir"`              // absolute; read-only tools read here
	LogDir string          `json:"log_dir"`          // absolute; created when missing; prompt, stream, stderr and result go here
	System string          `json:"-"`                // replaces the CLI's system prompt (--system-prompt)
	Prompt string          `json:"-"`                // on stdin
	Schema json.RawMessage `json:"schema,omitempty"` // --json-schema; empty: free text
	Tools  []string        `json:"tools,omitempty"`  // --tools; empty: none at all
	Model  string          `json:"model,omitempty"`
	Cap    budget.USD      `json:"cap,omitempty"` // micro-dollars; 0: no cap
	// Timeout bounds the whole call in wall-clock time; 0 means 5 minutes.
	Timeout  time.Duration   `json:"timeout,omitempty"`
	Rehearse json.RawMessage `json:"rehearse,omitempty"` // for the rehearsal agent only
}

// Answer is the result of a Question. Outcome is Done, or tells why there is no answer; Wrong means
// that the answer does not match the schema.
type Answer struct {
	Outcome    Outcome         `json:"outcome"`
	Reason     string          `json:"reason,omitempty"` // one line, when not done
	Text       string          `json:"text,omitempty"`
	Structured json.RawMessage `json:"structured,omitempty"` // matches Schema if Outcome is Done and Schema is not empty
	Cost       budget.USD      `json:"cost"`
	Priced     string          `json:"priced,omitempty"`   // as in Result
	Disputed   budget.USD      `json:"disputed,omitempty"` // as in Result
	Usage      Usage           `json:"usage"`
	Duration   time.Duration   `json:"duration"`
	ResetsAt   time.Time       `json:"resets_at,omitzero"` // of a usage limit (limited only)
}
