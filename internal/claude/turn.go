package claude

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"wavex/budget"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/policy"
	"wavex/internal/proc"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// turn is the state of one call of Turn.
type turn struct {
	*Agent
	req runner.TurnRequest
}

// Turn gives the CLI the prompt of an attempt, in a process of its own.
func (a *Agent) Turn(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
	t := &turn{Agent: a, req: req}
	k, err := t.converse(ctx, req.Resume, req.Prompt)
	if err != nil {
		return runner.TurnResult{Outcome: runner.Broken, Reason: err.Error(), Contained: true}
	}
	v := classifyTurn(k.end)
	refused := v.Outcome == runner.Broken && k.end.startErr == nil && k.end.stop == nil && !k.end.initSeen
	// The CLI names a session that exists already: exit 1, before the first JSON line (observed on claude
	// 2.1.330).
	taken := req.Session != "" && strings.Contains(k.end.plainText, req.Session)
	if refused && (req.Resume || taken) && ctx.Err() == nil {
		// The CLI does not have the session to resume: another directory, another machine, or the
		// session was never written. Or it already has one with the id to open, from a run that
		// this journal does not have, for example before .loop was restored. Nothing was spent, so
		// start once more with a new id. A session that was cut off at its beginning can be neither
		// resumed nor opened.
		if t.req.Session = uuid.NewString(); t.NewSession != nil {
			t.req.Session = t.NewSession()
		}
		if again, err := t.converse(ctx, false, cmp.Or(req.FullPrompt, req.Prompt)); err == nil {
			if av := classifyTurn(again.end); again.end.initSeen || av.Outcome == runner.Interrupted {
				k, v = again, av
				v.SessionReplaced = req.Resume
			}
		}
	}
	var start *proc.StartError
	if _, limited := proc.LimitOf(k.end.startErr); !limited && errors.As(k.end.startErr, &start) {
		v.Reason += fmt.Sprintf("; is %s installed, and is it in PATH?", cmp.Or(t.Name, "claude"))
	}
	t.fillResult(&v, k)
	return v
}

// converse holds one conversation of the turn, with a process of its own.
func (t *turn) converse(ctx context.Context, resume bool, prompt string) (*conversation, error) {
	k, err := t.newConversation(resume, prompt)
	if err != nil {
		return nil, err
	}
	k.run(ctx)
	return k, nil
}

// newConversation returns a conversation that has not started.
func (t *turn) newConversation(resume bool, prompt string) (*conversation, error) {
	argv, err := t.attemptArgs(resume)
	if err != nil {
		return nil, err
	}
	f := &transcript{responses: responses{prices: t.Prices}, calls: &toolCalls{limit: t.req.Cap}}
	f.calls.forecast = f.forecast
	if t.Judge != nil {
		f.calls.judge = t.Judge(t.req)
	}
	if t.Observe != nil {
		f.observe = func(kind, text string) {
			t.Observe(runner.Observation{Task: t.req.Task, Attempt: t.req.Attempt, Kind: kind, Text: text,
				Cost: f.responses.cost.USD()})
		}
		f.calls.observe = f.observe
	}
	k := &conversation{
		agent: t.Agent, argv: argv, wrapper: t.wrapper(),
		dir: t.req.Dir, env: t.Environ(t.req.Env), mark: t.req.Mark, logDir: t.req.LogDir,
		prompt: prompt, wall: t.req.Settings.Timeout, idle: t.req.Settings.IdleTimeout, transcript: f, resume: resume,
	}
	if len(t.req.Policy.Ask) > 0 && t.Person != nil {
		f.calls.askTimeout = cmp.Or(t.req.Settings.PolicyAskTimeout, plan.DefaultAskTimeout)
		k.person = func(ctx context.Context, q policy.Question) (bool, string) {
			q.Task, q.Attempt = t.req.Task, t.req.Attempt
			return t.Person(ctx, q, f.calls.askTimeout)
		}
	}
	return k, nil
}

// wrapper returns the wall of the turn, which closes the user's files that outlive the run. A strict one lets the CLI
// write its own files but for those, and its plugins.
func (t *turn) wrapper() []string {
	if t.Wall == nil || t.Wall.Strict() && t.Rehearsal {
		return nil // a rehearsal has no tools of its own will, and keeps its sessions below .loop
	}
	env, open := t.Environ(t.req.Env), slices.Clone(t.req.Open)
	project, _, _ := loop.Owned(t.req.LogDir)
	closed := runner.UserPaths(env, project)
	if t.Wall.Strict() {
		home := proc.Getenv(env, "HOME")
		config := cmp.Or(proc.Getenv(env, "CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude"))
		open = append(open, config, filepath.Join(home, ".claude.json"))
		closed = append(closed, filepath.Join(config, "plugins"))
	}
	return t.Wall.With(nil, closed).Wrapper(t.req.Closed, open...)
}

// fillResult stores the facts of the conversation in the result of the turn.
func (t *turn) fillResult(res *runner.TurnResult, k *conversation) {
	f := k.transcript
	res.Bill = f.bill(t.req.Cap)
	res.ExitCode, res.Contained, res.Exhausted = k.exit.Code, k.exit.Contained, k.exit.Exhausted
	res.Version, res.Model = f.init.version, f.init.model
	res.Notional = f.notional
	if f.limit.window != "" && f.limit.used > 0 {
		res.Window = &runner.Window{Name: f.limit.window, Used: f.limit.used}
	}
	res.Session = f.session
	res.Edits = f.edits
	res.Report = f.last.text
	if r := f.result; r != nil {
		res.Turns = r.turns
		res.Text = r.full
		switch {
		case len(t.req.Output) > 0:
			// The result line has the structured result in place of the message before it.
			res.Structured, res.Offered, res.Text = r.structured, f.last.offered, f.last.text
			if r.cut && res.Outcome == runner.Done {
				res.Outcome, res.Reason = runner.Wrong, "the output is too long to be read whole"
			}
		case r.text != "":
			res.Report = r.text
		}
		granted := append(checkRules(t.req.Checks), t.req.Settings.AllowedTools...)
		deny := t.denyRules()
		res.Denials = append(denials(f.calls.others(r.denials), granted, deny, t.req.Dir), absent(deny, f.init.tools)...)
	}
	res.Held = t.heldBy(&f.responses)
	res.Refusals, res.Refused = f.calls.refusals, f.calls.refused
}

// askTimeout bounds a Question without a Timeout, in wall-clock time.
const askTimeout = 5 * time.Minute

// Ask makes one lean call: no task, no checks, no session, only the tools of q. If ctx ends, the
// call is stopped and the outcome is Interrupted.
func (a *Agent) Ask(ctx context.Context, q runner.Question) runner.Answer {
	began := time.Now()
	ans := a.runQuestion(ctx, q)
	ans.Reason = textfmt.OneLine(ans.Reason, runner.ReasonMax)
	ans.Duration = time.Since(began)
	_ = a.WriteResult(q.LogDir, ans) // the caller has the answer anyway
	return ans
}

func (a *Agent) runQuestion(ctx context.Context, q runner.Question) runner.Answer {
	if err := context.Cause(ctx); err != nil {
		return runner.Answer{Outcome: runner.Interrupted, Reason: "stopped before it began: " + err.Error()}
	}
	add := map[string]string{proc.RunVar: a.Run}
	// Several panels may ask the same expert at the same time. The mark is unique, so that the
	// sweep of one call does not end the processes of another.
	k := &conversation{agent: a, dir: q.Dir, mark: a.Run + "/" + q.Name + "/" + uuid.NewString(), logDir: q.LogDir,
		prompt: q.Prompt,
		wall:   cmp.Or(q.Timeout, askTimeout), transcript: &transcript{responses: responses{prices: a.Prices}}}
	err := a.Prepare(q.LogDir, q.Prompt, add, runner.Assignment{Task: q.Name, Attempt: 1, Block: q.Rehearse})
	if err != nil {
		return runner.Answer{Outcome: runner.Broken, Reason: err.Error()}
	}
	args, err := askArgs(q)
	if err != nil {
		return runner.Answer{Outcome: runner.Broken, Reason: err.Error()}
	}
	if len(q.Tools) > 0 {
		k.transcript.calls = &toolCalls{}
	}
	k.argv, k.env = append(a.program(), args...), a.Environ(add)
	k.run(ctx)
	return questionAnswer(q, k.end, k.transcript, q.Cap)
}

// questionAnswer returns the Answer for the observed end of a call.
func questionAnswer(q runner.Question, e turnEnd, f *transcript, limit budget.USD) runner.Answer {
	v := classifyTurn(e)
	ans := runner.Answer{Outcome: v.Outcome, Reason: v.Reason, ResetsAt: v.ResetsAt}
	b := f.bill(limit)
	ans.Cost, ans.Priced = b.Cost, b.Priced
	ans.Disputed = b.Disputed
	ans.Usage = b.Usage
	if r := e.result; r != nil {
		ans.Text = r.full
		if v.Outcome == runner.Done && len(q.Schema) > 0 {
			ans.Structured = r.structured
			switch {
			case r.cut:
				ans.Outcome, ans.Structured = runner.Wrong, nil
				ans.Reason = "the answer is too long to be read whole"
			case len(r.structured) == 0:
				// Exit 0 and success, but no structured_output: the CLI reminds the model once and
				// then accepts the turn.
				ans.Outcome, ans.Reason = runner.Wrong, "the model did not answer in the form asked for"
			}
		}
	}
	return ans
}
