package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"wavex/fleet/ferry"
	"wavex/fleet/remote/wire"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// This file makes the result of an attempt from its end at the engine and from the refs that its worker has pushed.

// end returns the result of an attempt that has ended.
func (a *attempt) end(ctx context.Context, data []byte, end End) runner.Result {
	always := context.WithoutCancel(ctx) // pushed work is brought here also while the run stops
	switch end {
	case Completed:
		res, err := a.read(always, data)
		if err != nil {
			return a.atCap(ended(runner.Broken, "the result of %s: %v", cmp.Or(a.worker, "its worker"), err))
		}
		if cause := context.Cause(ctx); cause != nil && res.Outcome == runner.Interrupted {
			res.Reason = textfmt.OneLine("stopped: "+cause.Error(), runner.ReasonMax)
			res.Signature = runner.Signature(res.Reason, res.Detail)
		}
		return res
	case NotTaken, Cancelled:
		cause := context.Cause(ctx)
		if end == NotTaken && cause == nil {
			return ended(runner.Broken, "no worker took it in %s", a.QueueWait)
		}
		return ended(runner.Interrupted, "stopped before a worker took it: %v", cmp.Or(cause, errCancelled))
	case Refused:
		return ended(runner.Broken, "the worker cannot read it: it has another key or another wavex")
	}
	if res, found := a.collect(always); found {
		return res
	}
	why := fmt.Sprintf("lost: worker %s was silent for %s", cmp.Or(a.worker, "(unknown)"), a.Heartbeat)
	switch end {
	case TimedOut:
		why = "lost: it ran for longer than " + runLimit(&a.req).String()
	case Gone:
		why = "lost: the engine does not know it any more, and it has pushed no result"
	case Ended:
		why = "ended at the engine by a person"
	}
	res := a.atCap(ended(runner.Interrupted, "%s", why))
	if a.cost > 0 {
		res.Detail = fmt.Sprintf("It had cost at least %s.", a.cost)
	}
	if a.turn != nil {
		res.WIP = a.turn.Result.WIP
	}
	return res
}

var errCancelled = errors.New("cancelled")

// read returns the result in a message, and brings its work and its logs here.
func (a *attempt) read(ctx context.Context, data []byte) (runner.Result, error) {
	m, err := wire.Parse(wire.KindResult, a.id, data)
	if err == nil && m.Digest != "" {
		err = a.attach(ctx, &m)
	}
	var res runner.Result
	if err == nil {
		err = m.Decode(&res)
	}
	if err != nil {
		return runner.Result{}, err
	}
	return a.bring(ctx, res)
}

// bring brings the work and the logs of a result here. The logs of an attempt that never began do not exist.
func (a *attempt) bring(ctx context.Context, res runner.Result) (runner.Result, error) {
	work, logs := ferry.Work(a.req.Run, a.req.Task, a.req.Attempt), ferry.Logs(a.req.Run, a.req.Task, a.req.Attempt)
	there, err := a.Ferry.Find(ctx, work, logs)
	if err != nil {
		return res, err
	}
	if id := cmp.Or(res.Commit, res.WIP); id != "" && there[work] != id {
		return res, fmt.Errorf("the git remote does not have its work, commit %s", id)
	}
	if len(there) > 0 {
		if err := a.Ferry.Fetch(ctx, slices.Collect(maps.Keys(there))...); err != nil {
			return res, err
		}
	}
	if there[logs] == "" {
		return res, nil
	}
	return res, a.Ferry.Unpack(ctx, there[logs], ferry.Dirs(&a.req), a.Redact)
}

// collect looks on the git remote for the work of an attempt that the engine has lost: its result, or else the end of
// its turn, which it reports.
func (a *attempt) collect(ctx context.Context) (res runner.Result, found bool) {
	logs := ferry.Logs(a.req.Run, a.req.Task, a.req.Attempt)
	there, err := a.Ferry.Find(ctx, logs)
	if err != nil || there[logs] == "" || a.Ferry.Fetch(ctx, logs) != nil {
		return res, false
	}
	res, pushed, err := a.pushedResult(ctx)
	if pushed {
		if err == nil {
			res, err = a.bring(ctx, res)
		}
		if err == nil {
			return res, true
		}
		a.Warn(fmt.Errorf("the pushed result of %s: %w", a.id, err))
		return res, false
	}
	var p wire.Progress
	m := wire.Message{Kind: wire.KindProgress}
	if m.Body, err = a.pushed(ctx, wire.ProgressFile); err != nil {
		a.Warn(fmt.Errorf("the pushed turn of %s: %w", a.id, err))
	} else if m.Decode(&p) == nil && p.Turn != nil {
		a.worker = cmp.Or(a.worker, p.Worker)
		a.reportTurn(ctx, p.Turn)
	}
	return res, false
}

// pushedResult returns the result that the worker has pushed with the logs. found is false if it has pushed none.
func (a *attempt) pushedResult(ctx context.Context) (res runner.Result, found bool, err error) {
	m := wire.Message{Kind: wire.KindResult}
	if m.Body, err = a.pushed(ctx, wire.ResultFile); m.Body != nil {
		err = m.Decode(&res)
	}
	return res, m.Body != nil || err != nil, err
}

// pushed returns a message body that the worker has pushed with the logs; nil: it has not.
func (a *attempt) pushed(ctx context.Context, file string) ([]byte, error) {
	sealed, err := a.Ferry.Show(ctx, ferry.Logs(a.req.Run, a.req.Task, a.req.Attempt)+":"+file)
	if err != nil {
		return nil, nil
	}
	return a.Key.Open(wire.ID(a.req.Run, a.req.Task, a.req.Attempt), sealed)
}

// attach brings the detached body of a result.
func (a *attempt) attach(ctx context.Context, m *wire.Message) error {
	if err := a.Ferry.Fetch(ctx, ferry.Logs(a.req.Run, a.req.Task, a.req.Attempt)); err != nil {
		return err
	}
	body, err := a.pushed(ctx, wire.ResultFile)
	if err != nil {
		return err
	}
	return m.Attach(body)
}
