package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"wavex/budget"
	"wavex/internal/proc"
	"wavex/internal/verify"
)

// agent lets the agent have its turn, and puts into the result what it cost and did.
func (t *attempt) agent(ctx context.Context) (verdict, claim) {
	k, err := t.converse(ctx, t.req.Resume, t.req.Prompt)
	if err != nil {
		return verdict{outcome: Broken, reason: err.Error()}, claim{}
	}
	v := judgeTurn(k.end)
	refused := v.outcome == Broken && k.end.startErr == nil && k.end.stop == nil && !k.end.begun
	if refused && (t.req.Resume || k.end.refuses(t.req.Session)) && ctx.Err() == nil {
		// The CLI does not have the session to resume: another directory, another machine, or it was
		// never written. Or it has one of the id to open, from a run that the journal does not know,
		// such as one of before .loop was put back. Nothing was spent; once, start afresh under another
		// id: a session that was cut off at its beginning can be neither resumed nor opened.
		prompt := t.req.Prompt
		if t.req.Whole != "" {
			prompt = t.req.Whole
		}
		t.req.Session = t.newSession()
		if again, err := t.converse(ctx, false, prompt); err == nil {
			if av := judgeTurn(again.end); again.end.begun || av.outcome == Interrupted {
				k, v = again, av
				t.res.Fresh = t.req.Resume
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

// refuses reports whether the CLI named the session in what it said in plain text. It does so when it
// has one of that id already: exit 1, before its first JSON line (observed on claude 2.1.197 and 2.1.330).
func (e turnEnd) refuses(session string) bool {
	return session != "" && strings.Contains(e.words, session)
}

// newSession returns a random id for a session of the CLI.
func (a *Agent) newSession() string {
	if a.NewSession != nil {
		return a.NewSession()
	}
	return uuid.NewString()
}

// converse holds one conversation for the attempt, with a process of its own.
func (t *attempt) converse(ctx context.Context, resume bool, prompt string) (*conversation, error) {
	k, err := t.conversation(resume, prompt)
	if err != nil {
		return nil, err
	}
	_, lost := t.req.Spare.take(k)
	t.spent += lost
	t.req.Spare = nil
	k.run(ctx)
	return k, nil
}

// conversation returns one that has not begun.
func (t *attempt) conversation(resume bool, prompt string) (*conversation, error) {
	argv, err := t.attemptArgs(resume)
	if err != nil {
		return nil, err
	}
	f := &facts{responses: responses{prices: t.Prices}}
	if t.Observe != nil {
		f.note = func(kind, text string) {
			t.Observe(Observation{Task: t.req.Task, Attempt: t.req.Attempt, Kind: kind, Text: text, Cost: f.responses.cost.USD()})
		}
	}
	k := &conversation{
		agent: t.Agent, argv: argv, dir: t.req.Dir, env: t.env,
		mark:   fmt.Sprintf("%s/%s/%d", t.req.Run, t.req.Task, t.req.Attempt),
		logDir: t.req.LogDir, prompt: prompt, facts: f, resume: resume,
	}
	k.wall, k.idle = limits(t.req.Settings)
	return k, nil
}

// record puts into the result what the conversation says beyond its outcome.
func (t *attempt) record(k *conversation) {
	f, res := k.facts, &t.res
	b := f.bill(t.req.Cap)
	res.Cost, res.Priced, res.Disputed, res.Usage = b.cost, b.priced, b.disputed, b.usage
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
	k := &conversation{agent: a, dir: q.Dir, mark: a.Run + "/" + q.Name + "/" + uuid.NewString(), logDir: q.LogDir, prompt: q.Prompt,
		wall: orDefault(q.Timeout, DefaultAskTimeout), facts: &facts{responses: responses{prices: a.Prices}}}
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
	b := f.bill(limit)
	ans.Cost, ans.Priced, ans.Disputed, ans.Usage = b.cost, b.priced, b.disputed, b.usage
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
