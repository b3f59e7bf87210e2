//go:build unix

package runner_test

import (
	"testing"

	"wavex/runner"
	"wavex/runner/runnertest"
)

// The Agent, with a stand-in for the CLI, keeps the contract of Attempt.
func TestConformance(t *testing.T) {
	t.Parallel()
	runnertest.Conformance(t, func(t *testing.T, s runnertest.Scenario) runnertest.Runner {
		return runner.StandIn(t, string(s))
	})
}
