package runner

import (
	"context"
	"encoding/json"
	"time"

	"wavex/budget"
	"wavex/internal/plan"
	"wavex/internal/policy"
)

// Agent is the program that works on tasks and answers questions. Both methods block until all
// processes that they started have ended, and are safe for concurrent use. If ctx ends, they stop
// the program in steps, so that the cost is still reported, and the outcome is Interrupted. They
// report problems in their results.
type Agent interface {
	// Turn gives the agent the prompt of an attempt. Local calls it at most once per attempt.
	Turn(ctx context.Context, req TurnRequest) TurnResult
	// Ask makes one lean call: no task, no checks, no session, only the tools of q.
	Ask(ctx context.Context, q Question) Answer
}

// TurnRequest holds the input of a turn.
type TurnRequest struct {
	Task    string `json:"task"`    // as in Request; for observations
	Attempt int    `json:"attempt"` // as in Request; for observations
	Mark    string `json:"mark"`    // marks all processes of the turn; unique

	Dir    string            `json:"dir"`     // absolute; where the agent works
	LogDir string            `json:"log_dir"` // absolute; exists; the agent's log files go here
	Env    map[string]string `json:"env"`     // for Host.Environ

	Prompt string `json:"prompt"`
	// FullPrompt replaces Prompt if the session to resume no longer exists; "": Prompt serves for both.
	FullPrompt string `json:"full_prompt,omitempty"`
	Session    string `json:"session"`          // UUID
	Resume     bool   `json:"resume,omitempty"` // continue Session instead of opening it

	Settings plan.Settings `json:"settings"`         // with the timeouts that apply
	Cap      budget.USD    `json:"cap,omitempty"`    // micro-dollars; 0: no cap
	Checks   []plan.Check  `json:"checks,omitempty"` // the agent may run their commands
	Closed   []string      `json:"closed,omitempty"` // absolute paths that a wall keeps it from writing
	Open     []string      `json:"open,omitempty"`   // absolute paths that a strict wall lets it write
	Policy   policy.Rules  `json:"policy"`           // decides on the agent's tool calls
	// Output is the JSON Schema of the structured result that the agent has to give; nil: none.
	Output json.RawMessage `json:"output,omitempty"`
}

// TurnResult describes the end of a turn. Its texts may hold secrets.
type TurnResult struct {
	Outcome Outcome `json:"outcome"`          // Done means only that there is work to verify
	Reason  string  `json:"reason,omitempty"` // why the outcome is not Done
	Detail  string  `json:"detail,omitempty"` // as in Result, of any length
	Text    string  `json:"text,omitempty"`   // the message that ended the turn, whole
	Report  string  `json:"report,omitempty"` // as in Result
	// Structured is the structured result, nil if there is none. Offered is the last one that the agent program did
	// not accept. The caller must validate both.
	Structured json.RawMessage `json:"structured,omitempty"`
	Offered    json.RawMessage `json:"offered,omitempty"`
	Bill
	Turns   int    `json:"turns,omitempty"`
	Session string `json:"session,omitempty"` // as the agent reports it; "" if it does not
	// SessionReplaced reports that a new session replaced the one to resume.
	SessionReplaced bool `json:"session_replaced,omitempty"`
	// Edits counts the uses of editing tools on each path, absolute or as the agent spells it.
	Edits   map[string]int `json:"edits,omitempty"`
	Denials []Denial       `json:"denials,omitempty"`
	// Refused and Refusals are as in Result.
	Refused  int       `json:"refused,omitempty"`
	Refusals []Refusal `json:"refusals,omitempty"`

	ResetsAt   time.Time     `json:"resets_at,omitzero"`    // as in Result
	RetryAfter time.Duration `json:"retry_after,omitempty"` // as in Result
	// FreshMayHelp is as in Result.
	FreshMayHelp bool    `json:"fresh_may_help,omitempty"`
	Notional     bool    `json:"notional,omitempty"` // as in Result
	Window       *Window `json:"window,omitempty"`   // as in Result
	ExitCode     int     `json:"exit_code"`
	Contained    bool    `json:"contained"` // no process of the turn was alive after the sweep
	Version      string  `json:"version,omitempty"`
	Model        string  `json:"model,omitempty"`     // of the session; subagents may use others
	Exhausted    string  `json:"exhausted,omitempty"` // the limit of memory that it reached
}

// Bill holds the cost of one process.
type Bill struct {
	Cost     budget.USD `json:"cost"`                         // micro-dollars
	Priced   string     `json:"priced,omitempty"`             // as in Result
	Disputed budget.USD `json:"disputed,omitempty"`           // micro-dollars: the agent's figure, if Priced is "table"
	Held     string     `json:"held,omitempty" secret:"text"` // as in Result
	Usage    Usage      `json:"usage"`
}

// Question is one lean call of the CLI: no task, no session, no edits. Panels of experts, judges
// and planners use it.
type Question struct {
	Name   string          `json:"name"`             // for logs: "counsel/debugger"
	Dir    string          `json:"dir"`              // absolute; read-only tools read here
	LogDir string          `json:"log_dir"`          // absolute; created when missing; holds the log files
	System string          `json:"system,omitempty"` // replaces the CLI's system prompt (--system-prompt)
	Prompt string          `json:"prompt"`           // on stdin
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
