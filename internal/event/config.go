package event

import (
	"encoding/json"
	"path/filepath"
	"time"

	"wavex/budget"
	"wavex/internal/loop"
	"wavex/internal/plan"
)

// Config holds the configuration of a run. It is resolved once from flags, environment, plan and
// defaults, and frozen in the journal.
type Config struct {
	Run      string   `json:"run"`  // run id, also part of the mark of every process
	Dir      string   `json:"dir"`  // absolute project directory; tasks work here
	Loop     loop.Dir `json:"loop"` // absolute; usually Dir/.loop
	Agent    string   `json:"agent"`
	Parallel int      `json:"parallel"` // limit of concurrent attempts and panels, at least 1
	Schedule Schedule `json:"schedule"`
	Only     []string `json:"only,omitempty"` // tasks that this session starts, and their blockers; nil: all

	// Params are the values of the plan's parameters, by their names.
	Params map[string]json.RawMessage `json:"params,omitempty"`
	// Lists are the lists of tasks with foreach that the plan and its parameters do not tell, see plan.Plan.Lists.
	Lists map[string]json.RawMessage `json:"lists,omitempty"`

	Isolation Isolation `json:"isolation,omitempty"`
	Deliver   string    `json:"deliver,omitempty"`   // how an isolated run delivers its work
	MadeUp    bool      `json:"made_up,omitempty"`   // a rehearsal makes work up, in a tree that is not kept
	NoVerify  bool      `json:"no_verify,omitempty"` // commit without the repository's hooks

	Track    string `json:"track,omitempty"`     // tracking directory, absolute; "": none
	TaskList string `json:"task_list,omitempty"` // task list of Claude Code that agents share; "": one per agent

	Limits      budget.Limits `json:"limits"`
	BudgetGiven bool          `json:"budget_given,omitempty"` // the plan or a flag sets the money limit (or none)
	Prices      string        `json:"prices,omitempty"`       // absolute path of a price table to overlay
	Sandbox     Sandbox       `json:"sandbox,omitzero"`
	Policy      Policy        `json:"policy,omitzero"`
	Workers     Workers       `json:"workers,omitzero"`

	// With Mode Interactive, every retry is asked for. Gates and Mode apply only if Attended is set: a
	// person uses this session's terminal.
	Gates    Gates  `json:"gates,omitempty"`
	Mode     string `json:"mode,omitempty"`
	Attended bool   `json:"attended,omitempty"`

	MaxRetries   int           `json:"max_retries"`             // after the first try
	ForceRetries bool          `json:"force_retries"`           // MaxRetries overrides the plan
	Counsel      bool          `json:"counsel"`                 // convene panels
	Precheck     bool          `json:"precheck,omitempty"`      // challenge tasks of reversibility 1 before their wave
	Threshold    int           `json:"counsel_threshold"`       // stuckCount that convenes one
	RetrySession string        `json:"retry_session"`           // "same", "fresh", "auto"
	ForceSession bool          `json:"force_session,omitempty"` // RetrySession overrides the plan
	FailFast     bool          `json:"fail_fast"`               // the first failed task stops the run
	WaitForReset time.Duration `json:"wait_for_reset"`          // longest wait for a usage limit; 0: pause instead
	Review       string        `json:"review,omitempty"`        // one of the Review values; "" is off
	ReviewRounds int           `json:"review_rounds,omitempty"` // limit per session of thorough reviews and of repairs
	Judge        bool          `json:"judge,omitempty"`         // let a judge decide prose criteria
	// AcceptAssumptions lets a run complete although some of its criteria have no evidence.
	AcceptAssumptions bool `json:"accept_assumptions,omitempty"`
	// Base is the commit of the project directory when the run began, or "". Changes are computed
	// against it.
	Base string `json:"base,omitempty"`
	// Outputs are the absolute paths of files that sessions of the run write by their flags, outside of Loop: reports
	// and the redirected output.
	Outputs   []string `json:"outputs,omitempty"`
	SameError int      `json:"breaker_same_error"` // consecutive; 0: off
	SameUnmet int      `json:"breaker_same_unmet"`
	SameFile  int      `json:"breaker_same_file"` // edits of one file in one failed attempt
}

// Policy is the policy on tool calls for tasks whose plan has none, as plan.Settings has it.
type Policy struct {
	Edits      string        `json:"edits,omitempty"`       // "": the default
	Deny       []string      `json:"deny,omitzero"`         // nil: the default
	Repeat     *int          `json:"repeat,omitempty"`      // nil: the default
	Ask        []string      `json:"ask,omitzero"`          // nil: none
	Allow      []string      `json:"allow,omitzero"`        // patterns of Ask that the user has allowed for good
	AskTimeout time.Duration `json:"ask_timeout,omitempty"` // 0: the default
	Force      []string      `json:"force,omitempty"`       // the fields, by their JSON names, that override the plan
}

// Workers says how the attempts of a run are made on other machines.
type Workers struct {
	Engine    string        `json:"engine,omitempty"`     // temporal://HOST:PORT/NAMESPACE; "": this machine makes them
	Git       string        `json:"git,omitempty"`        // the git remote, by its name or URL; "": origin
	QueueWait time.Duration `json:"queue_wait,omitempty"` // until a worker has taken an attempt; 0: the default
	Heartbeat time.Duration `json:"heartbeat,omitempty"`  // without a sign of life of a worker; 0: the default
	// SameVersion refuses workers with another version of wavex.
	SameVersion bool `json:"same_version,omitempty"`

	Connection `json:"connection,omitzero"`
}

// Connection says how a program reaches the engine of workers. The paths are absolute.
type Connection struct {
	KeyFile  string `json:"key_file,omitempty"` // has the key that seals all messages; "": none
	Insecure bool   `json:"insecure,omitempty"` // without TLS, also to another machine
	TLSCert  string `json:"tls_cert,omitempty"` // "": no certificate of the client
	TLSKey   string `json:"tls_key,omitempty"`
	TLSCA    string `json:"tls_ca,omitempty"` // "": the system's
}

// Rehearsal is the Agent that asks no model, so that costs and tokens are made up.
const Rehearsal = "rehearse"

// Sandbox says whether a wall keeps agents from writing protected paths.
type Sandbox struct {
	Mode string `json:"mode,omitempty"` // SandboxAuto, SandboxStrict or "off"; "": a wavex without a wall
	// Caches are the directories outside of the project that may be written if Mode is SandboxStrict; absolute.
	Caches []string `json:"caches,omitempty"`
	// Wall means that bubblewrap keeps the agents of this session from writing. Reason says why it does not although
	// Mode is SandboxAuto; both are empty if the session has no such agents.
	Wall   bool   `json:"wall,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// SandboxAuto is the mode with a wall where a trial start of bubblewrap works.
const SandboxAuto = "auto"

// SandboxStrict is the mode in which all processes of tasks write the working tree and Sandbox.Caches alone, and only
// agents have a network.
const SandboxStrict = "strict"

// OwnFiles returns the outputs and more absolute paths that are in Dir: relative to it, with slashes. No task made
// them.
func (c *Config) OwnFiles(more ...string) []string {
	var own []string
	for _, path := range append(more, c.Outputs...) {
		if rel, err := filepath.Rel(c.Dir, path); err == nil && filepath.IsLocal(rel) && rel != "." {
			own = append(own, filepath.ToSlash(rel))
		}
	}
	return own
}

// DefaultConfig returns the default numbers; the caller sets the identity fields and Parallel, which
// depends on the memory.
func DefaultConfig() Config {
	return Config{
		Schedule: Waves, MaxRetries: plan.DefaultMaxRetries,
		Counsel: true, Threshold: plan.DefaultThreshold, RetrySession: "auto",
		SameError: plan.DefaultSameError, SameUnmet: plan.DefaultSameUnmet, SameFile: plan.DefaultSameFile,
		Review: ReviewAuto, ReviewRounds: plan.DefaultRounds, Judge: true,
	}
}

// Schedule says when a task may start.
type Schedule string

// These are the schedules.
const (
	Waves Schedule = "waves" // when the waves before its own are finished
	Eager Schedule = "eager" // when its blockers are completed
)

// Isolation says where tasks work.
type Isolation string

// Isolated gives each task its own tree. With any other value tasks share the project directory.
const Isolated Isolation = "worktree"

// Gates says when a person is asked whether to continue; "": never.
type Gates string

// These are the values of Gates.
const (
	GatesAttempts Gates = "attempts" // after each attempt that was done, and before the end
	GatesWaves    Gates = "waves"    // after each wave
)

// Interactive is the value of Config.Mode that asks for every retry.
const Interactive = "interactive"

// These are the values of Config.Review.
const (
	ReviewOff      = "off"
	ReviewLight    = "light"    // after each wave only
	ReviewThorough = "thorough" // before the gate only
	ReviewAuto     = "auto"     // after each wave but the last, and before the gate
)
