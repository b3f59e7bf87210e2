package request

// This file chooses the documents that are written before tasks are made.

import "slices"

// Phase is a document that is written before the tasks.
type Phase string

// The phases, in their order.
const (
	PhasePlan         Phase = "plan"         // the present state of the code that will change
	PhaseRequirements Phase = "requirements" // the requirements that the request leaves open
	PhaseDesign       Phase = "design"       // the solution, if there is a choice
)

// largeWork is the number of tasks from which on requirements are written down, even for a clear
// request.
const largeWork = 6

// phasesForSize returns the phases of work with an estimated number of tasks: it adds requirements to
// large work.
func phasesForSize(phases []Phase, tasks int) []Phase {
	if tasks < largeWork || slices.Contains(phases, PhaseRequirements) {
		return phases
	}
	at := 0
	if len(phases) > 0 && phases[0] == PhasePlan {
		at = 1
	}
	return slices.Insert(slices.Clone(phases), at, PhaseRequirements)
}

// phasesOf returns the documents that a request needs: none for a clear request with an exact place;
// plan if the code must be understood; also design if the work restructures code or cannot be
// undone; all of them if the criteria of success are unclear.
func phasesOf(s Score, k WorkflowMatch, u Reversibility) []Phase {
	switch {
	case s.Success.Points == 0 || s.Outcome.Points == 0:
		return []Phase{PhasePlan, PhaseRequirements, PhaseDesign}
	case k.Workflow == Refactor || u.Class == Irreversible:
		return []Phase{PhasePlan, PhaseDesign}
	case s.Scope.Points == maxPoints && s.Total() >= 8:
		return nil
	}
	return []Phase{PhasePlan}
}
