package event

import "cmp"

// Basis says what shows that a task is done or that a criterion is met.
type Basis string

// These are the bases. With Unproven the gate does not pass.
const (
	Proven   Basis = "proven"   // it did not hold at some time of the run, or of an earlier one that counts, and holds now
	Ran      Basis = "ran"      // a command task ended with exit code 0
	Reviewed Basis = "reviewed" // it changed files, and a review passed them
	Judged   Basis = "judged"   // a judge quotes an observation
	Found    Basis = "found"    // it changed nothing, and a review passed the declared files as they were
	Kept     Basis = "kept"     // a criterion that held before the work and holds after it; it proves no task
	Changed  Basis = "changed"  // it changed files, and only its author has seen them
	Accepted Basis = "accepted" // a person accepts it without evidence
	Allowed  Basis = "allowed"  // the task failed, and its group allows that; nothing is shown
	Unproven Basis = "unproven"
)

// Evidence is what shows one criterion or task.
type Evidence struct {
	Criterion string `json:"criterion,omitempty"` // the id of the criterion
	Task      string `json:"task,omitempty"`      // the task; of a criterion, the one that it belongs to
	Basis     Basis  `json:"basis"`
	Kind      string `json:"kind"`         // the evidence kind
	By        string `json:"by,omitempty"` // for a task: the criterion or the earlier run that shows it
	// Why names the missing evidence, in one clause without the id, if Basis is Unproven, Accepted, Allowed or Changed.
	Why string `json:"why,omitempty"`
}

// ID returns the id of the criterion or the task.
func (e Evidence) ID() string { return cmp.Or(e.Criterion, e.Task) }
