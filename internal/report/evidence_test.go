package report_test

import (
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// TestUnprovenTask looks for a task that the gate refused in each form of a report.
func TestUnprovenTask(t *testing.T) {
	t.Parallel()
	s := reporttest.New(t, "", reporttest.Tasks{{"T-001", "Do it", nil}, {"T-002", "Do that", nil}})
	s.S.Plan.Tasks[1].Files = []plan.File{{Path: "that.go"}}
	s.StartRun(reporttest.Config()).StartWave(1)
	edited := reporttest.PassingResult(1000)
	edited.Changed = []string{"it.go"}
	s.StartAttempt("T-001", 0).EndAttempt("T-001", edited, event.Completed, nil)
	done := runner.Result{Outcome: runner.Done, Contained: true}
	s.StartAttempt("T-002", 0).EndAttempt("T-002", done, event.Completed, nil)
	s.Apply(event.GateEnded{Reasons: []string{"nothing shows that task T-002 is done"}, Review: "off",
		Advice: event.AdviceUnproven})
	r := report.Of(s.EndRun("failed", 1, "", "").S, nil)
	const missing = "nothing was changed"
	text := r.Table(0, false)
	data, err := r.JSON()
	testrepo.Must(t, err)
	junit, err := r.JUnit()
	testrepo.Must(t, err)
	for form, c := range map[string]struct{ text, want string }{
		"text":     {text, "Evidence: 1 unproven, 1 changed\n"},
		"its row":  {text, "T-002: " + missing},
		"way out":  {text, "--accept-assumptions"},
		"Markdown": {r.Markdown(), "T-002: " + missing},
		"JSON":     {string(data), `"basis": "unproven"`},
		"JUnit":    {string(junit), `<failure message="nothing shows that it is done: ` + missing + `" type="unproven">`},
		"its sum":  {string(junit), `tests="3" failures="2"`},
		"the gate": {string(junit), `<failure message="the gate refused">nothing shows that task T-002 is done</failure>`},
	} {
		if !strings.Contains(c.text, c.want) {
			t.Errorf("%s lacks %q:\n%s", form, c.want, c.text)
		}
	}
}
