package run

import (
	"context"
	"fmt"
	"maps"
	"os"
	"time"

	"wavex/internal/event"
	"wavex/internal/telemetry"
	"wavex/scheduler"
)

// traceCloseTimeout is how long the end of a run waits for a collector to accept the last spans.
const traceCloseTimeout = 5 * time.Second

// startTracing returns a View that makes traces of the run, or nil if the environment asks for none. It reports
// errors of making or sending them; they do not affect the run.
func (r *Session) startTracing(ctx context.Context) (view scheduler.View, done func()) {
	yes, why := telemetry.Enabled(os.Getenv)
	if why != "" {
		fmt.Fprintln(r.opts.Err, "wavex: no traces:", why)
	}
	if !yes {
		return nil, func() {}
	}
	e, err := telemetry.Exporter(ctx)
	if err == nil {
		r.tracer, err = telemetry.New(ctx, e, r.opts.Version, os.Getenv)
	}
	if err != nil {
		fmt.Fprintln(r.opts.Err, "wavex: no traces:", err)
		return nil, func() {}
	}
	return r.tracer, func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.closeLimit(traceCloseTimeout))
		defer cancel()
		if err := r.tracer.Close(ctx); err != nil {
			fmt.Fprintln(r.opts.Err, "wavex:", r.opts.Redactor.String(err.Error()))
		}
	}
}

// withTraceEnv adds the identity of an attempt's span to its environment.
func (r *Session) withTraceEnv(env map[string]string, e event.AttemptStarted) map[string]string {
	if r.tracer == nil {
		return env
	}
	all := maps.Clone(env)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, r.tracer.Env(e.Task, e.Attempt))
	return all
}
