package remote_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"wavex/runner"
	"wavex/runner/runnertest"
)

// elsewhere makes attempts in directories of the suite on a fleet: each becomes a repository. The suite stops an
// attempt after a time in which an agent on this machine has begun. Here the stop waits until it has.
type elsewhere struct {
	*fleet
	begun chan struct{}
}

func (e elsewhere) Attempt(ctx context.Context, req runner.Request, hooks runner.Hooks) runner.Result {
	dir := req.Dir
	if err := os.WriteFile(filepath.Join(dir, "README"), nil, 0o600); err != nil {
		e.t.Error(err)
	}
	gitIn(e.t, dir, "init", "-q")
	gitIn(e.t, dir, "add", "-A")
	gitIn(e.t, dir, "commit", "-q", "-m", "first")
	req.Dir, req.Commit = ".", gitIn(e.t, dir, "rev-parse", "HEAD")
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

// TestConformance runs the attempts of the runners' suite on a worker.
func TestConformance(t *testing.T) {
	t.Parallel()
	runnertest.Attempts(t, func(t *testing.T, s runnertest.Scenario) runner.Runner {
		e := elsewhere{begun: make(chan struct{})}
		begin := sync.OnceFunc(func() { close(e.begun) })
		agent := &scripted{Agent: runnertest.StandIn(s)}
		agent.turn = func(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
			begin()
			return agent.Agent.Turn(ctx, req, nil)
		}
		e.fleet = newFleet(t, agent)
		return e
	})
}
