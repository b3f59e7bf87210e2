// Package policy decides on each tool call of an agent before the tool runs.
//
// It knows tools, paths and shell text. It knows no process and no protocol: internal/claude asks it
// for each request of the CLI.
package policy

import "time"

// Call is a tool call that the CLI asks about before it runs the tool.
type Call struct {
	ID    string // the CLI's tool_use_id; "" for a call that failed before the CLI could ask about it
	Agent string // the subagent's id; "" for the main agent
	Tool  string // "Bash", "Edit", "mcp__server__tool", ...
	Dir   string // the working directory of the agent's shell, absolute
	Input []byte // the tool's input, a JSON object
}

// RunsCommand reports whether a tool runs the command line in its input.
func RunsCommand(tool string) bool { return tool == "Bash" || tool == "Monitor" }

// Result is the result of a tool call.
type Result struct {
	Input  []byte // the input that the tool really had, a JSON object
	Output []byte // as the model reads it
	Failed bool
	Took   time.Duration
}

// Act is what happens to a tool call.
type Act string

// The values of Act.
const (
	Pass Act = "pass" // the policy has no objection; the CLI's own rules decide
	Deny Act = "deny" // the call does not run, the agent reads the reason and goes on
	Ask  Act = "ask"  // a person decides
	Stop Act = "stop" // the call does not run, and the attempt ends
)

// Decision is the answer to a Call.
type Decision struct {
	Act    Act
	Rule   string // the rule that decided, as the plan writes it; "" for Pass
	Target string // the path or command that the rule is about
	Reason string // for Deny and Stop: one line for the agent that says what to do instead
	Others string // for Ask: further rules that match a part of the call, one per line
}

// Question is a call that a person decides on.
type Question struct {
	Task    string `json:"task"`
	Attempt int    `json:"attempt"`
	Tool    string `json:"tool"`
	Target  string `json:"target,omitempty"` // the command, or the main argument of another tool
	Pattern string `json:"pattern"`          // the pattern of Rules.Ask
	Others  string `json:"-"`                // further ones that match a part of the call, one per line
}

// Judge decides on the calls of one attempt. Its methods are called from one goroutine.
type Judge interface {
	// Before decides on a call that has not run.
	Before(Call) Decision
	// After gets the result of a call that Before let pass.
	After(Call, Result)
}
