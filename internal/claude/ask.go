package claude

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"wavex/budget"
	"wavex/internal/check"
	"wavex/internal/proc"
	"wavex/runner"
)

// askTimeout bounds a Question without a Timeout, in wall-clock time.
const askTimeout = 5 * time.Minute

// Ask makes one lean call: no task, no checks, no session, only the tools of q. If ctx ends, the
// call is stopped and the outcome is Interrupted.
func (a *Agent) Ask(ctx context.Context, q runner.Question) runner.Answer {
	began := time.Now()
	ans := a.runQuestion(ctx, q)
	ans.Reason = check.OneLine(ans.Reason, runner.ReasonMax)
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
	k.argv, k.env = append(append([]string{}, a.Argv...), args...), a.Environ(add)
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
