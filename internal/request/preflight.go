package request

// This file implements the checklist before a run. It evaluates facts that the caller collects. A
// failed check costs nothing, because no work has started.

import (
	"fmt"
	"slices"
	"strings"
)

// PreflightFacts is the input of the checklist.
type PreflightFacts struct {
	Decision      Decision
	Reversibility Reversibility
	Workflow      WorkflowMatch
	Criteria      int      // success criteria of the shape
	Assumptions   int      // number of criteria without verification
	Tasks         int      // of the plan
	Unchecked     []string // tasks without a check
	Waves         int
	Plan          string // path of the plan file; "" if it is not written
	State         string // folder of the run's state; "" if it cannot be written
	Budget        string // formatted, as in "$25"
}

// PreflightItem is one line of the checklist.
type PreflightItem struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Text string `json:"says"`
}

// Preflight returns the eight points, in the order of the checklist.
func Preflight(f PreflightFacts) []PreflightItem {
	var out []PreflightItem
	add := func(name string, ok bool, format string, args ...any) {
		out = append(out, PreflightItem{name, ok, fmt.Sprintf(format, args...)})
	}
	d := f.Decision
	speaks := fmt.Sprintf("%d/%d, at least %d needed", d.Spec, maxScore, MinReady)
	if d.Forced {
		speaks += "; forced"
	}
	add("spec scored", d.Spec >= MinReady || d.Forced, "%s", speaks)
	add("shape determined", d.Shape != Blocked && d.Shape != "", "%s, fit %d", d.Shape, d.Fit)
	class := f.Reversibility.Class
	add("reversibility classified", class != "", "type %s: %s", class, class.Handling())
	add("success criteria extracted", f.Criteria > 0, "%d, %d of them by assumption only", f.Criteria, f.Assumptions)
	add("decomposed into steps", f.Tasks > 0, "%d tasks in %d waves", f.Tasks, f.Waves)
	switch {
	case f.Plan == "":
		add("tasks written, each with a check", false, "there is no plan file")
	case len(f.Unchecked) > 0:
		add("tasks written, each with a check", false, "nothing proves %s", strings.Join(f.Unchecked, ", "))
	default:
		add("tasks written, each with a check", f.Tasks > 0, "%s", f.Plan)
	}
	add("state can be kept", f.State != "", "%s", f.State)
	add("announced", f.Workflow.Workflow != "" && f.Budget != "" && d.Shape != Blocked, "%s", announcement(f))
	return out
}

// PreflightPassed reports whether every point is OK.
func PreflightPassed(points []PreflightItem) bool {
	return !slices.ContainsFunc(points, func(p PreflightItem) bool { return !p.OK })
}

// announcement returns the first line of a run's output.
func announcement(f PreflightFacts) string {
	return fmt.Sprintf("[LOOP] Starting | Shape: %s (%d/%d) | Workflow: %s | Steps: %d | Budget: %s", f.Decision.Shape,
		f.Decision.Spec, maxScore, f.Workflow.Workflow, f.Tasks, f.Budget)
}
