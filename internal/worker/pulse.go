package worker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// This file tells an engine that an attempt lives.

// beats is the number of beats in a heartbeat. After patience of them without an answer the worker stops the attempt.
const (
	beats    = 12
	patience = 0.9
)

// pulse beats until end is called, also while ctx has ended. It calls stop if the attempt must stop.
func (a *attempt) pulse(ctx context.Context, stop context.CancelCauseFunc) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() {
		defer close(over)
		a.beat(ctx, stop)
	}()
	return func() {
		cancel()
		<-over
	}
}

func (a *attempt) beat(ctx context.Context, stop context.CancelCauseFunc) {
	heartbeat := a.task.Heartbeat()
	tick := time.NewTicker(heartbeat / beats)
	defer tick.Stop()
	for answered := time.Now(); ; {
		message, err := a.message()
		if err == nil {
			err = a.beatOnce(ctx, heartbeat, message)
		}
		silent := time.Since(answered)
		switch {
		case err == nil:
			answered = time.Now()
		case errors.Is(err, ErrCancelled):
			answered = time.Now()
			stop(ErrCancelled) // the result is awaited, so the pulse goes on
		case errors.Is(err, ErrGone):
			stop(ErrGone)
			return
		case silent >= time.Duration(patience*float64(heartbeat)):
			stop(fmt.Errorf("the engine was silent for %s: %w", silent.Round(time.Second), err))
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
