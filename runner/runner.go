// Package runner makes one attempt at one task: an agent has its turn, then the runner verifies the
// work and decides the outcome. It declares the agent as an interface and knows no program behind it.
// The scheduler decides what follows.
//
// Requests and results are plain data that can be sent elsewhere, so another implementation of
// Attempt, or of a turn, needs only these types.
package runner

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"wavex/budget"
	"wavex/internal/check"
	"wavex/internal/plan"
	"wavex/internal/proc"
)

// Outcome says how an attempt ended. The set is closed.
type Outcome string

// These are the outcomes. The scheduler has the table of consequences.
const (
	Done         Outcome = "done"         // the result line reports success and every check passed
	Wrong        Outcome = "wrong"        // a check failed, a declared edit is missing, or the agent reports failure
	OverTurns    Outcome = "over-turns"   // the CLI reached --max-turns
	TimedOut     Outcome = "timed-out"    // the attempt reached its wall-clock limit
	Stalled      Outcome = "stalled"      // no stream event for the idle time
	OverCap      Outcome = "over-cap"     // the attempt reached its own money cap
	Denied       Outcome = "denied"       // permission denials, and the checks fail
	Throttled    Outcome = "throttled"    // 429, 529, 5xx, network, after the CLI's own retries
	Limited      Outcome = "limited"      // a usage limit with a reset time
	Unauthorised Outcome = "unauthorised" // 401, 403, out of credit
	Broken       Outcome = "broken"       // the CLI is missing, too old, refuses a flag, or cannot start
	Refused      Outcome = "refused"      // the model or the API refused what the task asks, or it met a limit of tokens
	Truncated    Outcome = "truncated"    // no result line, or an unreadable one
	Interrupted  Outcome = "interrupted"  // wavex stopped the attempt
)

// Outcomes lists the closed set in the order of the table in docs/outcomes.md.
var Outcomes = [...]Outcome{Done, Wrong, OverTurns, TimedOut, Stalled, OverCap, Denied,
	Throttled, Limited, Unauthorised, Broken, Refused, Truncated, Interrupted}

// Stuck reports whether the outcome raises the task's stuckCount.
func (o Outcome) Stuck() bool {
	switch o {
	case Wrong, OverTurns, TimedOut, Stalled:
		return true
	}
	return false
}

// Class returns the class of the error: "logic" for work that has to be done better, "transient" if the same may
// succeed later, "blocking" if a person must act, or "unknown"; "" if the outcome is not an error.
func (o Outcome) Class() string {
	switch o {
	case Done, OverCap, Interrupted:
		return ""
	case Throttled, Limited:
		return "transient"
	case Denied, Unauthorised, Broken, Refused:
		return "blocking"
	case Truncated:
		return "unknown"
	}
	return "logic"
}

// Own reports whether the outcome is the trouble of the task alone, which no counsel helps: the task is stopped, and
// the others go on.
func (o Outcome) Own() bool { return o == Denied || o == Refused || o == Truncated }

// Charged reports whether the attempt counts as an iteration: the agent had its turn, and neither
// the API, the CLI nor an interruption took it away.
func (o Outcome) Charged() bool {
	switch o {
	case Throttled, Limited, Unauthorised, Broken, Interrupted:
		return false
	}
	return true
}

// Runner makes one attempt. It is called from its own goroutine, once per attempt, and may block
// for hours. If ctx is cancelled it must stop the attempt and still return the known facts, above
// all the cost. A panic counts as a broken attempt.
type Runner interface {
	Attempt(ctx context.Context, req Request, hooks Hooks) Result
}

// Hooks connect an attempt with the process that makes it. They are not part of the request, which can
// be sent elsewhere. Each may be nil.
type Hooks struct {
	// Worked is called when the agent's turn or the command has ended, before any check.
	Worked func()
	// TurnEnded is called once after the agent's turn, before the first check. It returns when the turn
	// is on record. An error, such as the end of the run, interrupts the attempt.
	TurnEnded func(Turn) error
	// Directory is the directory of the attempt, if other attempts work in it.
	Directory Directory
	// Memory and Files are those of check.Place for checks before the work. In a Directory, Files identifies the time
	// since the last edit; "": an attempt edits.
	Memory *check.Memory
	Files  func() string
}

// Request holds the input of one attempt. Its JSON travels to workers and has no paths of this machine.
type Request struct {
	Run     string `json:"run"`     // run id
	Task    string `json:"task"`    // task id as the plan spells it
	Attempt int    `json:"attempt"` // from 1
	Slot    int    `json:"slot"`    // 0..parallel-1, unique among running attempts

	// Commit is the commit on which the attempt begins, and WIP one with the files that it begins with; "": as Commit.
	// Both are empty for an attempt whose directory is ready, or is chosen on this machine.
	Commit string `json:"commit,omitempty"`
	WIP    string `json:"wip,omitempty"`

	Dir      string `json:"dir"`               // absolute; where the agent and its checks work
	LogDir   string `json:"-"`                 // absolute; created when missing; prompt, stream, stderr and result go here
	Baseline string `json:"-"`                 // absolute file: digests of the declared files before the first attempt
	Prompt   string `json:"prompt"`            // goes on stdin; written to LogDir/prompt.md
	Command  string `json:"command,omitempty"` // a command task: run this instead of an agent

	Session string `json:"session"`          // UUID minted by the scheduler
	Resume  bool   `json:"resume,omitempty"` // continue Session instead of opening it
	Worker  string `json:"-"`                // the worker that has Session; "": this machine, or it is not known
	Adopted bool   `json:"-"`                // an earlier session may have started it on another machine
	// FullPrompt is the prompt for a new session. It replaces Prompt if the session to resume no longer
	// exists. "": Prompt serves for both.
	FullPrompt string `json:"full_prompt,omitempty"`

	Settings plan.Settings `json:"settings"`      // resolved: the task's over the plan's
	Cap      budget.USD    `json:"cap,omitempty"` // micro-dollars; 0: no cap
	Files    []plan.File   `json:"files,omitempty"`
	Checks   []plan.Check  `json:"checks,omitempty"`
	Output   *OutputSpec   `json:"output,omitempty"` // nil: the task has no structured result
	// MustNot are conditions that must not become true. Those with a check are checked after the
	// attempt, whatever its outcome. A check that passes means that its condition is true.
	MustNot  []plan.Condition `json:"must_not,omitempty"`
	Rehearse json.RawMessage  `json:"rehearse,omitempty"` // for the rehearsal agent only
	// Guards are files that the attempt should not change; changes are reported in Tampered.
	// Protect are path.Match patterns for the paths of files of the project that it must not change, or of folders
	// of them; a change makes the outcome Wrong.
	Guards  []Guard  `json:"guards,omitempty"`
	Protect []string `json:"protected,omitempty"`
	// Closed are absolute paths, beside those of Guards and Protect, that a wall closes to the agent.
	Closed []string `json:"-"`
	// Trees makes the runner compare the files of the project; nil: it does not.
	Trees *Trees `json:"trees,omitempty"`
	// Reviewed means that a reviewer looks at the work later: an agent may change nothing if all is there already.
	Reviewed bool `json:"reviewed,omitempty"`

	// Env is set in the environment of all processes of the attempt, such as the resources of its
	// slot. It wins over Host.ExtraEnv, never over wavex's own marks.
	Env map[string]string `json:"env,omitempty"`
	// Turn is a turn that has ended and whose work is not checked yet. The attempt then makes only the
	// checks.
	Turn *Turn `json:"turn,omitempty"`
}

// root returns the project's directory, or the attempt's own tree of it, in which the agent works.
func (r *Request) root() string {
	dir := r.Dir
	if under := filepath.ToSlash(r.Settings.Dir); under != "" && under != "." {
		for range strings.Split(under, "/") {
			dir = filepath.Dir(dir)
		}
	}
	return dir
}

// Turn describes a turn of an agent that has ended with work to check. It is recorded before the first
// check, so that a later session can check the work without another turn.
type Turn struct {
	// Result holds the results of the turn alone. Its outcome is Done.
	Result Result `json:"result"`
	// Unfinished is the agent's own account of the missing work, in one line; "" if it claims success.
	Unfinished string `json:"unfinished,omitempty"`
}

// Result describes the work of an attempt. It is recorded whole in the journal, so its texts are
// bounded; the files in LogDir have the full texts.
type Result struct {
	Outcome Outcome `json:"outcome"`
	// Reason says in one line (at most 400 bytes) why the outcome is not done.
	Reason string `json:"reason,omitempty" secret:"text"`
	// Detail is a text for the prompt of the next attempt, such as the output of a check or the
	// API's error: head and tail, at most 4 KB.
	Detail string `json:"detail,omitempty" secret:"text"`
	// Report is the agent's last message, at most 4 KB. It is never trusted.
	Report string `json:"report,omitempty" secret:"text"`
	// Output is the structured result that the task's schema asks for; nil: there is none.
	Output *Output `json:"output,omitempty"`
	// Signature identifies the error across attempts: the start of the reason, and a digest of all
	// that the failed checks printed, normalised. It is "" if the outcome is done.
	Signature string `json:"signature,omitempty"`

	Session string     `json:"session,omitempty"` // as the CLI reports it
	Cost    budget.USD `json:"cost"`              // micro-dollars of this attempt alone
	// Priced says where Cost is from: "result" (the CLI's own figure), "stream" (figures from the
	// stream, priced with a price table), "table" (the same, because tokens and prices contradict
	// the CLI's figure, which is Disputed), "guess" (like "stream", and the price table does not list the
	// model), "cap" (unknown: counted at the cap), or "" (nothing was spent: no agent, or it never started).
	Priced   string     `json:"priced,omitempty"`
	Disputed budget.USD `json:"disputed,omitempty"`           // micro-dollars; see Priced
	Held     string     `json:"held,omitempty" secret:"text"` // which Stop hook held the agent, and its price
	Usage    Usage      `json:"usage"`
	Turns    int        `json:"turns,omitempty"`

	Started  time.Time     `json:"started"`
	Duration time.Duration `json:"duration"` // wall clock, checks included

	Checks  []check.Evidence `json:"checks,omitempty"`
	Vacuous bool             `json:"vacuous,omitempty"` // every check passed before the attempt already
	// Unmeasured means that it is not known whether the checks passed before the task's first attempt, because
	// others edited the directory.
	Unmeasured bool `json:"unmeasured,omitempty"`
	// Beside means that another attempt may have edited the same directory while the checks passed.
	Beside  bool     `json:"beside,omitempty"`
	Commit  string   `json:"commit,omitempty"`  // of the work, where it was done in a tree of its own
	WIP     string   `json:"wip,omitempty"`     // commit with unfinished work, of an attempt with a Request.Commit
	Worker  string   `json:"worker,omitempty"`  // the name of the machine; "": that of the run
	Changed []string `json:"changed,omitempty"` // declared files that differ from before the first attempt
	// Digests identify the content of the declared files at the end, by path, if the outcome is done; see
	// FileDigest.
	Digests map[string]string `json:"digests,omitempty"`
	// Tampered are the guarded files that the attempt changed.
	Tampered []Tamper `json:"tampered,omitempty"`
	// Surplus are the changed files that the task does not declare, sorted, at most 100, relative to the attempt's
	// directory. Rests are those on which the pass of its checks rests, or may rest if Doubt says why that is not known.
	Surplus []string `json:"surplus,omitempty"`
	Rests   []string `json:"rests,omitempty"`
	Doubt   string   `json:"doubt,omitempty"`
	Denials []Denial `json:"denials,omitempty" secret:"text"`
	// Refused is the number of tool calls that the policy did not let run; Refusals are the first 100.
	Refused  int       `json:"refused,omitempty"`
	Refusals []Refusal `json:"refusals,omitempty" secret:"text"`
	// Violated are the texts of the mustNot conditions that were true after the attempt.
	Violated []string       `json:"violated,omitempty"`
	Edits    map[string]int `json:"edits,omitempty"` // edits by the agent's tools per path, only counts above 1

	ResetsAt        time.Time     `json:"resets_at,omitzero"`       // of a usage limit (limited only)
	Notional        bool          `json:"notional,omitempty"`       // a subscription login: Cost is not billed
	Window          *Window       `json:"window,omitempty"`         // last reported limit of a subscription; nil: none
	RetryAfter      time.Duration `json:"retry_after,omitempty"`    // the API's own hint (throttled only)
	FreshMayHelp    bool          `json:"fresh_may_help,omitempty"` // another session may not be refused (refused only)
	SessionReplaced bool          `json:"fresh,omitempty"`          // a new session replaced the one to Resume
	ExitCode        int           `json:"exit_code"`
	Contained       bool          `json:"contained"` // no process of the attempt was alive after the sweep
	ClaudeVersion   string        `json:"claude_version,omitempty"`
	Model           string        `json:"model,omitempty"` // of the session; subagents may use others
}

// CannotBegin returns the result of an attempt that an error kept from its beginning. It names a limit of the machine.
func CannotBegin(err error) Result {
	return Result{Outcome: Broken, Reason: proc.ErrorText(err), Started: time.Now().UTC(), Contained: true}
}

// Edited reports whether the attempt has changed files, by the difference of their bytes.
func (r *Result) Edited() bool { return len(r.Changed)+len(r.Surplus) > 0 }

// Window is the used share of a subscription's usage limit.
type Window struct {
	Name string  `json:"name"` // "five_hour", "seven_day", ...
	Used float64 `json:"used"` // share of it, 0 to 1 (rate_limit_event's utilization, which is not always there)
}

// Usage counts tokens, each API response once.
type Usage struct {
	Input      int64 `json:"input,omitempty"`
	Output     int64 `json:"output,omitempty"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
}

// Denial is a denied tool call, with the rule that would allow it.
type Denial struct {
	Tool string `json:"tool"`
	Rule string `json:"rule"` // as --allowedTools takes it, for example Bash(go test:*); "": none helps
	// Kind says how the tool changes files; "": as far as the agent knows, it does not.
	Kind ToolKind `json:"kind,omitempty"`
	By   string   `json:"by,omitempty"`   // the deny rule that wins over Rule, and the file that has it
	Left string   `json:"left,omitempty"` // the path, in the project's checkout, of a call outside of the agent's tree
	// Absent reports that By took the tool from the agent, which could not call it. It matters only if the work failed.
	Absent bool `json:"absent,omitempty"`
}

// String says why the call was denied, or which rule would allow it.
func (d Denial) String() string {
	switch {
	case d.By != "":
		return d.Tool + " is denied by the rule " + d.By
	case d.Left != "":
		return "the agent left its own directory for " + d.Left
	case d.Rule == "":
		return d.Tool + " is denied in spite of its rule, by a hook or by the CLI itself"
	}
	return "to allow it, add to allowedTools: " + d.Rule
}

// Refusal is a tool call that the policy did not let run.
type Refusal struct {
	Tool   string `json:"tool"`
	Agent  string `json:"agent,omitempty"`  // the subagent's id; "" for the agent itself
	Act    string `json:"act"`              // "deny"; "ask": no person answered; "stop": the attempt ended
	Rule   string `json:"rule,omitempty"`   // as the plan writes it
	Target string `json:"target,omitempty"` // the path or the command
	Reason string `json:"reason"`           // as the agent read it
}

func (r Refusal) String() string { return strings.TrimSpace(r.Tool+" "+r.Target) + ": " + r.Reason }

// ToolKind says how a tool of an agent changes files.
type ToolKind string

// These are the kinds of tools that change files.
const (
	EditTool    ToolKind = "edit"    // edits files
	CommandTool ToolKind = "command" // runs commands, which may change files
)

// Observation is a sign of life of a running attempt, for displays only.
type Observation struct {
	Task    string
	Attempt int
	Kind    string     // "init", "tool", "denied", "asked", "answered", "text", "api_retry", "rate_limit", ...
	Text    string     // one line: the tool and its target, or the first words; the prompt of "asked"
	Cost    budget.USD // so far, a lower bound
	Worker  string     // the name of the machine; "": that of the run
}

// Total returns the number of all tokens.
func (u Usage) Total() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// Plus returns the sum of two counts.
func (u Usage) Plus(v Usage) Usage {
	return Usage{Input: u.Input + v.Input, Output: u.Output + v.Output,
		CacheRead: u.CacheRead + v.CacheRead, CacheWrite: u.CacheWrite + v.CacheWrite}
}
