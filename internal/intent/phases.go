package intent

// This file chooses what is written down before tasks are made (LEDGER S3-02).

import "slices"

// Phase is a document that comes before the tasks.
type Phase string

// The phases, in their order.
const (
	PhasePlan         Phase = "plan"         // what the code is like where the work will be
	PhaseRequirements Phase = "requirements" // what is wanted, where the request leaves it open
	PhaseDesign       Phase = "design"       // how it is done, where there is a choice
)

// Large is the number of tasks from which on requirements are written down, however clear
// the request is (LEDGER S3-01).
const Large = 6

// PhasesOf are the phases of work that is estimated at so many tasks: with requirements
// where it is large.
func PhasesOf(phases []Phase, tasks int) []Phase {
	if tasks < Large || slices.Contains(phases, PhaseRequirements) {
		return phases
	}
	at := 0
	if len(phases) > 0 && phases[0] == PhasePlan {
		at = 1
	}
	return slices.Insert(slices.Clone(phases), at, PhaseRequirements)
}

// Phases are the documents that a request calls for: none for a clear request with an
// exact place; plan where the code must be understood; design as well where the work
// restructures code or cannot be undone; all of them where it is unclear what counts
// as success.
func Phases(s Score, k Kind, u Undo) []Phase {
	switch {
	case s.Success.Points == 0 || s.Outcome.Points == 0:
		return []Phase{PhasePlan, PhaseRequirements, PhaseDesign}
	case k.Workflow == Refactor || u.Class == OneWay:
		return []Phase{PhasePlan, PhaseDesign}
	case s.Scope.Points == MaxPoints && s.Total() >= 8:
		return nil
	}
	return []Phase{PhasePlan}
}
