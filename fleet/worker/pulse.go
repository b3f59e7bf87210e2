package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// This file tells an engine that an attempt lives.

// beats is the number of beats in a heartbeat. A worker whose last answered beat was sent longer ago than patience, as
// a share of a heartbeat, stops the attempt, also while a beat waits for its answer.
const (
	beats    = 12
	patience = 0.9
)

// pulse beats until end is called, also while ctx has ended. It calls stop if the attempt must stop.
func (a *attempt) pulse(ctx context.Context, stop context.CancelCauseFunc) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var beating sync.WaitGroup
	beating.Go(func() { a.beat(ctx, stop) })
	return func() {
		cancel()
		beating.Wait()
	}
}

func (a *attempt) beat(ctx context.Context, stop context.CancelCauseFunc) {
	heartbeat := a.task.Heartbeat()
	patient := time.Duration(patience * float64(heartbeat))
	var failed atomic.Pointer[error] // of the last beat without an answer
	silence := time.AfterFunc(patient, func() {
		err := context.DeadlineExceeded
		if last := failed.Load(); last != nil {
			err = *last
		}
		stop(fmt.Errorf("the engine was silent for %s: %w", patient, err))
	})
	defer silence.Stop()
	tick := time.NewTicker(heartbeat / beats)
	defer tick.Stop()
	for {
		sent := time.Now() // the engine may count from then on
		message, err := a.message()
		if err == nil {
			err = a.beatOnce(ctx, heartbeat, message)
		}
		switch {
		case err == nil:
			silence.Reset(patient - time.Since(sent))
		case errors.Is(err, ErrCancelled):
			silence.Reset(patient - time.Since(sent))
			stop(ErrCancelled) // the result is awaited, so the pulse goes on
		case errors.Is(err, ErrGone):
			stop(ErrGone)
			return
		default:
			failed.Store(&err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// beatOnce beats once. It waits at most for a quarter of a heartbeat.
func (a *attempt) beatOnce(ctx context.Context, heartbeat time.Duration, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeat/4)
	defer cancel()
	return a.task.Beat(ctx, message)
}
