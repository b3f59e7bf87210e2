package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/uuid"

	"wavex/budget"
	"wavex/internal/proc"
	"wavex/internal/verify"
)

// agent lets the agent have its turn, and puts into the result what it cost and did.
func (t *attempt) agent(ctx context.Context) (verdict, claim) {
	k, err := t.talk(ctx, t.req.Resume, t.req.Prompt)
	if err != nil {
		return verdict{outcome: Broken, reason: err.Error()}, claim{}
	}
	v := judgeTurn(k.end)
	if t.req.Resume && v.outcome == Broken && k.end.startErr == nil && !k.end.begun && ctx.Err() == nil {
		// The CLI does not have the session any more: another directory, another
		// machine, or it was never written. Nothing was spent; once, start afresh.
		prompt := t.req.Prompt
		if t.req.Whole != "" {
			prompt = t.req.Whole
		}
		if again, err := t.talk(ctx, false, prompt); err == nil {
			if av := judgeTurn(again.end); again.end.begun || av.outcome == Interrupted {
				k, v = again, av
				t.res.Fresh = true
			}
		}
	}
	t.record(k)
	var c claim
	if r := k.end.result; r != nil {
		c = r.claim
	}
	var start *proc.StartError
	if errors.As(k.end.startErr, &start) {
		v.reason += fmt.Sprintf("; is %s installed, and is it in PATH?", t.name())
	}
	return v, c
}

// talk holds one conversation for the attempt, with a process that it may share.
func (t *attempt) talk(ctx context.Context, resume bool, prompt string) (*talk, error) {
	pool := t.Warm
	if pool == nil || !pool.wants() {
		return t.converse(ctx, resume, prompt, nil)
	}
	k, err := t.converse(ctx, resume, prompt, pool)
	if err != nil {
		return nil, err
	}
	if k.warm.taken {
		pool.refusedBy(k.refused)
	}
	if !k.refused {
		return k, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		k.end.stop = cause // meanwhile; no other process is to begin
		return k, nil
	}
	// It has not got the prompt. What it did instead is paid for, and another does the work.
	lost, _, _ := k.facts.spent(0)
	t.spent += lost
	if !k.warm.taken {
		pool.giveUp() // this CLI does not know how
	}
	return t.converse(ctx, resume, prompt, nil)
}

// converse holds a conversation, and shares the process where there is a pool.
func (t *attempt) converse(ctx context.Context, resume bool, prompt string, pool *Warm) (*talk, error) {
	flags, rules, err := t.flags()
	if err != nil {
		return nil, err
	}
	f := &facts{prices: t.Prices}
	if t.Observe != nil {
		f.note = func(kind, text string) {
			t.Observe(Observation{Task: t.req.Task, Attempt: t.req.Attempt, Kind: kind, Text: text, Cost: f.cost})
		}
	}
	k := &talk{
		agent: t.Agent, dir: t.req.Dir, env: t.env,
		mark:   fmt.Sprintf("%s/%s/%d", t.req.Run, t.req.Task, t.req.Attempt),
		logDir: t.req.LogDir, prompt: prompt, facts: f,
	}
	k.wall, k.idle = limits(t.req.Settings)
	if pool != nil {
		k.warm = &warming{pool: pool, flags: flags, rules: rules, vars: t.vars, session: t.req.Session, resume: resume, cap: t.req.Cap}
	} else if k.argv, err = t.attemptArgs(flags, rules, resume); err != nil {
		return nil, err
	}
	k.run(ctx)
	k.settle()
	return k, nil
}

// record puts into the result what the conversation says beyond its outcome.
func (t *attempt) record(k *talk) {
	f, res := k.facts, &t.res
	res.Cost, res.Priced, res.Usage = f.spent(t.req.Cap)
	res.Cost += t.spent
	res.ExitCode, res.Contained = k.exit.Code, k.exit.Contained
	res.ClaudeVersion, res.Notional = f.version, f.notional
	if f.limit.window != "" && f.limit.used > 0 {
		res.Window = &Window{Name: f.limit.window, Used: f.limit.used}
	}
	if f.session != "" {
		res.Session = f.session
	}
	res.Report = f.lastText
	if r := f.result; r != nil {
		res.Turns = r.turns
		if r.text != "" {
			res.Report = r.text
		}
		granted := append(checkRules(t.req.Checks), t.req.Settings.AllowedTools...)
		res.Denials = denials(r.denials, granted)
	}
	t.edited = len(f.edits) > 0
	for path, n := range f.edits {
		if rel, err := filepath.Rel(t.req.Dir, path); err == nil && filepath.IsLocal(rel) {
			path = filepath.ToSlash(rel)
		}
		res.Touched = append(res.Touched, path)
		if n < 2 {
			continue
		}
		if res.Edits == nil {
			res.Edits = map[string]int{}
		}
		res.Edits[path] += n
	}
	slices.Sort(res.Touched)
	res.Touched = res.Touched[:min(len(res.Touched), touchedMax)]
}

// touchedMax bounds Result.Touched.
const touchedMax = 100

// command runs the command of a task without an agent: the shell's exit code says how it went.
func (t *attempt) command(ctx context.Context) verdict {
	e := turnEnd{exit: -1}
	e.timeout, _ = limits(t.req.Settings)
	out := &late{Agent: t.Agent, dir: t.req.LogDir, name: outputFile}
	defer out.close()
	ctx, cancel := context.WithTimeoutCause(ctx, e.timeout, ErrTimeout)
	defer cancel()
	exit, said, err := verify.Command(ctx, t.req.Dir, t.env, t.req.Shell, out)
	var start *proc.StartError
	switch {
	case errors.As(err, &start):
		e.startErr = err
	case err != nil:
		e.stop = err
	}
	e.exit, e.signal, e.words = exit.Code, exit.Signal, said.String()
	t.res.ExitCode, t.res.Contained = exit.Code, exit.Contained
	t.res.Report = e.words
	t.silent = out.rec == nil
	v := judgeCommand(e)
	if v.detail == "" {
		v.detail = e.words
	}
	if v.outcome == Done {
		v.detail = ""
	}
	return v
}

// Ask makes one lean call: no task, no checks, no session, no tools but those named.
// When ctx ends it is stopped and the outcome is Interrupted.
func (a *Agent) Ask(ctx context.Context, q Question) Answer {
	began := a.now()
	ans := a.ask(ctx, q)
	ans.Reason = verify.OneLine(ans.Reason, reasonMax)
	ans.Duration = a.now().Sub(began)
	_ = a.keepJSON(filepath.Join(q.LogDir, resultFile), ans) // the caller has it anyway
	return ans
}

func (a *Agent) ask(ctx context.Context, q Question) Answer {
	if err := context.Cause(ctx); err != nil {
		return Answer{Outcome: Interrupted, Reason: "stopped before it began: " + err.Error()}
	}
	add := map[string]string{proc.RunVar: a.Run}
	// Several panels may ask the same expert at the same time: what is swept with one
	// must not be of another.
	k := &talk{agent: a, dir: q.Dir, mark: a.Run + "/" + q.Name + "/" + uuid.NewString(), logDir: q.LogDir, prompt: q.Prompt,
		wall: orDefault(q.Timeout, DefaultAskTimeout), facts: &facts{prices: a.Prices}}
	args, err := a.prepareAsk(q, add)
	if err != nil {
		return Answer{Outcome: Broken, Reason: err.Error()}
	}
	k.argv, k.env = append(append([]string{}, a.Argv...), args...), a.environ(add)
	k.run(ctx)
	return answer(q, k.end, k.facts, q.Cap)
}

func (a *Agent) prepareAsk(q Question, add map[string]string) ([]string, error) {
	if err := os.MkdirAll(q.LogDir, 0o700); err != nil {
		return nil, err
	}
	if err := a.keep(filepath.Join(q.LogDir, promptFile), []byte(q.Prompt)); err != nil {
		return nil, err
	}
	if err := a.assign(add, q.LogDir, assignment{Task: q.Name, Attempt: 1, Block: q.Rehearse}); err != nil {
		return nil, err
	}
	return askArgs(q)
}

// answer judges what came of a question.
func answer(q Question, e turnEnd, f *facts, limit budget.USD) Answer {
	v := judgeTurn(e)
	ans := Answer{Outcome: v.outcome, Reason: v.reason, ResetsAt: v.resetsAt}
	ans.Cost, ans.Priced, ans.Usage = f.spent(limit)
	if r := e.result; r != nil {
		ans.Text = r.full
		if v.outcome == Done && len(q.Schema) > 0 {
			ans.Structured = r.structured
			switch {
			case r.cut:
				ans.Outcome, ans.Structured = Wrong, nil
				ans.Reason = "the answer is too long to be read whole"
			case len(r.structured) == 0:
				// Exit 0 and success, but no structured_output: the CLI reminded
				// the model once and then let it go.
				ans.Outcome, ans.Reason = Wrong, "the model did not answer in the form asked for"
			}
		}
	}
	return ans
}
