package forecast

import (
	"fmt"
	"slices"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/plan"
)

// This file names what cannot suffice: a plan's limits for its minimal needs, and criteria for a complete run.

// Seconds weighs tasks by their estimate; without any estimate all weigh the same.
func Seconds(p *plan.Plan) func(int) float64 {
	if !slices.ContainsFunc(p.Tasks, func(t plan.Task) bool { return t.Estimate.Seconds > 0 }) {
		return nil
	}
	return func(i int) float64 { return max(p.Tasks[i].Estimate.Seconds, 1) }
}

// Limits returns the limits of a plain `wavex run` of the plan.
func Limits(p *plan.Plan) budget.Limits {
	l := budget.Limits{USD: plan.DefaultUSD, Iterations: plan.DefaultIterations(p.MostTasks()),
		Wall: p.Budget.WallClock}
	if p.Budget.USD != nil {
		l.USD, l.NoUSD = *p.Budget.USD, *p.Budget.USD == plan.NoLimit
	}
	if n := p.Budget.Iterations; n != nil {
		l.Iterations, l.NoIterations = max(0, *n), *n == plan.NoIterations
	}
	return l
}

// InsufficientLimits returns the limits that cannot suffice in any case.
func InsufficientLimits(p *plan.Plan, l budget.Limits) []plan.Diagnostic {
	var out []plan.Diagnostic
	warn := func(code, format string, args ...any) {
		out = append(out, warning(p, code, format, args...))
	}
	if n := len(p.Tasks); !l.NoIterations && n > l.Iterations {
		warn("short-iterations", "%d tasks need at least %d iterations, and the limit is %d", n, n, l.Iterations)
	}
	var need budget.USD
	var secs float64
	for i := range p.Tasks {
		need += p.Tasks[i].Estimate.USD
	}
	if !l.NoUSD && need > l.USD {
		warn("short-budget", "the tasks' estimates add up to %s, and the budget is %s", need, l.USD)
	}
	if w := Seconds(p); w != nil {
		_, secs = p.Graph.CriticalPath(func(i int) float64 { return p.Tasks[i].Estimate.Seconds })
	}
	if l.Wall > 0 && secs > l.Wall.Seconds() {
		warn("short-time", "the critical path is estimated at %.0f s, and the limit is %s", secs, l.Wall)
	}
	return out
}

// Assumptions returns a warning about criteria that rest on an assumption: the gate refuses them unless the user
// accepts them.
func Assumptions(p *plan.Plan) []plan.Diagnostic {
	var ids []string
	add := func(prefix string, list []plan.Condition) {
		for k, c := range list {
			if c.Verification == event.Assumption && c.Check == nil {
				ids = append(ids, fmt.Sprintf("%sC-%d", prefix, k+1))
			}
		}
	}
	add("", p.Criteria)
	for i := range p.Tasks {
		add(p.Tasks[i].ID+"/", p.Tasks[i].Criteria)
	}
	if ids == nil {
		return nil
	}
	return []plan.Diagnostic{warning(p, "assumption", "these criteria need --accept-assumptions in each run: %s",
		event.ListTasks(ids, 0))}
}

func warning(p *plan.Plan, code, format string, args ...any) plan.Diagnostic {
	return plan.Diagnostic{Severity: plan.SeverityWarning, Code: code, Message: fmt.Sprintf(format, args...),
		File: p.Path, Line: 1, Column: 1}
}
