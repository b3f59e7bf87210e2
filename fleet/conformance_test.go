package fleet

import (
	"testing"

	"wavex/fleet/remote"
	"wavex/fleet/remote/remotetest"
	"wavex/runner"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	remotetest.Attempts(t, func(t *testing.T, agent runner.Agent) func(dir string) *remote.Runner {
		return newCrew(t, agent).runner
	})
}
