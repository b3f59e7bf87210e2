package scheduler

import (
	"testing"

	"wavex/internal/event"
)

// Two wavex processes that resume the same records, for example after an older .loop was restored,
// open sessions with different ids for the same attempt.
func TestEachResumeOpensNewSessions(t *testing.T) {
	t.Parallel()
	c := testConfig()
	c.Limits.Iterations = 1
	first := newFixture(t, mustPlan(t, planText(task("a"), task("b", "a"))), c)
	if end, err := first.Run(t.Context()); err != nil || end.ExitCode != 3 {
		t.Fatalf("%+v, %v", end, err)
	}
	c.Limits.Iterations = 10
	opened := map[string]bool{first.runner.calls[0].Session: true}
	for _, nonce := range []string{"one", "other"} {
		again := nextSession(t, first.State.filePlan, c, first.journal.events)
		again.StartEvent = event.RunResumed{Config: c, Nonce: nonce}
		if end, err := again.Run(t.Context()); err != nil || end.Status != "complete" {
			t.Fatalf("%+v, %v", end, err)
		}
		call := again.runner.calls[0]
		if call.Task != "b" || call.Attempt != 1 || call.Session == "" || opened[call.Session] {
			t.Errorf("%s: task %s, attempt %d, session %s", nonce, call.Task, call.Attempt, call.Session)
		}
		opened[call.Session] = true
	}
}
