package scheduler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"wavex/internal/event"
)

// taskWithCriterion returns a task with one criterion that a command verifies and one in prose.
func taskWithCriterion(id string, blockedBy ...string) string {
	return strings.TrimSuffix(task(id, blockedBy...), "}") +
		fmt.Sprintf(`,"criteria":[{"text":"%s works","verify":"true"},"%s is nice"]}`, id, id)
}

// After each wave, the criteria that its work may have changed are verified. A criterion that is
// broken later becomes unmet, and all criteria are verified at the end.
func TestCriteriaAreVerifiedAfterEachWave(t *testing.T) {
	t.Parallel()
	c := testConfig()
	c.AcceptAssumptions = true
	text := `{"criteria":[{"text":"all works","verify":"true"}],` + planText(taskWithCriterion("a"),
		taskWithCriterion("b", "a"),
		taskWithCriterion("d", "b"))[1:]
	b := newFixture(t, mustPlan(t, text), c)
	b.Verify = func(s *State, e event.CriteriaStarted) verification {
		var out []event.Criterion
		for _, k := range s.Assessment.Criteria {
			if (e.Wave > 0 || e.Before) && !slices.Contains(e.Only, k.ID) {
				continue
			}
			if cond := s.Condition(k.ID); cond.Check != nil {
				k.Met, k.Verification, k.Round = !e.Before && !(k.ID == "a/C-1" && e.Wave == 2), event.ExecutionOutput, e.Round
				k.Check = "look"
			}
			out = append(out, k)
		}
		return verified(Verification{Criteria: out, Cost: 0}, nil)
	}
	if end := b.run(t); end.Status != "complete" || !b.State.Assessment.ExitSignal {
		t.Fatalf("ended as %+v", end)
	}
	var begun, ended []string
	for _, e := range of[event.CriteriaStarted](b.journal) {
		begun = append(begun, fmt.Sprint(e.Round, e.Wave, e.Only, e.Judge))
	}
	for _, e := range of[event.CriteriaEnded](b.journal) {
		for _, k := range e.Criteria {
			if k.ID == "a/C-1" {
				ended = append(ended, fmt.Sprint(e.Wave, k.Met))
			}
		}
	}
	if want := []string{"1 0 [C-1 a/C-1 b/C-1 d/C-1] false", "2 1 [a/C-1] false",
		"3 2 [a/C-1 b/C-1] false", "4 0 [] true"}; !slices.Equal(begun, want) {
		t.Errorf("verified %q, want %q", begun, want)
	}
	if want := []string{"0 false", "1 true", "2 false", "0 true"}; !slices.Equal(ended, want) {
		t.Errorf("a's criterion went %q, want %q", ended, want)
	}
}

// A verification that keeps failing is not repeated forever.
func TestCriteriaThatCannotBeVerifiedStopTheRun(t *testing.T) {
	t.Parallel()
	text := `{"criteria":[{"text":"all works","verify":"true"}],` + planText(taskWithCriterion("a"),
		taskWithCriterion("b", "a"))[1:]
	b := newFixture(t, mustPlan(t, text), testConfig())
	b.Verify = func(_ *State, e event.CriteriaStarted) verification {
		return func(context.Context, func() bool) (Verification, error) {
			if e.Before {
				return Verification{}, nil
			}
			return Verification{}, errors.New("the tree is gone")
		}
	}
	end := b.run(t)
	if end.Status != "blocked" || end.ExitCode != 5 ||
		!strings.Contains(end.Reason, "the criteria could not be verified: the tree is gone") {
		t.Errorf("ended as %+v", end)
	}
	if got := of[event.CriteriaStarted](b.journal); len(got) != 2+maxUnanswered {
		t.Errorf("tried %d times: %+v", len(got), got)
	}
}
