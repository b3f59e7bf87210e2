package temporal_test

import (
	"context"
	"testing"

	"wavex/fleet/remote"
	"wavex/fleet/remote/remotetest"
	"wavex/runner"
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
	remotetest.Attempts(t, func(t *testing.T, agent runner.Agent) func(dir string) *remote.Runner {
		r := newRig(t, sharedServer(t))
		r.startWorker("w1", agent)
		return r.runner
	})
}
