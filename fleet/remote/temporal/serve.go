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
// At most slots attempts run at a time. With several queues each but the first may add one: when the last slot is free,
// the server may hand out attempts of several queues at the same moment.
func (c *Client) Serve(ctx context.Context, queues []string, slots int, work func(worker.Task)) error {
	serving, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	attempt := func(ctx context.Context, request []byte) error {
		work(&task{c, activity.GetInfo(ctx), request})
		return activity.ErrResultPending
	}
	var stopping sync.WaitGroup
	defer stopping.Wait()
	shared := &places{slots: slots, changed: make(chan struct{})}
	for _, queue := range queues {
		tuner, err := sdk.NewFixedSizeTuner(sdk.FixedSizeTunerOptions{})
		if err != nil {
			cancel(err)
			break
		}
		w := sdk.New(c.sdk, queue, sdk.Options{DisableWorkflowWorker: true, MaxConcurrentActivityTaskPollers: 1,
			Tuner: placesTuner{tuner, &queuePlaces{places: shared}}, WorkerStopTimeout: forever, OnFatalError: cancel})
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

// places are the slots of a worker, which its queues share.
type places struct {
	slots int

	mu      sync.Mutex
	running int
	changed chan struct{} // closed and replaced when running falls
}

// queuePlaces is the sdk.SlotSupplier of one queue. A slot that waits for an attempt counts in its queue only, since
// otherwise the wait of one queue would close the others.
type queuePlaces struct {
	*places
	waiting int
}

// placesTuner gives the slots to the SDK.
type placesTuner struct {
	sdk.WorkerTuner
	attempts *queuePlaces
}

func (t placesTuner) GetActivityTaskSlotSupplier() sdk.SlotSupplier { return t.attempts }

// ReserveSlot waits for a free slot.
func (q *queuePlaces) ReserveSlot(ctx context.Context, _ sdk.SlotReservationInfo) (*sdk.SlotPermit, error) {
	for {
		permit, changed := q.reserve()
		if permit != nil {
			return permit, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// reserve returns a permit, or nil and a channel that is closed when there may be one.
func (q *queuePlaces) reserve() (*sdk.SlotPermit, <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running+q.waiting >= q.slots {
		return nil, q.changed
	}
	q.waiting++
	return &sdk.SlotPermit{UserData: new(bool)}, nil
}

// TryReserveSlot returns nil: it is for activities of workflows.
func (q *queuePlaces) TryReserveSlot(sdk.SlotReservationInfo) *sdk.SlotPermit { return nil }

// MarkSlotUsed counts an attempt that begins.
func (q *queuePlaces) MarkSlotUsed(info sdk.SlotMarkUsedInfo) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting--
	q.running++
	*info.Permit().UserData.(*bool) = true
}

// ReleaseSlot frees a slot, whether an attempt has used it or not.
func (q *queuePlaces) ReleaseSlot(info sdk.SlotReleaseInfo) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if *info.Permit().UserData.(*bool) {
		q.running--
	} else {
		q.waiting--
	}
	close(q.changed)
	q.changed = make(chan struct{})
}

// MaxSlots returns the number of slots.
func (q *queuePlaces) MaxSlots() int { return q.slots }
