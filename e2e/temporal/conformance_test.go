package temporal_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"wavex/internal/testrepo"
	"wavex/runner"
	"wavex/runner/runnertest"
)

// elsewhere makes attempts in directories of the suite through the server: each becomes a repository. The suite stops
// an attempt after a time in which an agent on this machine has begun. Here the stop waits until it has.
type elsewhere struct {
	*rig
	begun chan struct{}
}

func (e elsewhere) Attempt(ctx context.Context, req runner.Request, hooks runner.Hooks) runner.Result {
	dir := req.Dir
	testrepo.Must(e.t, os.WriteFile(filepath.Join(dir, "README"), nil, 0o600))
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		testrepo.Git(e.t, dir, args...)
	}
	req.Dir, req.Commit = ".", strings.TrimSpace(testrepo.Git(e.t, dir, "rev-parse", "HEAD"))
	if ctx.Err() == nil {
		suite := ctx
		stopped, stop := context.WithCancelCause(context.WithoutCancel(suite))
		defer stop(nil)
		defer context.AfterFunc(suite, func() {
			select {
			case <-e.begun:
				stop(context.Cause(suite))
			case <-stopped.Done():
			}
		})()
		ctx = stopped
	}
	return e.runner(dir).Attempt(ctx, req, hooks)
}

// scripted is an agent whose turns are a function.
type scripted struct {
	runner.Agent
	turn func(ctx context.Context, req runner.TurnRequest) runner.TurnResult
}

func (s *scripted) Turn(ctx context.Context, req runner.TurnRequest, _ runner.Spare) runner.TurnResult {
	return s.turn(ctx, req)
}

// TestConformance runs the attempts of the runners' suite on workers of the server.
func TestConformance(t *testing.T) {
	t.Parallel()
	runnertest.Attempts(t, func(t *testing.T, s runnertest.Scenario) runner.Runner {
		e := elsewhere{newRig(t, sharedServer(t)), make(chan struct{})}
		begin := sync.OnceFunc(func() { close(e.begun) })
		agent := &scripted{Agent: runnertest.StandIn(s)}
		agent.turn = func(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
			begin()
			return agent.Agent.Turn(ctx, req, nil)
		}
		e.startWorker("w1", agent)
		return e
	})
}
