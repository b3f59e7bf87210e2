package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"wavex/fleet/ferry"
	"wavex/fleet/remote/wire"
	"wavex/internal/async"
	"wavex/runner"
)

// This file pushes the work of attempts.

// pushTries is the number of pushes of the same work, and pushPause the time between them.
const (
	pushTries = 3
	pushPause = 500 * time.Millisecond
)

// bringTurn pushes the work and the logs of a turn whose checks follow, and tells the run of it. If they cannot be
// pushed, the end of the attempt does it.
func (a *attempt) bringTurn(ctx context.Context, p place, t runner.Turn) error {
	a.mu.Lock()
	progress := a.progress
	a.mu.Unlock()
	progress.Turn = &t
	if err := a.push(ctx, p, &t.Result, t.Result.WIP, wire.ProgressFile, progress); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		a.opts.Warn(fmt.Errorf("the work of the turn of %s is not pushed yet: %w", a.task.ID(), err))
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.progress.Turn = &t
	return nil
}

// bringBack pushes the work and the logs of an attempt with its result.
func (a *attempt) bringBack(ctx context.Context, p place, res *runner.Result) (err error) {
	work := cmp.Or(res.Commit, res.WIP)
	for try := range pushTries {
		if try > 0 && async.Sleep(ctx, pushPause) != nil {
			break
		}
		if err = a.push(ctx, p, res, work, wire.ResultFile, res); err == nil {
			return nil
		}
	}
	return err
}

// push pushes a commit of work, "" for none, and the files of the attempt with a message body.
func (a *attempt) push(ctx context.Context, p place, res *runner.Result, work, name string, body any) error {
	files, err := ferry.AttemptFiles(&p.req, res.Output)
	if err != nil {
		return err
	}
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r := &a.req.Attempt
	logs, err := p.ferry.Pack(ctx, fmt.Sprintf("Logs of attempt %d at %s", r.Attempt, r.Task), files,
		map[string][]byte{name: a.opts.Key.Seal(wire.ID(r.Run, r.Task, r.Attempt), data)})
	if err != nil {
		return err
	}
	refs := []ferry.Ref{{Name: ferry.Logs(r.Run, r.Task, r.Attempt), Commit: logs}}
	if work != "" {
		refs = append(refs, ferry.Ref{Name: ferry.Work(r.Run, r.Task, r.Attempt), Commit: work})
	}
	return p.ferry.Push(ctx, refs...)
}
