package remote_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"wavex/runner"
	"wavex/runner/runnertest"
)

// elsewhere makes attempts in directories of the suite on a fleet: each becomes a repository.
type elsewhere struct{ *fleet }

func (e elsewhere) Attempt(ctx context.Context, req runner.Request, hooks runner.Hooks) runner.Result {
	dir := req.Dir
	if err := os.WriteFile(filepath.Join(dir, "README"), nil, 0o600); err != nil {
		e.t.Error(err)
	}
	gitIn(e.t, dir, "init", "-q")
	gitIn(e.t, dir, "add", "-A")
	gitIn(e.t, dir, "commit", "-q", "-m", "first")
	req.Dir, req.Commit = ".", gitIn(e.t, dir, "rev-parse", "HEAD")
	return e.runner(dir).Attempt(ctx, req, hooks)
}

// TestConformance runs the attempts of the runners' suite on a worker.
func TestConformance(t *testing.T) {
	t.Parallel()
	runnertest.Attempts(t, func(t *testing.T, s runnertest.Scenario) runner.Runner {
		return elsewhere{newFleet(t, runnertest.StandIn(s))}
	})
}
