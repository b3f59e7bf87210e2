package run

import (
	"slices"
	"testing"

	"wavex/internal/event"
	"wavex/internal/plan"
)

// The run's policy is for tasks whose plan has none, unless a flag overrides the plan.
func TestPolicyOfTasks(t *testing.T) {
	t.Parallel()
	one, two := 1, 2
	p := &plan.Plan{Defaults: plan.Settings{PolicyEdits: "off"}, Tasks: []plan.Task{
		{ID: "a", Settings: &plan.Settings{PolicyDeny: []string{}, PolicyRepeat: &two}}, {ID: "b"}}}
	given := event.Policy{Edits: "files", Deny: []string{"curl"}, Repeat: &one}
	for _, c := range []struct {
		task  int
		force []string
		edits string
		deny  []string
		times int
	}{
		{0, nil, "off", nil, 2}, {1, nil, "off", []string{"curl"}, 1},
		{0, []string{"edits", "repeat"}, "files", nil, 1}, {0, []string{"deny"}, "off", []string{"curl"}, 2},
	} {
		r := &Session{config: event.Config{Policy: given}}
		r.config.Policy.Force = c.force
		s := r.settings(p, c.task)
		if s.PolicyEdits != c.edits || !slices.Equal(s.PolicyDeny, c.deny) || *s.PolicyRepeat != c.times {
			t.Errorf("task %d with %v: %+v", c.task, c.force, s)
		}
	}
}
