package session

import (
	"context"
	"fmt"
	"maps"
	"os"
	"time"

	"wavex/internal/telemetry"
	"wavex/scheduler"
)

// traceWait is how long the end of a run waits for a collector to accept the last spans.
const traceWait = 5 * time.Second

// trace makes traces of the run if the environment asks for them. It reports errors of making or
// sending them; they do not affect the run.
func (r *Session) trace(ctx context.Context, loop *scheduler.Loop) (done func(left bool)) {
	yes, why := telemetry.Wanted(os.Getenv)
	if why != "" {
		fmt.Fprintln(r.opts.Err, "wavex: no traces:", why)
	}
	if !yes {
		return func(bool) {}
	}
	e, err := telemetry.Exporter(ctx)
	if err == nil {
		r.traces, err = telemetry.New(ctx, e, r.opts.Wavex, os.Getenv)
	}
	if err != nil {
		fmt.Fprintln(r.opts.Err, "wavex: no traces:", err)
		return func(bool) {}
	}
	// First in Views, so that a span exists before its process is prepared.
	loop.Views = append([]scheduler.View{r.traces}, loop.Views...)
	return func(left bool) {
		if left {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceWait)
		defer cancel()
		if err := r.traces.Close(ctx); err != nil {
			fmt.Fprintln(r.opts.Err, "wavex:", r.opts.Secrets.String(err.Error()))
		}
	}
}

// traced adds the identity of an attempt's span to its environment.
func (r *Session) traced(env map[string]string, e scheduler.AttemptStarted) map[string]string {
	if r.traces == nil {
		return env
	}
	all := maps.Clone(env)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, r.traces.Env(e.Task, e.Attempt))
	return all
}
