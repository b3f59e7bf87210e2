package event

import (
	"encoding/json"

	"wavex/budget"
	"wavex/counsel"
)

// ReviewStarted convenes reviewers of one wave's changes, or of all changes.
type ReviewStarted struct {
	N     int          `json:"n"`               // from 1, counting every review of the run
	Mode  counsel.Mode `json:"mode"`            // "light" or "thorough"
	Wave  int          `json:"wave,omitempty"`  // of a light review
	Round int          `json:"round,omitempty"` // of a thorough one, from 1 in each session
	Cap   budget.USD   `json:"cap,omitempty"`
}

// ReviewEnded records the result of a review. A light review stops nothing.
type ReviewEnded struct {
	N      int            `json:"n"`
	Mode   counsel.Mode   `json:"mode"`
	Wave   int            `json:"wave,omitempty"`
	Round  int            `json:"round,omitempty"`
	Review counsel.Review `json:"review"`
	// Blockers counts the confirmed blockers that remain; for a light review, the claimed ones.
	// Passed means that the review gave an answer without blockers.
	Blockers int  `json:"blockers"`
	Passed   bool `json:"passed"`
}

// ReviewSkipped says why a review that was due did not take place.
type ReviewSkipped struct {
	Mode   counsel.Mode `json:"mode"`
	Wave   int          `json:"wave,omitempty"`
	Reason string       `json:"reason"`
}

// FromList is the origin of tasks that joined a run from its task list, in journals of earlier versions.
const FromList = "list"

// TasksAdded adds tasks to the plan: repairs of findings, or tasks of origin FromList. The run executes them next.
type TasksAdded struct {
	Wave   int     `json:"wave"`   // the wave in which they run
	Origin string  `json:"origin"` // "review", "criteria", "verify" or "list"
	Round  int     `json:"round,omitempty"`
	Tasks  []Added `json:"tasks"`
}

// Added is one added task.
type Added struct {
	ID  string `json:"id"`  // "R-001"
	For string `json:"for"` // the finding or criterion that it repairs
	// Task is the whole task, in the form of a plan file's tasks.
	Task   json.RawMessage `json:"task"`
	Origin string          `json:"-"` // TasksAdded.Origin
}

// ItemsAdded adds the tasks of a list that comes with the run, as the output of a task. Without items the group is
// complete.
type ItemsAdded struct {
	Group string            `json:"group"` // the task of the plan file
	Items []json.RawMessage `json:"items"`
	Tasks []string          `json:"tasks"` // of the items, in their order
}

// GateEnded is the last decision before the end: whether the run is complete.
type GateEnded struct {
	Passed  bool     `json:"passed"`
	Reasons []string `json:"reasons,omitempty"` // why it did not pass; if it passed, remarks for the reader
	// Advice is the way out if nothing but missing evidence prevents completion.
	Advice string `json:"advice,omitempty"`
	// ExitSignal is the run's exit signal after the event.
	ExitSignal bool `json:"exit_signal"`
	// Review says how the work was reviewed: "thorough", "light", "off" or "nothing to review".
	Review string `json:"review"`
	// Assumed are the ids of criteria that were accepted without evidence.
	Assumed []string `json:"assumed,omitempty"`
}

func (ReviewStarted) Type() string { return "review_started" }
func (ReviewEnded) Type() string   { return "review_ended" }
func (ReviewSkipped) Type() string { return "review_skipped" }
func (TasksAdded) Type() string    { return "tasks_added" }
func (ItemsAdded) Type() string    { return "items_added" }
func (GateEnded) Type() string     { return "gate_ended" }
