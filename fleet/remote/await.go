package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"wavex/fleet/ferry"
	"wavex/fleet/remote/wire"
	"wavex/internal/async"
	"wavex/runner"
)

// This file asks the engine to start an attempt, to cancel it, and for its progress and its end.

// start starts the attempt. While the engine cannot be asked, it tries again for QueueWait.
func (a *attempt) start(ctx context.Context, activity Activity) error {
	var err error
	for deadline := time.Now().Add(a.QueueWait); ; {
		if err = a.Engine.Start(ctx, activity); err == nil {
			return nil
		}
		if time.Now().After(deadline) || async.Sleep(ctx, a.Poll) != nil {
			return err
		}
	}
}

// exists reports whether the engine may know an attempt. It asks also after ctx has ended: an attempt that was not
// started again has no cost.
func (a *attempt) exists(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.Poll)
	defer cancel()
	_, end, err := a.Engine.Wait(ctx, id)
	return err != nil || end != Gone
}

// cancel asks for the end of the attempt until the engine has taken that, or ctx ends.
func (a *attempt) cancel(ctx context.Context, reason string) {
	for {
		try, end := context.WithTimeout(ctx, max(a.Poll, time.Second))
		err := a.Engine.Cancel(try, a.id, reason)
		end()
		if err == nil {
			return
		}
		if async.Sleep(ctx, a.Poll) != nil {
			if !errors.Is(context.Cause(ctx), context.Canceled) { // else the attempt has ended
				a.Warn(fmt.Errorf("%s may go on until its cap: %w", a.id, err))
			}
			return
		}
	}
}

var errStopWait = errors.New("its worker did not tell the result in time")

// await waits for the end of the attempt, and returns it with the result. If ctx ends, it cancels the attempt and waits
// for its result; end is "" if none comes in time.
func (a *attempt) await(ctx context.Context) (res runner.Result, end End) {
	waiting, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() {
		select {
		case <-ctx.Done():
			stopping, end := context.WithTimeoutCause(waiting, a.StopWait, errStopWait)
			defer end()
			a.cancel(stopping, context.Cause(ctx).Error())
			<-stopping.Done()
			cancel(errStopWait)
		case <-waiting.Done():
		}
	})
	type over struct {
		data []byte
		end  End
		err  error
	}
	ends := make(chan over, 1)
	watching.Go(func() {
		data, end, err := a.wait(waiting)
		ends <- over{data, end, err}
	})
	watching.Go(func() { a.warnAlone(waiting) })
	a.running.Add(1)
	defer a.running.Add(-1)
	defer func() {
		if a.taken.Swap(false) {
			a.known.made.Add(-1)
		}
	}()
	a.awaited.Store(a.id, true)
	defer a.awaited.Delete(a.id)
	look := time.NewTimer(a.lookDelay(min(a.Poll, firstLook)))
	defer look.Stop()
	for {
		select {
		case o := <-ends:
			if o.err != nil {
				return a.atCap(ended(runner.Interrupted, "%v: %v", context.Cause(ctx), o.err)), ""
			}
			return a.end(ctx, o.data, o.end), o.end
		case <-look.C:
			a.look(waiting)
			look.Reset(a.lookDelay(a.Poll))
		}
	}
}

// looksPerSecond bounds the looks of all attempts together.
const looksPerSecond = 20

// firstLook bounds the time until the first look, which tells where the attempt runs.
const firstLook = time.Second

// lookDelay returns the time until the next look at the progress: poll, or longer if many attempts run.
func (a *attempt) lookDelay(poll time.Duration) time.Duration {
	return max(poll, time.Duration(a.running.Load())*time.Second/looksPerSecond)
}

// awayWarning is the time after which an engine that does not answer is told.
const awayWarning = 10 * time.Second

// wait waits for the end. While the engine cannot be asked, it asks again.
func (a *attempt) wait(ctx context.Context) ([]byte, End, error) {
	for warned, since := false, time.Now(); ; {
		data, end, err := a.Engine.Wait(ctx, a.id)
		if err == nil {
			return data, end, nil
		}
		if cause := context.Cause(ctx); cause != nil {
			return nil, "", cause
		}
		if !warned && time.Since(since) > awayWarning {
			warned = true
			a.Warn(fmt.Errorf("the engine of the workers does not answer; attempts go on: %w", err))
		}
		if err := async.Sleep(ctx, a.Poll); err != nil {
			return nil, "", err
		}
	}
}

// look shows the progress of the attempt, and reports the end of its turn once.
func (a *attempt) look(ctx context.Context) {
	data, err := a.Engine.Progress(ctx, a.id)
	if err != nil || data == nil {
		return // wait tells of an engine that is away
	}
	m, err := wire.Parse(wire.KindProgress, a.id, data)
	var p wire.Progress
	if err == nil {
		err = m.Decode(&p)
	}
	if err != nil {
		a.Warn(fmt.Errorf("the progress of %s: %w", a.id, err))
		return
	}
	a.worker, a.cost = p.Worker, p.Cost
	if !a.taken.Swap(true) {
		a.known.made.Add(1)
	}
	o := runner.Observation{Task: a.req.Task, Attempt: a.req.Attempt, Kind: p.Kind, Text: p.Text, Cost: p.Cost,
		Worker: p.Worker}
	if a.Observe != nil && o != a.observed {
		a.observed = o
		a.Observe(o)
	}
	if p.Turn != nil {
		a.reportTurn(ctx, p.Turn)
	}
}

// reportTurn brings the work of a turn here and reports its end, once.
func (a *attempt) reportTurn(ctx context.Context, t *runner.Turn) {
	if a.turn != nil || a.hooks.TurnEnded == nil {
		return
	}
	err := a.Ferry.Fetch(ctx, ferry.Work(a.req.Run, a.req.Task, a.req.Attempt))
	if err == nil && !a.Ferry.Has(ctx, t.Result.WIP) {
		return // the attempt has ended since, and its work has replaced that of the turn
	}
	if err == nil {
		a.turn = t
		err = a.hooks.TurnEnded(*t)
	}
	if err != nil && context.Cause(ctx) == nil {
		a.Warn(fmt.Errorf("the turn of %s is not on record: %w", a.id, err))
	}
}
