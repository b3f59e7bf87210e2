package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"wavex/cmd"
	"wavex/fleet/ferry"
	"wavex/fleet/remote"
	"wavex/fleet/remote/temporal"
	"wavex/fleet/remote/wire"
	"wavex/fleet/telemetry"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/run"
	"wavex/internal/usererr"
	"wavex/runner"
)

// This file connects a session of a run with its workers, and with a collector of traces.

// session is a run.Fleet.
type session struct {
	engine engine // nil: this machine makes the attempts
	server temporal.Server
	key    *wire.Key // that of the workers
	git    string    // the git remote, as this machine reaches it
	url    string    // the same, as workers reach it

	run    run.FleetSession
	away   *remote.Runner    // makes the attempts on workers; nil before Begin, and without an engine
	tracer *telemetry.Tracer // nil: tracing is off
}

// On returns the Fleet of a session whose workers are reached by an engine and a git remote.
func On(e engine, key *wire.Key, git string) run.Fleet {
	return &session{engine: e, key: key, git: git, url: git}
}

// workersPoll is the time between two looks at an attempt on another machine, and workersStopWait the time to wait for
// its result after it was cancelled.
const (
	workersPoll     = 5 * time.Second
	workersStopWait = time.Minute
)

// Begin makes the Runner of a session's attempts, and a tracer, or nil.
func (s *session) Begin(ctx context.Context, r run.FleetSession) (made runner.Runner, t run.Traces, err error) {
	s.run, made = r, r.Local
	if c := r.Config; s.engine != nil {
		if c.Isolation != event.Isolated {
			return nil, nil, usererr.Blocked(errors.New(
				"workers on other machines need worktrees: run with --isolation worktree"))
		}
		s.away = &remote.Runner{Engine: s.engine, Ferry: ferry.New(ctx, c.Dir, s.git, os.Environ()), Key: s.key,
			Repo: s.url, Release: cmd.Version(), Outputs: c.Loop.Path(loop.Outputs), Setup: r.Plan.Setup,
			NoVerify: c.NoVerify, Rehearsal: r.Rehearsal, NoWall: c.Sandbox.Mode != event.SandboxAuto,
			Same: c.Workers.SameVersion, Subject: r.Subject, NewSession: uuid.NewString, QueueWait: queueWait(c.Workers),
			Heartbeat: cmp.Or(c.Workers.Heartbeat, defaultHeartbeat), Poll: workersPoll, StopWait: workersStopWait,
			Observe: r.Observe, Redact: r.Redactor.Bytes, Warn: r.Warn}
		made = s.away
	}
	if s.tracer, err = startTracing(ctx); err != nil {
		r.Warn(fmt.Errorf("no traces: %w", err))
	}
	if s.tracer == nil {
		return made, nil, nil
	}
	return made, s.tracer, nil
}

// Results returns the results of earlier attempts on workers. It stops those that run if stop is set.
func (s *session) Results(ctx context.Context, stop bool, reqs ...runner.Request) (results []runner.Result) {
	if stop {
		for _, req := range reqs {
			results = append(results, s.away.End(ctx, req))
		}
		return results
	}
	results, err := s.away.Late(ctx, reqs...)
	if err != nil {
		s.run.Warn(fmt.Errorf("looking for the costs of lost attempts: %w", err))
	}
	return results
}

// Close tells which attempts were cancelled and have not told their results, and ends the connections. After it
// nothing answers to Results.
func (s *session) Close(ctx context.Context) {
	if s.away != nil {
		for _, id := range s.away.Awaited() {
			s.run.Warn(fmt.Errorf("%s is cancelled; its worker stops it, and a resume collects its result and its cost", id))
		}
	}
	if s.tracer != nil {
		if err := s.tracer.Close(ctx); err != nil {
			s.run.Warn(errors.New(s.run.Redactor.String(err.Error())))
		}
	}
	if s.engine != nil {
		s.engine.Close()
	}
}

// startTracing returns a Tracer, or nil if the environment asks for none.
func startTracing(ctx context.Context) (*telemetry.Tracer, error) {
	if yes, why := telemetry.Enabled(os.Getenv); why != "" {
		return nil, errors.New(why)
	} else if !yes {
		return nil, nil
	}
	e, err := telemetry.Exporter(ctx)
	if err != nil {
		return nil, err
	}
	return telemetry.New(ctx, e, cmd.Version(), os.Getenv)
}
