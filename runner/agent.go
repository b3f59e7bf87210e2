package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"wavex/budget"
	"wavex/internal/check"
	"wavex/internal/claude/statement"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/safefile"
)

// These are the defaults of an attempt's limits.
const (
	DefaultTimeout     = 30 * time.Minute // wall clock of the agent's turn
	DefaultIdleTimeout = 10 * time.Minute // without any output byte from the agent
	DefaultAskTimeout  = 5 * time.Minute  // wall clock of a Question
)

// Agent makes attempts with the claude CLI, or with a program that speaks its protocol. Every field
// but Argv may be zero. An Agent does not change with use, and its methods are safe for concurrent
// use. Env and Pass are read once.
type Agent struct {
	// Argv is the program and the arguments before the flags: ["claude"], or [self, "agent"].
	Argv []string
	// Name is the agent's name in messages; "" means "claude".
	Name string
	// Run is the run id that marks the processes of Ask; attempts have their own.
	Run string
	// Env is the parent's environment. Pass names the variables that children get beyond those that
	// proc.Environ allows ("NAME", "PREFIX*"). Nesting marks and wavex's own variables are never
	// passed on, even if Pass names them.
	Env  []string
	Pass []string
	// Rehearsal gives every process an assignment file (WAVEX_REHEARSE), also if the plan has no
	// rehearse block for it.
	Rehearsal bool
	// Support holds the verdicts on the statements that wavex relies on. For a statement that does not
	// hold, wavex uses the fallback. If nil, it uses every fallback.
	Support statement.SupportSet
	// ExtraEnv is set in every child's environment: variables of the agent itself.
	ExtraEnv map[string]string
	// Prices prices attempts that end without a result line. If nil, they count at their cap.
	Prices Pricer
	// Redactor removes secrets from every file of an attempt and from the Reason and Detail of its
	// Result. If nil, nothing is removed. The caller must clean the other fields and the
	// Observations.
	Redactor Redactor
	// Observe receives signs of life, from one goroutine per attempt. It must not block. May be
	// nil.
	Observe func(Observation)
	// Grace bounds the life of the process after its result line; 0: 10 s.
	Grace time.Duration
	// StopWait bounds each step of stopping an attempt.
	StopWait StopWait
	// NewSession returns the id of a session that replaces one that the CLI refuses; nil: random
	// UUIDs.
	NewSession func() string
	// Now is the clock of Started and Duration; nil: time.Now.
	Now func() time.Time

	// turnContext replaces the timeout of the agent's turn in tests, which end the turn at a chosen
	// moment. Its context ends with ErrTimeout. nil: the wall clock.
	turnContext func(context.Context) (context.Context, context.CancelFunc)

	protocolSeen atomic.Bool // a process has printed a line of the CLI's protocol

	inherit   sync.Once
	inherited proc.Inherited // of Env and Pass
}

// Attempt makes one attempt and verifies its work. It returns after the agent's process and all its
// descendants have ended. If ctx ends, Attempt stops the agent in steps, so that its cost is still
// reported, and the outcome is Interrupted. Problems are reported in the Result, never as an error.
func (a *Agent) Attempt(ctx context.Context, req Request) Result {
	t := &attempt{Agent: a, req: req}
	t.res.Started = a.now().UTC()
	t.res.Session = req.Session
	t.res.Contained = true
	v := t.run(ctx)
	t.res.Outcome = v.outcome
	// Remove secrets before the texts are cut and before the signature is made: afterwards, a
	// secret that was cut or lost its digits would not be recognised.
	v.reason, v.detail = a.redact(v.reason), a.redact(v.detail)
	t.res.Reason = check.OneLine(v.reason, reasonMax)
	t.res.Detail = check.ExcerptOf(v.detail, detailMax)
	t.res.ResetsAt = v.resetsAt
	t.res.RetryAfter = v.retryAfter
	if v.outcome != Done {
		t.res.Signature = Signature(t.res.Reason, t.res.Detail)
	}
	t.res.Duration = a.now().Sub(t.res.Started)
	if t.noOutput && v.outcome == Done {
		// The journal has everything that the files would hold. Thousands of small files would cost
		// more than the commands.
		return t.res
	}
	// The file is a projection: the journal has the Result, so a full disk loses nothing. But the
	// same write error may be the reason why the agent did not start and why nothing it said was
	// kept.
	if err := a.writeJSON(filepath.Join(req.LogDir, loop.ResultFile), t.res); err != nil && v.outcome == Broken {
		t.res.Reason = check.OneLine(v.reason+"; "+err.Error(), reasonMax)
	}
	return t.res
}

// attempt is the state of one call of Attempt.
type attempt struct {
	*Agent
	req       Request
	res       Result
	env       []string
	spareCost budget.USD // cost of a spare that was not used
	edited    bool       // the agent used a tool that edits
	noOutput  bool       // a command task that printed nothing
}

func (t *attempt) run(ctx context.Context) classification {
	if err := context.Cause(ctx); err != nil {
		return classification{outcome: Interrupted, reason: "stopped before it began: " + err.Error()}
	}
	env, err := t.prepare()
	if err != nil {
		return classification{outcome: Broken, reason: err.Error()}
	}
	t.env = env
	before, err := t.openBaseline(ctx)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return classification{outcome: Interrupted, reason: "stopped during the checks before: " + cause.Error()}
		}
		return classification{outcome: Broken, reason: err.Error()}
	}
	t.res.Vacuous = before.Vacuous
	first := before
	if t.req.Baseline != "" && t.req.Command == "" && t.req.Attempt > 1 {
		before = before.withOutsideChanges(t.req)
	}
	defer func() { before.saveFinalState(first, t.req) }()

	var v classification
	w := work{files: t.req.Files, vacuous: before.Vacuous}
	if t.req.Command != "" {
		v = t.runCommand(ctx)
	} else {
		v, w.claim = t.runAgent(ctx)
	}
	t.res.Changed = before.changed(t.req.Dir, t.req.Files)
	n := len(t.req.Checks)
	if t.req.BeforeChecks != nil && (v.outcome == Done && n > 0 || t.hasMustNotChecks()) {
		release, err := t.req.BeforeChecks(ctx)
		if err != nil {
			if v.outcome != Done {
				return v
			}
			return classification{outcome: Interrupted, reason: "stopped before the checks: " + err.Error()}
		}
		defer release()
	}
	t.res.Tampered = before.tampered(t.req.Dir, t.req.Guards, t.res.Touched)
	t.res.Violated = t.violated(ctx)
	if v.outcome != Done {
		return v
	}
	if broken := before.changedProtected(t.req.Protect, t.req.Dir); len(broken) > 0 {
		return classification{outcome: Wrong, reason: "changed what the plan protects: " + strings.Join(broken, ", "),
			detail: "These files must stay as they were before the task; put them back:\n" + strings.Join(broken, "\n")}
	}
	if n > 0 {
		t.observe("checking", strconv.Itoa(n)+" checks")
		w.checks, w.stop = check.Run(ctx, t.req.Dir, t.env, t.req.Checks)
		for i := range w.checks { // the verdict quotes the checks
			w.checks[i].Check = t.redact(w.checks[i].Check)
		}
		t.res.Checks = w.checks
		if check.Passed(w.checks) {
			w.stop = nil // all checks had passed before the stop
		}
	}
	// A check may have created a declared file, for example by building it.
	t.res.Changed = before.changed(t.req.Dir, t.req.Files)
	w.changed, w.denials, w.edited = t.res.Changed, t.res.Denials, t.edited
	return classifyWork(w)
}

// hasMustNotChecks reports whether a mustNot condition has a check.
func (t *attempt) hasMustNotChecks() bool {
	return slices.ContainsFunc(t.req.MustNot, func(c plan.Condition) bool { return c.Check != nil })
}

// violated returns the texts of the mustNot conditions that hold now.
func (t *attempt) violated(ctx context.Context) []string {
	var out []string
	for _, c := range t.req.MustNot {
		if c.Check == nil {
			continue
		}
		seen, err := check.Run(ctx, t.req.Dir, t.env, []plan.Check{*c.Check})
		if err == nil && check.Passed(seen) {
			out = append(out, c.Text)
		}
	}
	return out
}

// prepare creates the folder and the first files of an attempt, and returns the environment for all
// its processes.
func (t *attempt) prepare() ([]string, error) {
	if t.req.Command == "" {
		if err := os.MkdirAll(t.req.LogDir, 0o700); err != nil {
			return nil, err
		}
	}
	if t.req.Prompt != "" {
		if err := t.writeFile(filepath.Join(t.req.LogDir, loop.PromptFile), []byte(t.req.Prompt)); err != nil {
			return nil, err
		}
	}
	add := map[string]string{}
	maps.Copy(add, t.req.Env)
	add[proc.RunVar] = t.req.Run
	add[proc.AttemptVar] = fmt.Sprintf("%s/%s/%d", t.req.Run, t.req.Task, t.req.Attempt)
	add["WAVEX_TASK"] = t.req.Task
	add["WAVEX_SLOT"] = strconv.Itoa(t.req.Slot)
	if t.req.Command != "" {
		return t.environ(add), nil
	}
	err := t.writeAssignment(add, t.req.LogDir, assignment{Task: t.req.Task, Attempt: t.req.Attempt,
		Block: t.req.Rehearse})
	return t.environ(add), err
}

// openBaseline returns the base of the task: the digests from before the first attempt, and whether the
// checks passed then.
func (t *attempt) openBaseline(ctx context.Context) (baseline, error) {
	if len(t.req.Files) == 0 && len(t.req.Checks) == 0 && len(t.req.Guards) == 0 && t.req.Protect == nil {
		return baseline{}, nil
	}
	return openBaseline(t.req.Baseline, t.req, func() (bool, error) {
		evidence, err := check.Run(ctx, t.req.Dir, t.env, t.req.Checks)
		return check.Passed(evidence), err
	})
}

// observe passes an observation to Observe.
func (t *attempt) observe(kind, text string) {
	if t.Observe != nil {
		t.Observe(Observation{Task: t.req.Task, Attempt: t.req.Attempt, Kind: kind, Text: text, Cost: t.res.Cost})
	}
}

// assignment is the content of rehearse.json.
type assignment struct {
	Task    string          `json:"task"`
	Attempt int             `json:"attempt"`
	Block   json.RawMessage `json:"block,omitempty"`
}

// writeAssignment writes the assignment file of the rehearsal agent, if there is a rehearsal.
func (a *Agent) writeAssignment(env map[string]string, logDir string, what assignment) error {
	if !a.Rehearsal && len(what.Block) == 0 {
		return nil
	}
	path := filepath.Join(logDir, loop.RehearseFile)
	env["WAVEX_REHEARSE"] = path
	data, err := json.Marshal(what)
	if err != nil {
		return err
	}
	// Secrets are not removed: the rehearsal agent reads this file, and it is not a log.
	return safefile.Write(path, append(data, '\n'), 0o600)
}

// environ returns the environment of a child: the variables that proc lets pass, Extra and add.
func (a *Agent) environ(add map[string]string) []string {
	for k, v := range a.ExtraEnv {
		if _, ours := add[k]; !ours {
			add[k] = v
		}
	}
	a.inherit.Do(func() { a.inherited = proc.Inherit(a.Env, a.Pass) })
	return a.inherited.With(add)
}

// withTurnLimit returns ctx with the time limit of an agent's turn.
func (a *Agent) withTurnLimit(ctx context.Context, wall time.Duration) (context.Context, context.CancelFunc) {
	if a.turnContext != nil {
		return a.turnContext(ctx)
	}
	return context.WithTimeoutCause(ctx, wall, ErrTimeout)
}

func (a *Agent) now() time.Time {
	if a.Now != nil {
		return a.Now()
	}
	return time.Now()
}

func (a *Agent) name() string {
	if a.Name != "" {
		return a.Name
	}
	return "claude"
}

func orDefault(d, def time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return def
}

// timeouts returns the timeouts of a task's settings, or the defaults.
func timeouts(s plan.Settings) (wall, idle time.Duration) {
	return orDefault(s.Timeout, DefaultTimeout), orDefault(s.IdleTimeout, DefaultIdleTimeout)
}
