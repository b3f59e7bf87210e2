package cmd

import (
	"testing"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/request"
	"wavex/internal/testrepo"
)

// The run of a request has a given budget, flag before plan. The default one does not count as given, so that it does
// not stop a run on a subscription.
func TestBudgetOfRequest(t *testing.T) {
	dollars := func(n budget.USD) *budget.USD { n *= budget.Dollar; return &n }
	recorded := func(n budget.USD, given bool) *request.Progress {
		c := event.RequestConfig{Limits: budget.Limits{USD: *dollars(n), NoIterations: true}, BudgetGiven: given}
		return &request.Progress{Opened: event.RequestOpened{Config: c}}
	}
	for name, c := range map[string]struct {
		flags    settingsTest
		progress *request.Progress
		planned  *budget.USD
		usd      budget.USD
		given    bool
	}{
		"by none": {usd: 25},
		"by a flag": {flags: settingsTest{args: []string{"--budget", "10"}}, planned: dollars(4),
			usd: 10, given: true},
		"the default by a flag": {flags: settingsTest{args: []string{"--budget", "25"}}, usd: 25, given: true},
		"by a settings file":    {flags: settingsTest{user: "budget: 25"}, usd: 25, given: true},
		"by the plan":           {planned: dollars(4), usd: 4, given: true},
		"on record":             {progress: recorded(25, true), planned: dollars(4), usd: 25, given: true},
		"on record, of none":    {progress: recorded(25, false), usd: 25},
		"by an older wavex":     {progress: recorded(10, false), planned: dollars(4), usd: 10, given: true},
		"raised": {flags: settingsTest{args: []string{"--budget", "+5"}}, progress: recorded(25, false),
			usd: 30, given: true},
	} {
		o, err := c.flags.options(t)
		testrepo.Must(t, err)
		q := &requestCommand{requestOptions: requestOptions{run: o}, progress: c.progress}
		testrepo.Must(t, q.resolveConfig())
		p := &plan.Plan{Budget: plan.Limits{USD: c.planned}}
		got, err := resolveConfig(q.runOptionsFor(p, ""), p, c.flags.dir, nil)
		if err != nil || got.Limits.USD != c.usd*budget.Dollar || got.BudgetGiven != c.given {
			t.Errorf("%s: %s, given: %t, %v", name, got.Limits.USD, got.BudgetGiven, err)
		}
	}
}
