package temporal_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"wavex/fleet/remote"
	"wavex/internal/testrepo"
	"wavex/runner"
	"wavex/runner/runnertest"
)

// scripted is an agent whose turns are a function.
type scripted struct {
	runner.Agent
	turn func(ctx context.Context, req runner.TurnRequest) runner.TurnResult
}

func (s *scripted) Turn(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
	return s.turn(ctx, req)
}

// TestConformance runs the attempts of the runners' suite on workers of the server.
func TestConformance(t *testing.T) {
	t.Parallel()
	runnertest.Attempts(t, func(t *testing.T, s runnertest.Scenario) runner.Runner {
		begun := make(chan struct{})
		r := newRig(t, sharedServer(t))
		r.startWorker("w1", beginning{runnertest.StandIn(s), sync.OnceFunc(func() { close(begun) })})
		return elsewhere{t, r.runner, begun}
	})
}

// beginning is an agent that tells the begin of its first turn.
type beginning struct {
	runner.Agent
	begin func()
}

func (b beginning) Turn(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
	b.begin()
	return b.Agent.Turn(ctx, req)
}

// elsewhere makes attempts in directories of the suite: each becomes a repository. The suite stops an attempt after a
// time in which an agent on this machine has begun. Here the stop waits until it has.
type elsewhere struct {
	t      *testing.T
	runner func(dir string) *remote.Runner
	begun  chan struct{}
}

// Attempt makes an attempt on a worker.
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
