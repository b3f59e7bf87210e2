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
	"wavex/internal/check"
	"wavex/internal/loop"
	"wavex/internal/proc"
)

// runAgent runs the agent's turn and stores its cost and work in the result.
func (t *attempt) runAgent(ctx context.Context) (classification, claim) {
	k, err := t.converse(ctx, t.req.Resume, t.req.Prompt)
	if err != nil {
		return classification{outcome: Broken, reason: err.Error()}, claim{}
	}
	v := classifyTurn(k.end)
	refused := v.outcome == Broken && k.end.startErr == nil && k.end.stop == nil && !k.end.initSeen
	if refused && (t.req.Resume || k.end.namesSession(t.req.Session)) && ctx.Err() == nil {
		// The CLI does not have the session to resume: another directory, another machine, or the
		// session was never written. Or it already has one with the id to open, from a run that
		// this journal does not have, for example before .loop was restored. Nothing was spent, so
		// start once more with a new id. A session that was cut off at its beginning can be neither
		// resumed nor opened.
		prompt := t.req.Prompt
		if t.req.FullPrompt != "" {
			prompt = t.req.FullPrompt
		}
		t.req.Session = t.newSession()
		if again, err := t.converse(ctx, false, prompt); err == nil {
			if av := classifyTurn(again.end); again.end.initSeen || av.outcome == Interrupted {
				k, v = again, av
				t.res.SessionReplaced = t.req.Resume
			}
		}
	}
	t.fillResult(k)
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

// namesSession reports whether the CLI's plain text output names the session. It does if a session of
// that id exists already: exit 1, before the first JSON line (observed on claude 2.1.197 and
// 2.1.330).
func (e turnEnd) namesSession(session string) bool {
	return session != "" && strings.Contains(e.plainText, session)
}

// newSession returns a random id for a session of the CLI.
func (a *Agent) newSession() string {
	if a.NewSession != nil {
		return a.NewSession()
	}
	return uuid.NewString()
}

// converse holds one conversation of the attempt, with a process of its own.
func (t *attempt) converse(ctx context.Context, resume bool, prompt string) (*conversation, error) {
	k, err := t.newConversation(resume, prompt)
	if err != nil {
		return nil, err
	}
	_, lost := t.req.Spare.claim(k)
	t.spareCost += lost
	t.req.Spare = nil
	k.run(ctx)
	return k, nil
}

// newConversation returns a conversation that has not started.
func (t *attempt) newConversation(resume bool, prompt string) (*conversation, error) {
	argv, err := t.attemptArgs(resume)
	if err != nil {
		return nil, err
	}
	f := &transcript{responses: responses{prices: t.Prices}}
	if t.Observe != nil {
		f.observe = func(kind, text string) {
			t.Observe(Observation{Task: t.req.Task, Attempt: t.req.Attempt, Kind: kind, Text: text,
				Cost: f.responses.cost.USD()})
		}
	}
	k := &conversation{
		agent: t.Agent, argv: argv, dir: t.req.Dir, env: t.env,
		mark:   fmt.Sprintf("%s/%s/%d", t.req.Run, t.req.Task, t.req.Attempt),
		logDir: t.req.LogDir, prompt: prompt, transcript: f, resume: resume,
	}
	k.wall, k.idle = timeouts(t.req.Settings)
	return k, nil
}

// fillResult stores the facts of the conversation, other than its outcome, in the result.
func (t *attempt) fillResult(k *conversation) {
	f, res := k.transcript, &t.res
	b := f.bill(t.req.Cap)
	res.Cost = b.cost
	res.Priced = b.priced
	res.Disputed = b.disputed
	res.Usage = b.usage
	res.Cost += t.spareCost
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

// runCommand runs the command of a command task; the shell's exit code decides.
func (t *attempt) runCommand(ctx context.Context) classification {
	e := turnEnd{exit: -1}
	e.timeout, _ = timeouts(t.req.Settings)
	out := &lazyFile{Agent: t.Agent, dir: t.req.LogDir, name: loop.OutputFile}
	defer out.close()
	ctx, cancel := context.WithTimeoutCause(ctx, e.timeout, ErrTimeout)
	defer cancel()
	exit, said, err := check.RunCommand(ctx, t.req.Dir, t.env, t.req.Command, out)
	var start *proc.StartError
	switch {
	case errors.As(err, &start):
		e.startErr = err
	case err != nil:
		e.stop = err
	}
	e.exit, e.signal, e.plainText = exit.Code, exit.Signal, said.String()
	t.res.ExitCode, t.res.Contained = exit.Code, exit.Contained
	t.res.Report = e.plainText
	t.noOutput = out.log == nil
	v := classifyCommand(e)
	if v.detail == "" {
		v.detail = e.plainText
	}
	if v.outcome == Done {
		v.detail = ""
	}
	return v
}

// Ask makes one lean call: no task, no checks, no session, only the tools of q. If ctx ends, the
// call is stopped and the outcome is Interrupted.
func (a *Agent) Ask(ctx context.Context, q Question) Answer {
	began := a.now()
	ans := a.runQuestion(ctx, q)
	ans.Reason = check.OneLine(ans.Reason, reasonMax)
	ans.Duration = a.now().Sub(began)
	_ = a.writeJSON(filepath.Join(q.LogDir, loop.ResultFile), ans) // the caller has the answer anyway
	return ans
}

func (a *Agent) runQuestion(ctx context.Context, q Question) Answer {
	if err := context.Cause(ctx); err != nil {
		return Answer{Outcome: Interrupted, Reason: "stopped before it began: " + err.Error()}
	}
	add := map[string]string{proc.RunVar: a.Run}
	// Several panels may ask the same expert at the same time. The mark is unique, so that the
	// sweep of one call does not end the processes of another.
	k := &conversation{agent: a, dir: q.Dir, mark: a.Run + "/" + q.Name + "/" + uuid.NewString(), logDir: q.LogDir,
		prompt: q.Prompt,
		wall:   orDefault(q.Timeout, DefaultAskTimeout), transcript: &transcript{responses: responses{prices: a.Prices}}}
	args, err := a.prepareAsk(q, add)
	if err != nil {
		return Answer{Outcome: Broken, Reason: err.Error()}
	}
	k.argv, k.env = append(append([]string{}, a.Argv...), args...), a.environ(add)
	k.run(ctx)
	return questionAnswer(q, k.end, k.transcript, q.Cap)
}

func (a *Agent) prepareAsk(q Question, add map[string]string) ([]string, error) {
	if err := os.MkdirAll(q.LogDir, 0o700); err != nil {
		return nil, err
	}
	if err := a.writeFile(filepath.Join(q.LogDir, loop.PromptFile), []byte(q.Prompt)); err != nil {
		return nil, err
	}
	if err := a.writeAssignment(add, q.LogDir, assignment{Task: q.Name, Attempt: 1, Block: q.Rehearse}); err != nil {
		return nil, err
	}
	return askArgs(q)
}

// questionAnswer returns the Answer for the observed end of a call.
func questionAnswer(q Question, e turnEnd, f *transcript, limit budget.USD) Answer {
	v := classifyTurn(e)
	ans := Answer{Outcome: v.outcome, Reason: v.reason, ResetsAt: v.resetsAt}
	b := f.bill(limit)
	ans.Cost = b.cost
	ans.Priced = b.priced
	ans.Disputed = b.disputed
	ans.Usage = b.usage
	if r := e.result; r != nil {
		ans.Text = r.full
		if v.outcome == Done && len(q.Schema) > 0 {
			ans.Structured = r.structured
			switch {
			case r.cut:
				ans.Outcome, ans.Structured = Wrong, nil
				ans.Reason = "the answer is too long to be read whole"
			case len(r.structured) == 0:
				// Exit 0 and success, but no structured_output: the CLI reminds the model once and
				// then accepts the turn.
				ans.Outcome, ans.Reason = Wrong, "the model did not answer in the form asked for"
			}
		}
	}
	return ans
}
