package event

import "cmp"

// Basis says what shows that a task is done or that a criterion is met.
type Basis string

// These are the bases. With Unproven the gate does not pass.
const (
	Proven   Basis = "proven"   // its checks failed before the work, and pass now
	Ran      Basis = "ran"      // a command task ended with exit code 0
	Reviewed Basis = "reviewed" // a review that was asked about it passed it
	Judged   Basis = "judged"   // a judge quotes an observation
	Rests    Basis = "rests"    // its checks pass only with changes that the task did not declare
	Kept     Basis = "kept"     // it passed before the work and passes after it: that proves no task
	Empty    Basis = "empty"    // its checks passed without a test that ran
	Changed  Basis = "changed"  // it changed files, and only its author has seen them
	Nothing  Basis = "nothing"  // it changed nothing, and promised nothing or others did it
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
	// Why names the missing evidence, in one clause without the id; "": nothing is missing. A review can make up for it.
	Why string `json:"why,omitempty"`
}

// ID returns the id of the criterion or the task.
func (e Evidence) ID() string { return cmp.Or(e.Criterion, e.Task) }
