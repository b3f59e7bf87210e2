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
	"wavex/internal/claude/statement"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/verify"
	"wavex/internal/wary"
)

// The defaults of an attempt's limits.
const (
	DefaultTimeout     = 30 * time.Minute // wall clock of the agent's turn
	DefaultIdleTimeout = 10 * time.Minute // without any byte from the agent
	DefaultAskTimeout  = 5 * time.Minute  // of a Question
)

// Agent makes attempts with the claude CLI, or with a program that speaks like it. The
// zero value but Argv is usable; it is not changed by use, and its methods may be called from many
// goroutines at once. Env and Pass are read once.
type Agent struct {
	// Argv is the program and what precedes the flags: ["claude"], or [self, "agent"].
	Argv []string
	// Name is what messages call the agent; "" means "claude".
	Name string
	// Run is the run id that marks the processes of Ask; attempts have their own.
	Run string
	// Env is the parent's environment, and Pass names what passes from it to the
	// children beyond what proc.Environ allows ("NAME", "PREFIX*"). Marks of nesting
	// and wavex's own variables never pass, whatever is in here.
	Env  []string
	Pass []string
	// Rehearsal gives every process an assignment file (WAVEX_REHEARSE), also where the
	// plan has no block for it.
	Rehearsal bool
	// CLI holds the verdicts on what wavex relies on of the program. Where one does not hold, its
	// fallback is taken; nil: all fallbacks.
	CLI statement.Verdicts
	// Extra is set in every child's environment: variables of the agent itself.
	Extra map[string]string
	// Prices prices attempts that died without a result; nil: they count at their cap.
	Prices Pricer
	// Secrets takes secrets out of every file that is kept of an attempt, and out of what is
	// said of how it ended; nil: they are kept as they are. What an Agent returns otherwise
	// and what it observes is the caller's to clean.
	Secrets Redactor
	// Observe is told of signs of life, from a goroutine of each attempt. It must not
	// block. nil: nobody watches.
	Observe func(Observation)
	// Grace is how long the process may live on after its result line; 0: 10 s.
	Grace time.Duration
	// StopWait bounds each step of stopping an attempt.
	StopWait StopWait
	// NewSession returns the id of a session to open in place of one that the CLI has already;
	// nil: random UUIDs.
	NewSession func() string
	// Now is the clock of Started and Duration; nil: time.Now.
	Now func() time.Time

	// expiry ends an agent's turn in place of the clock: tests want the time to be up when
	// the agent is where they want it. Its context ends with ErrTimeout. nil: the clock.
	expiry func(context.Context) (context.Context, context.CancelFunc)

	answered atomic.Bool // a process has printed a line of the CLI's protocol

	inherit   sync.Once
	inherited proc.Inherited // of Env and Pass
}

// StopWait says how long each step of stopping an attempt may take before the next,
// harder one; zero fields have defaults.
type StopWait struct {
	Interrupt time.Duration // from the interrupt request to the result line; 0: 10 s
	Close     time.Duration // from closing stdin to the exit; 0: 3 s
	Terminate time.Duration // from SIGTERM to SIGKILL; 0: 5 s
}

// The files of an attempt in its LogDir, all readable by the owner alone.
const (
	promptFile   = "prompt.md"
	streamFile   = "stream.jsonl"
	stderrFile   = "stderr.txt"
	resultFile   = "result.json"
	outputFile   = "output.txt" // of a command task
	rehearseFile = "rehearse.json"
	systemFile   = "system.md" // a system prompt too long for an argument
)

// Attempt makes one attempt and verifies its work. It returns when the agent's
// process and everything it started are gone. When ctx ends the attempt is stopped
// cleanly (its cost is real money) and the outcome is Interrupted; what went wrong is
// in the Result, never an error.
func (a *Agent) Attempt(ctx context.Context, req Request) Result {
	t := &attempt{Agent: a, req: req}
	t.res.Started = a.now().UTC()
	t.res.Session = req.Session
	t.res.Contained = true
	v := t.run(ctx)
	t.res.Outcome = v.outcome
	// Before they are cut, and before a signature is made: of a part of a secret, or of one
	// without its digits, nobody could tell that it was one.
	v.reason, v.detail = a.clean(v.reason), a.clean(v.detail)
	t.res.Reason = verify.OneLine(v.reason, reasonMax)
	t.res.Detail = verify.Shorten(v.detail, detailMax)
	t.res.ResetsAt = v.resetsAt
	t.res.RetryAfter = v.retryAfter
	if v.outcome != Done {
		t.res.Signature = Signature(t.res.Reason, t.res.Detail)
	}
	t.res.Duration = a.now().Sub(t.res.Started)
	if t.silent && v.outcome == Done {
		// Nothing to read later that the journal does not have. Thousands of small files
		// would cost more than the commands.
		return t.res
	}
	// A projection: the journal has the Result, so a full disk loses nothing. But it may
	// be why the agent did not start, and why nothing of what it said was kept.
	if err := a.keepJSON(filepath.Join(req.LogDir, resultFile), t.res); err != nil && v.outcome == Broken {
		t.res.Reason = verify.OneLine(v.reason+"; "+err.Error(), reasonMax)
	}
	return t.res
}

// attempt is the state of one call of Attempt.
type attempt struct {
	*Agent
	req    Request
	res    Result
	env    []string
	spent  budget.USD // by a spare that was not used
	edited bool       // the agent used a tool that edits
	silent bool       // a command task that printed nothing
}

func (t *attempt) run(ctx context.Context) verdict {
	if err := context.Cause(ctx); err != nil {
		return verdict{outcome: Interrupted, reason: "stopped before it began: " + err.Error()}
	}
	env, err := t.prepare()
	if err != nil {
		return verdict{outcome: Broken, reason: err.Error()}
	}
	t.env = env
	before, err := t.before(ctx)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return verdict{outcome: Interrupted, reason: "stopped during the checks before: " + cause.Error()}
		}
		return verdict{outcome: Broken, reason: err.Error()}
	}
	t.res.Vacuous = before.Vacuous
	first := before
	if t.req.Base != "" && t.req.Shell == "" && t.req.Attempt > 1 {
		before = before.mended(t.req)
	}
	defer func() { before.keepLeft(first, t.req) }()

	var v verdict
	w := work{files: t.req.Files, vacuous: before.Vacuous}
	if t.req.Shell != "" {
		v = t.command(ctx)
	} else {
		v, w.claim = t.agent(ctx)
	}
	t.res.Changed = before.changed(t.req.Dir, t.req.Files)
	n := len(t.req.Checks)
	if t.req.BeforeChecks != nil && (v.outcome == Done && n > 0 || t.mustCheck()) {
		release, err := t.req.BeforeChecks(ctx)
		if err != nil {
			if v.outcome != Done {
				return v
			}
			return verdict{outcome: Interrupted, reason: "stopped before the checks: " + err.Error()}
		}
		defer release()
	}
	t.res.Tampered = before.tampered(t.req.Dir, t.req.Guards, t.res.Touched)
	t.res.Violated = t.violated(ctx)
	if v.outcome != Done {
		return v
	}
	if broken := before.broken(t.req.Protect, t.req.Dir); len(broken) > 0 {
		return verdict{outcome: Wrong, reason: "changed what the plan protects: " + strings.Join(broken, ", "),
			detail: "These files must stay as they were before the task; put them back:\n" + strings.Join(broken, "\n")}
	}
	if n > 0 {
		t.tell("checking", strconv.Itoa(n)+" checks")
		w.checks, w.stop = verify.Run(ctx, t.req.Dir, t.env, t.req.Checks)
		for i := range w.checks { // the verdict cuts what it quotes of them
			w.checks[i].Check = t.clean(w.checks[i].Check)
		}
		t.res.Checks = w.checks
		if verify.Passed(w.checks) {
			w.stop = nil // all of it was seen before the stop
		}
	}
	// A check may have made what was declared, such as a built file.
	t.res.Changed = before.changed(t.req.Dir, t.req.Files)
	w.changed, w.denials, w.edited = t.res.Changed, t.res.Denials, t.edited
	return judgeWork(w)
}

// mustCheck tells whether there is a mustNot that must be looked at.
func (t *attempt) mustCheck() bool {
	return slices.ContainsFunc(t.req.MustNot, func(c plan.Condition) bool { return c.Check != nil })
}

// violated names the mustNot conditions that are true now.
func (t *attempt) violated(ctx context.Context) []string {
	var out []string
	for _, c := range t.req.MustNot {
		if c.Check == nil {
			continue
		}
		seen, err := verify.Run(ctx, t.req.Dir, t.env, []plan.Check{*c.Check})
		if err == nil && verify.Passed(seen) {
			out = append(out, c.Text)
		}
	}
	return out
}

// prepare makes the folder and the files that an attempt begins with, and the
// environment of everything it starts.
func (t *attempt) prepare() ([]string, error) {
	if t.req.Shell == "" {
		if err := os.MkdirAll(t.req.LogDir, 0o700); err != nil {
			return nil, err
		}
	}
	if t.req.Prompt != "" {
		if err := t.keep(filepath.Join(t.req.LogDir, promptFile), []byte(t.req.Prompt)); err != nil {
			return nil, err
		}
	}
	add := map[string]string{}
	maps.Copy(add, t.req.Env)
	add[proc.RunVar] = t.req.Run
	add[proc.AttemptVar] = fmt.Sprintf("%s/%s/%d", t.req.Run, t.req.Task, t.req.Attempt)
	add["WAVEX_TASK"] = t.req.Task
	add["WAVEX_SLOT"] = strconv.Itoa(t.req.Slot)
	if t.req.Shell != "" {
		return t.environ(add), nil
	}
	err := t.assign(add, t.req.LogDir, assignment{Task: t.req.Task, Attempt: t.req.Attempt, Block: t.req.Rehearse})
	return t.environ(add), err
}

// before returns what was there before the first attempt: digests, and whether the checks
// passed already.
func (t *attempt) before(ctx context.Context) (base, error) {
	if len(t.req.Files) == 0 && len(t.req.Checks) == 0 && len(t.req.Guards) == 0 && t.req.Protect == nil {
		return base{}, nil
	}
	return openBase(t.req.Base, t.req, func() (bool, error) {
		evidence, err := verify.Run(ctx, t.req.Dir, t.env, t.req.Checks)
		return verify.Passed(evidence), err
	})
}

// tell passes a sign of life on.
func (t *attempt) tell(kind, text string) {
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

// assign writes the rehearsal agent's assignment, where there is one.
func (a *Agent) assign(env map[string]string, logDir string, what assignment) error {
	if !a.Rehearsal && len(what.Block) == 0 {
		return nil
	}
	path := filepath.Join(logDir, rehearseFile)
	env["WAVEX_REHEARSE"] = path
	data, err := json.Marshal(what)
	if err != nil {
		return err
	}
	// As it is: it is what the stand-in is told, not what is kept of it.
	return wary.Write(path, append(data, '\n'), 0o600)
}

// environ builds the environment of a child: never more than proc lets pass.
func (a *Agent) environ(add map[string]string) []string {
	for k, v := range a.Extra {
		if _, ours := add[k]; !ours {
			add[k] = v
		}
	}
	a.inherit.Do(func() { a.inherited = proc.Inherit(a.Env, a.Pass) })
	return a.inherited.With(add)
}

// within is ctx for as long as an agent's turn may take.
func (a *Agent) within(ctx context.Context, wall time.Duration) (context.Context, context.CancelFunc) {
	if a.expiry != nil {
		return a.expiry(ctx)
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

// limits are the timeouts that a task's settings ask for.
func limits(s plan.Settings) (wall, idle time.Duration) {
	return orDefault(s.Timeout, DefaultTimeout), orDefault(s.IdleTimeout, DefaultIdleTimeout)
}
