package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"wavex/cmd"
	"wavex/fleet/remote/temporal"
	"wavex/fleet/worker"
	"wavex/internal/async"
	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/report"
	"wavex/internal/textfmt"
	"wavex/internal/usererr"
	"wavex/runner"
)

// This file serves an engine with the attempts of a worker until it is told to stop.

// engineTries bounds the time to reach the engine at the start, and enginePause the time between two tries.
const (
	engineTries = time.Minute
	enginePause = 2 * time.Second
)

// reach connects with the engine. It tries for a while, since both may have been started together.
func (h *workerHost) reach(ctx context.Context, eo temporal.Options, signals <-chan os.Signal) (engine, error) {
	for began := time.Now(); ; {
		e, server, err := reach(ctx, h.dial, eo)
		if err == nil {
			if why := shortRetention(server); why != "" {
				h.say(worker.Event{Type: "warning", Text: why})
			}
			return e, nil
		}
		permanent := errors.Is(err, errOldServer) || errors.Is(err, temporal.ErrRefused)
		if permanent || time.Since(began) > engineTries || ctx.Err() != nil {
			return nil, err
		}
		h.say(worker.Event{Type: "waiting", Text: textfmt.OneLine(err.Error(), runner.ReasonMax)})
		select {
		case s := <-signals:
			return nil, cmd.SignalError(s)
		default:
			_ = async.Sleep(ctx, enginePause)
		}
	}
}

// oldRuns is the age at which a worker removes a run.
const oldRuns = 7 * 24 * time.Hour

// serve makes attempts until a signal, or --once.
func (h *workerHost) serve(ctx context.Context, e engine, eo temporal.Options, signals <-chan os.Signal) (err error) {
	if n, err := worker.RemoveOld(ctx, h.opts.dir, time.Now().Add(-oldRuns), os.Environ()); err != nil {
		h.say(worker.Event{Type: "warning", Text: "removing old runs: " + err.Error()})
	} else if n > 0 {
		h.say(worker.Event{Type: "cleaned", Text: "removed " + report.Plural(n, "old run", "old runs")})
	}
	warn := func(err error) { h.say(worker.Event{Type: "warning", Text: err.Error()}) }
	defer proc.Contain(ctx, cmd.WatchdogArgv(), h.mark, filepath.Join(h.opts.dir, loop.WatchdogLock), warn)()
	w := h.worker(warn)
	defer func() { err = errors.Join(err, w.Close(context.WithoutCancel(ctx))) }()
	queues := []string{eo.Key.Queue(""), eo.Key.Queue(h.opts.name)}
	h.say(worker.Event{Type: "worker", Text: fmt.Sprintf("%s at %s, namespace %s, queue %s: %s in %s",
		h.opts.name, h.opts.connect, h.opts.namespace, queues[0], report.Plural(h.opts.slots, "slot", "slots"), h.opts.dir)})
	s := worker.Server{Attempt: w.Attempt, Slots: h.opts.slots, Once: h.opts.once, Drain: h.opts.drain, Full: h.full,
		Look: 10 * time.Second, Say: h.say,
		Serve: func(ctx context.Context, slots int, work func(worker.Task)) error {
			return e.Serve(ctx, queues, slots, work)
		}}
	stops := make(chan struct{}, 2)
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, stops) }()
	var first os.Signal
	for n := 1; ; n++ {
		select {
		case err := <-done:
			switch {
			case err != nil:
				return usererr.Blocked(err)
			case first != nil:
				return cmd.SignalError(first)
			}
			return nil
		case s := <-signals:
			if first == nil {
				first = s
			}
			if n > 2 {
				_, err := proc.Sweep(context.WithoutCancel(ctx), h.mark)
				return errors.Join(cmd.SignalError(first), err)
			}
			stops <- struct{}{}
		}
	}
}
