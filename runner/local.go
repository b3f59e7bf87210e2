package runner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"wavex/internal/check"
	"wavex/internal/filetree"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/safefile"
	"wavex/internal/textfmt"
)

// Local makes attempts on this machine with the turns of an Agent. It does not change with use, and
// its methods are safe for concurrent use.
type Local struct {
	Host
	Agent Agent // may be nil if every task is a command
}

// Attempt makes one attempt and verifies its work. It returns after the agent's process and all its
// descendants have ended. If ctx ends, Attempt stops the agent in steps, so that its cost is still
// reported, and the outcome is Interrupted. Problems are reported in the Result, never as an error.
func (l *Local) Attempt(ctx context.Context, req Request, hooks Hooks) Result {
	t := &attempt{Local: l, req: req, hooks: hooks, directory: hooks.Directory}
	if t.directory == nil {
		t.directory = privateDirectory{}
	}
	t.res.Started = time.Now().UTC()
	t.res.Session = req.Session
	t.res.Contained = true
	v := t.run(ctx)
	if v.outcome != Done {
		disk, _ := proc.DiskLimit(req.Dir)
		v.reason = withLimits(v.reason, t.exhausted, disk)
		t.res.Denials = slices.Concat(t.res.Denials, t.absent)
	}
	t.res.Outcome = v.outcome
	// Remove secrets before the texts are cut and before the signature is made: afterwards, a
	// secret that was cut would not be recognised, and the digest of a text may tell a short one.
	v.reason, v.detail = l.redact(v.reason), l.redact(v.detail)
	t.res.Reason = textfmt.OneLine(v.reason, ReasonMax)
	t.res.Detail = textfmt.ExcerptOf(v.detail, detailMax)
	if v.outcome != Done {
		t.res.Signature = t.signature()
	}
	t.res.Duration = time.Since(t.res.Started)
	if t.noOutput && v.outcome == Done {
		// The journal has everything that the files would hold. Thousands of small files would cost
		// more than the commands.
		return t.res
	}
	// The file is a projection: the journal has the Result, so a full disk loses nothing. But the
	// same write error may be the reason why the agent did not start and why nothing it said was
	// kept.
	if err := l.WriteResult(req.LogDir, t.res); err != nil && v.outcome == Broken {
		t.res.Reason = textfmt.OneLine(v.reason+"; "+err.Error(), ReasonMax)
	}
	return t.res
}

// withLimits returns the reason of an attempt that failed with the limit that it reached before it, and
// with a full disk behind it, which need not be the cause.
func withLimits(reason, reached string, disk proc.Limit) string {
	if !strings.Contains(reason, reached) {
		reason = reached + ": " + reason
	}
	if !strings.Contains(reason, disk.Remedy) {
		reason += "; " + disk.String()
	}
	return reason
}

// attempt is the state of one call of Attempt.
type attempt struct {
	*Local
	req       Request
	hooks     Hooks
	directory Directory
	turn      TurnRequest
	res       Result
	env       []string // of commands and checks
	absent    []Denial
	noOutput  bool             // a command task that printed nothing
	exhausted string           // the limit of the machine that the turn or the command reached
	failed    []check.Evidence // of the checks, or of the command of a command task
	red       []check.Evidence // those that failed in the quiet directory a moment ago

	first      filetree.Tree     // before the work; nil: not known
	shared     sharedFiles       // around the last checks
	inGit      map[string]bool   // the digests of its contents that git has
	digests    map[string]string // of the declared files, as in Result.Digests
	surplus    []string          // the changed files that the task does not declare, as paths of the project
	own        []string          // those that it declares
	hidden     []string          // the changed files that git ignores and the task does not declare
	made       []string          // the files that only checks after the turn changed
	now        filetree.Tree     // the last that is known of the files; nil: nothing
	turned     filetree.Tree     // the same after the turn
	uncompared string            // why the files were not compared
	unread     bool              // the checks are not known to have opened a changed file
	hiddenRead bool              // they may have opened a changed file that git ignores
}

func (t *attempt) run(ctx context.Context) classification {
	if err := context.Cause(ctx); err != nil {
		return classification{outcome: Interrupted, reason: "stopped before it began: " + err.Error()}
	}
	var err error
	if t.turn, err = t.PrepareTurn(t.req); err != nil {
		return classification{outcome: Broken, reason: proc.ErrorText(err)}
	}
	t.env = t.Environ(t.turn.Env)
	if t.turn.Policy.DeniesPush() {
		maps.Copy(t.turn.Env, t.withoutPush())
	}
	before, err := t.openBaseline(ctx)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return classification{outcome: Interrupted, reason: "stopped during the checks before: " + cause.Error()}
		}
		return classification{outcome: Broken, reason: proc.ErrorText(err)}
	}
	t.res.Vacuous, t.res.Unmeasured = before.Vacuous, before.Unmeasured
	first := before
	if t.req.Baseline != "" && t.req.Command == "" && t.req.Attempt > 1 {
		before = before.withOutsideChanges(ctx, t)
	}
	t.req.openChanged(&t.turn.Policy, before)
	defer func() { before.saveFinalState(first, t) }()

	v, w, err := t.work(ctx, before)
	if err != nil {
		return classification{outcome: Interrupted, reason: "stopped while waiting for its turn: " + err.Error()}
	}
	if t.hooks.Worked != nil {
		t.hooks.Worked()
	}
	w.vacuous, w.unmeasured = before.Vacuous, before.Unmeasured
	t.compareTurn(ctx, before)
	if v.outcome == Done && w.unfinished == "" {
		t.directory.Leave(t.own, t.now)
	}
	if err := t.reportTurn(v, w.unfinished); err != nil {
		return classification{outcome: Interrupted, reason: "stopped before the checks: " + err.Error()}
	}
	return t.verify(ctx, before, v, w)
}

// work runs the command or the agent's turn. An error means that it did not begin.
func (t *attempt) work(ctx context.Context, before baseline) (v classification, w work, err error) {
	w.files = t.req.Files
	if t.req.Turn != nil {
		v, w.unfinished = t.adoptTurn()
		return v, w, nil
	}
	end, err := t.directory.Edit(ctx, t.edited(ctx, before))
	if err != nil {
		return v, w, err
	}
	defer end()
	if t.req.Command != "" {
		return t.runCommand(ctx), w, nil
	}
	v, w.unfinished = t.runTurn(ctx)
	return v, w, nil
}

// verify makes the checks at once. If they fail in a directory that others edit, it makes them again: at once if the
// others have not changed a file yet, else when it is quiet. Only that counts, unless the agent reports failure.
func (t *attempt) verify(ctx context.Context, before baseline, v classification, w work) (verdict classification) {
	// A failure counts when it is seen twice. Beside others the second time is later.
	again := t.hooks.Directory == nil || w.unfinished != ""
	judge := func() { verdict = t.judge(ctx, before, v, w, again) }
	if (v.outcome != Done || len(t.req.Checks) == 0) && !t.hasMustNotChecks() {
		judge()
		return verdict
	}
	checkAt := func(when CheckTime) (alone bool, err error) {
		if when != WhenQuiet {
			return t.directory.Check(ctx, when, judge)
		}
		end := t.beginWaiting()
		defer end()
		return t.directory.Check(ctx, when, func() {
			end()
			t.beginShared()
			t.shared.before = t.listShared(ctx, before)
			judge()
		})
	}
	times := []CheckTime{AtOnce, Undisturbed, WhenQuiet}
	if t.directory.ChangesFiles(t.req.Checks) {
		times = []CheckTime{WhenQuiet, WhenQuiet}
	}
	alone, err := checkAt(times[0])
	failed := v.outcome == Done && w.unfinished == "" && len(t.res.Checks) > 0 && !check.Passed(t.res.Checks)
	if err == nil && t.hooks.Directory != nil && (failed || !alone && len(t.res.Violated) > 0) {
		times = times[1:]
		if again = !alone; alone {
			t.red, times = t.failed, times[len(times)-1:]
		}
		for _, when := range times {
			t.res.Violated, t.res.Checks, t.failed = nil, nil, nil
			if err = context.Cause(ctx); err != nil {
				break
			}
			t.compareTurn(ctx, before)
			if alone, err = checkAt(when); alone || err != nil {
				alone = alone && (when == WhenQuiet || !check.Passed(t.res.Checks)) // agents may have undone an edit
				break
			}
		}
	}
	switch {
	case err == nil:
		t.res.Beside = !alone && verdict.outcome == Done && len(t.req.Checks) > 0
		t.learn(check.Passed(t.res.Checks))
		if files := t.shared.after; t.hooks.Memory != nil && files != "" && files == t.shared.before {
			t.hooks.Memory.Note(files, t.req.Checks, t.res.Checks)
		}
		return verdict
	case v.outcome != Done:
		return v
	}
	return classification{outcome: Interrupted, reason: "stopped before the checks: " + err.Error()}
}

// judge makes the checks and returns the outcome of the attempt, whose turn ended as v. again repeats those that fail.
func (t *attempt) judge(ctx context.Context, before baseline, v classification, w work, again bool) classification {
	t.res.Tampered = MergeTampers(before.tampered(t.req.Dir, t.req.Guards), t.res.Tampered)
	var err error
	t.res.Violated, err = t.place().Violated(ctx, t.req.MustNot)
	if v.outcome != Done {
		return v
	}
	if err != nil {
		return classification{outcome: Interrupted, reason: "stopped during the checks: " + err.Error()}
	}
	if broken := before.changedProtected(&t.req); len(broken) > 0 {
		return classification{outcome: Wrong, reason: "changed what the plan protects: " + strings.Join(broken, ", "),
			detail: "These files must stay as they were before the task; put them back:\n" + strings.Join(broken, "\n")}
	}
	if n := len(t.req.Checks); n > 0 {
		t.observe("checking", strconv.Itoa(n)+" checks")
		w.checks, w.stop = t.runChecks(ctx, before, again)
	}
	t.compare(ctx, before) // a check may have created a declared file by building it, or changed others
	w.changed, w.edited = t.res.Changed, len(t.res.Surplus) > 0
	w.denials = slices.Concat(t.res.Denials, t.absent)
	w.present = (t.req.Reviewed || t.req.Command != "") && arePresent(t.req.Files, t.digests)
	if v = classifyWork(w); v.outcome != Done {
		return v
	}
	if err := t.control(ctx, before); err != nil {
		return classification{outcome: Interrupted, reason: "stopped during the checks: " + err.Error()}
	}
	t.res.Digests = t.digests
	return v
}

// arePresent reports whether the files that the task creates or modifies exist, by their digests, and it deletes none.
func arePresent(files []plan.File, digests map[string]string) bool {
	return !slices.ContainsFunc(files, func(f plan.File) bool {
		return f.Writes() && (f.Action == "delete" || digests[f.Path] == "")
	})
}

// runChecks makes the task's checks. stop says why not all of them were made.
func (t *attempt) runChecks(ctx context.Context, before baseline, again bool) (checks []check.Evidence, stop error) {
	at := t.place()
	at.Once, at.Suites = !again, before.Suites
	endWatch := t.watch(before)
	checks, stop = at.Run(ctx, t.req.Checks)
	endWatch()
	for i := range checks { // the verdict quotes the checks
		c := &checks[i]
		if c.Check = t.redact(c.Check); !c.Passed {
			t.failed = append(t.failed, check.Evidence{Check: c.Check, Reason: c.Reason, Whole: t.redact(c.Whole)})
		} else if c.Kind == check.KindExecution {
			c.Flaky = c.Flaky || slices.ContainsFunc(t.red, func(f check.Evidence) bool { return f.Check == c.Check })
		}
		c.Whole = ""
	}
	t.res.Checks = checks
	if check.Passed(checks) {
		stop = nil // all checks had passed before the stop
	}
	return checks, stop
}

// place returns where checks and commands run.
func (t *attempt) place() check.Place {
	return check.Place{Dir: t.req.Dir, Env: t.env, Wrapper: t.req.checkWrapper(t.Wall)}
}

// hasMustNotChecks reports whether a mustNot condition has a check.
func (t *attempt) hasMustNotChecks() bool {
	return slices.ContainsFunc(t.req.MustNot, func(c plan.Condition) bool { return c.Check != nil })
}

// PrepareTurn creates the folder and the first files of an attempt, and returns the request of its
// turn.
func (l *Local) PrepareTurn(req Request) (TurnRequest, error) {
	t := TurnRequest{Task: req.Task, Attempt: req.Attempt, Mark: fmt.Sprintf("%s/%s/%d", req.Run, req.Task, req.Attempt),
		Dir: req.Dir, LogDir: req.LogDir, Env: map[string]string{}, Prompt: req.Prompt, FullPrompt: req.FullPrompt,
		Session: req.Session, Resume: req.Resume, Settings: req.Settings, Cap: req.Cap, Checks: req.Checks}
	if req.Output != nil {
		t.Output = req.Output.Schema
	}
	t.Settings.Timeout = cmp.Or(req.Settings.Timeout, plan.DefaultTimeout)
	t.Settings.IdleTimeout = cmp.Or(req.Settings.IdleTimeout, plan.DefaultIdleTimeout)
	if l.Wall != nil && req.Command == "" && req.Turn == nil {
		t.Closed, t.Open = req.closedPaths(""), []string{req.root()}
	}
	maps.Copy(t.Env, req.Env)
	if req.Command == "" && req.Turn == nil {
		t.Policy = req.policy(l.Environ(t.Env))
	}
	t.Env[proc.RunVar] = req.Run
	t.Env[proc.AttemptVar] = t.Mark
	t.Env["WAVEX_TASK"] = req.Task
	t.Env["WAVEX_SLOT"] = strconv.Itoa(req.Slot)
	switch {
	case req.Turn != nil: // there is no prompt
		return t, nil
	case req.Command != "":
		return t, l.writePrompt(req.LogDir, req.Prompt)
	}
	return t, l.Prepare(req.LogDir, req.Prompt, t.Env, Assignment{Task: req.Task, Attempt: req.Attempt,
		Block: req.Rehearse})
}

// reportTurn reports the end of an agent's turn whose work is about to be checked.
func (t *attempt) reportTurn(v classification, unfinished string) error {
	if t.hooks.TurnEnded == nil || t.req.Command != "" || t.req.Turn != nil || v.outcome != Done ||
		len(t.req.Checks) == 0 && !t.hasMustNotChecks() {
		return nil
	}
	turn := Turn{Result: t.res, Unfinished: unfinished}
	turn.Result.Outcome, turn.Result.Duration = Done, time.Since(t.res.Started)
	return t.hooks.TurnEnded(turn)
}

// adoptTurn makes the turn of an earlier attempt the turn of this one. Its cost stays the earlier
// attempt's.
func (t *attempt) adoptTurn() (v classification, unfinished string) {
	started := t.res.Started
	t.res = t.req.Turn.Result
	t.res.Started, t.res.Contained = started, true
	t.res.Cost, t.res.Disputed, t.res.Usage = 0, 0, Usage{}
	t.res.Priced, t.res.Held = "", ""
	t.res.Notional, t.res.Window = false, nil // they may differ now
	return classification{outcome: Done}, t.req.Turn.Unfinished
}

// runTurn runs the agent's turn and stores its cost and work in the result. unfinished is the agent's
// own account of the missing work.
func (t *attempt) runTurn(ctx context.Context) (v classification, unfinished string) {
	end, res := t.Agent.Turn(ctx, t.turn), &t.res
	res.Cost, res.Priced = end.Cost, end.Priced
	res.Disputed = end.Disputed
	res.Usage = end.Usage
	res.Turns = end.Turns
	res.ExitCode, res.Contained = end.ExitCode, end.Contained
	t.exhausted = end.Exhausted
	res.ClaudeVersion, res.Model = end.Version, end.Model
	res.Notional = end.Notional
	res.Window = end.Window
	res.ResetsAt, res.RetryAfter, res.FreshMayHelp = end.ResetsAt, end.RetryAfter, end.FreshMayHelp
	res.SessionReplaced = end.SessionReplaced
	if end.Session != "" {
		res.Session = end.Session
	}
	res.Report = end.Report
	for _, d := range end.Denials {
		if d.Absent {
			t.absent = append(t.absent, d)
		} else {
			res.Denials = append(res.Denials, d)
		}
	}
	res.Held = end.Held
	res.Refused, res.Refusals = end.Refused, end.Refusals
	for path, n := range end.Edits {
		if rel, err := filepath.Rel(t.req.Dir, path); err == nil && filepath.IsLocal(rel) {
			path = filepath.ToSlash(rel)
		}
		if n < 2 {
			continue
		}
		if res.Edits == nil {
			res.Edits = map[string]int{}
		}
		res.Edits[path] += n
	}
	v = classification{outcome: end.Outcome, reason: end.Reason, detail: end.Detail}
	if v.outcome == Done && t.req.Output != nil {
		v = t.takeOutput(end.Structured, end.Offered, "the agent did not call StructuredOutput")
	}
	return v, unfinishedWork(end.Text)
}

// signature identifies the attempt's error.
func (t *attempt) signature() string {
	n := newNormaliser(t.turn.Env["TMPDIR"], t.req.Dir, t.req.LogDir)
	f := failure{reason: t.res.Reason, detail: t.res.Detail, checks: t.failed}
	f.changes = func() string {
		var b strings.Builder
		files := slices.Sorted(slices.Values(slices.Concat(t.res.Changed, t.res.Surplus)))
		for _, path := range slices.Compact(files) {
			fmt.Fprintf(&b, "%q %s\n", path, n.fileDigest(t.req.Dir, path))
		}
		return b.String()
	}
	return f.signature(n)
}

// beginWaiting tells observers, and with a file other processes, that the checks wait for a quiet directory. end
// removes the file; it may be called again.
func (t *attempt) beginWaiting() (end func()) {
	t.observe("waiting", "for a quiet directory")
	path := filepath.Join(t.req.LogDir, loop.WaitingFile)
	if safefile.MkdirAll(t.req.LogDir, 0o700) != nil || safefile.Write(path, nil, 0o600) != nil {
		return func() {} // other processes see that the turn has ended
	}
	return func() {
		_ = safefile.Remove(path)         // a remaining one means nothing once the attempt has ended
		_ = safefile.Remove(t.req.LogDir) // if it is empty, as after a command that printed nothing
	}
}

// observe passes an observation to Observe.
func (t *attempt) observe(kind, text string) {
	if t.Observe != nil {
		t.Observe(Observation{Task: t.req.Task, Attempt: t.req.Attempt, Kind: kind, Text: text, Cost: t.res.Cost})
	}
}
