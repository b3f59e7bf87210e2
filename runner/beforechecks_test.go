//go:build unix

package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/plan"
)

// Checks wait for their turn, hold it until they end, and have the request's environment.
func TestBeforeChecks(t *testing.T) {
	t.Parallel()
	b := setup(t, script{Steps: then(prints(initLine, resultGood), step{EOF: true})})
	turn := filepath.Join(t.TempDir(), "turn")
	b.req.Env = map[string]string{"WAVEX_PORT_BASE": "20000", "WAVEX_TASK": "not mine"}
	b.req.Checks = []plan.Check{{Run: `test -e ` + turn + ` && test "$WAVEX_PORT_BASE $WAVEX_TASK" = "20000 T-001"`}}
	held, released := 0, 0
	b.req.BeforeChecks = func(context.Context) (func(), error) {
		held++
		return func() { released++; _ = os.Remove(turn) }, os.WriteFile(turn, nil, 0o600)
	}
	if r := b.agent.Attempt(t.Context(), b.req); r.Outcome != Done || held != 1 || released != 1 {
		t.Errorf("it is %s (%s), %v; held %d times, released %d times", r.Outcome, r.Reason, r.Checks, held, released)
	}
	b.req.BeforeChecks = func(context.Context) (func(), error) { return nil, errors.New("no turn") }
	if r := b.agent.Attempt(t.Context(), b.req); r.Outcome != Interrupted ||
		r.Reason != "stopped before the checks: no turn" || r.Checks != nil {
		t.Errorf("without a turn it is %s: %s, %v", r.Outcome, r.Reason, r.Checks)
	}
}
