package temporal

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	sdk "go.temporal.io/sdk/worker"

	"wavex/fleet/worker"
)

// This file is the engine as workers see it.

// Serve takes attempts from queues and gives each to work, in a goroutine of its own, until ctx ends. Then it takes no
// more, and returns when all calls of work have returned; an attempt that the server has just handed out is still given
// to work. work must tell the result by Complete before it returns. The error tells why the server refuses this worker.
// While the server is away Serve waits for it, but not at its begin.
//
// At most slots attempts of the first queue run at a time, and beside them one of each other queue.
func (c *Client) Serve(ctx context.Context, queues []string, slots int, work func(worker.Task)) error {
	serving, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	attempt := func(ctx context.Context, request []byte) error {
		work(&task{c, activity.GetInfo(ctx), request})
		return activity.ErrResultPending
	}
	var stopping sync.WaitGroup
	defer stopping.Wait()
	for i, queue := range queues {
		if i > 0 {
			slots = 1
		}
		w := sdk.New(c.sdk, queue, sdk.Options{DisableWorkflowWorker: true, MaxConcurrentActivityTaskPollers: 1,
			MaxConcurrentActivityExecutionSize: slots, WorkerStopTimeout: forever, OnFatalError: cancel})
		w.RegisterActivityWithOptions(attempt, activity.RegisterOptions{Name: activityType})
		if err := w.Start(); err != nil {
			cancel(err)
			break
		}
		stopping.Go(func() {
			<-serving.Done()
			w.Stop()
		})
	}
	<-serving.Done()
	if ctx.Err() != nil {
		return nil
	}
	return context.Cause(serving)
}

// forever is longer than any attempt. The SDK has no value for it.
const forever = 365 * 24 * time.Hour

// task is a worker.Task.
type task struct {
	*Client
	info    activity.Info
	request []byte
}

func (t *task) ID() string               { return t.info.ActivityID }
func (t *task) Request() []byte          { return t.request }
func (t *task) Heartbeat() time.Duration { return t.info.HeartbeatTimeout }

func (t *task) Beat(ctx context.Context, progress []byte) error {
	err := t.sdk.RecordActivityHeartbeat(ctx, t.info.TaskToken, progress)
	switch {
	case temporal.IsCanceledError(err):
		return worker.ErrCancelled
	case errors.Is(err, activity.ErrActivityPaused), errors.Is(err, activity.ErrActivityReset):
		return nil // a person did that to the engine's attempt; this one goes on
	case isNotFound(err):
		return worker.ErrGone
	}
	return err
}

func (t *task) Complete(ctx context.Context, result []byte) error {
	err := t.sdk.CompleteActivity(ctx, t.info.TaskToken, result, nil)
	if isNotFound(err) {
		return worker.ErrGone
	}
	return err
}
