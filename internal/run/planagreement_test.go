package run

import (
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/runner"
)

// TestPlanChanges tells which tasks may have changed the plan since a person agreed to it.
func TestPlanChanges(t *testing.T) {
	t.Parallel()
	result := func(why string) runner.Result {
		return runner.Result{Tampered: []runner.Tamper{{Path: "plan.json", Why: why}}}
	}
	start := event.AttemptStarted{Task: "a", Why: "first"}
	ended := event.AttemptEnded{Task: "a", Result: result(runner.WhyPlan)}
	turn := event.TurnEnded{Task: "a", Turn: runner.Turn{Result: result(runner.WhyPlan)}}
	copied := event.AttemptEnded{Task: "a", Result: result(runner.WhyPlanCopy)}
	for name, c := range map[string]struct {
		events []event.Body
		want   string
	}{
		"nothing":                {[]event.Body{start, event.AttemptEnded{Task: "a"}}, ""},
		"in an attempt":          {[]event.Body{start, ended}, "a"},
		"in a turn":              {[]event.Body{start, turn}, "a"},
		"unseen":                 {[]event.Body{start}, "a"},
		"changed later":          {[]event.Body{start}, ""},
		"checks only":            {[]event.Body{event.AttemptStarted{Task: "a", Why: event.WhyChecks}}, ""},
		"before a person agreed": {[]event.Body{start, event.RunResumed{Digest: "2"}}, ""},
		"in its own tree":        {[]event.Body{start, copied}, ""},
		"in its own tree, integrated": {[]event.Body{start, copied,
			event.IntegrationEnded{Completed: []string{"a"}}}, "a"},
	} {
		events := []event.Event{{Body: event.RunStarted{Digest: "1"}}}
		for _, b := range c.events {
			events = append(events, event.Event{Body: b})
		}
		later := func(event.AttemptStarted) bool { return name == "changed later" }
		if _, tasks := planChanges(events, later); strings.Join(tasks, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, tasks, c.want)
		}
	}
}
