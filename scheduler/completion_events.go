package scheduler

import (
	"encoding/json"
	"time"

	"wavex/budget"
	"wavex/counsel"
)

// This file holds the events of verification, review and gate, and of tasks that repair the
// findings. gate.go decides how they follow from each other.

// These are the kinds of evidence. Only the first three are sufficient for completion.
const (
	ExecutionOutput = "execution output" // wavex ran a command, and it exited 0
	Measurement     = "measurement"      // the same, and the plan calls the output a measurement
	Observation     = "observation"      // wavex inspected a file, or a judge quotes an observation
	Assumption      = "assumption"       // there is no evidence
)

// Criterion is one condition for the completion of the run, with its evidence.
type Criterion struct {
	ID           string `json:"id"`             // "C-1" of the plan, "T-001/C-1" of a task
	Task         string `json:"task,omitempty"` // the task of the criterion; "": the plan
	Text         string `json:"text"`
	Met          bool   `json:"met"`
	Verification string `json:"verification"`       // the kind of evidence
	Evidence     string `json:"evidence,omitempty"` // bounded: head and tail of an output, or a judge's quote and reason
	Digest       string `json:"digest,omitempty"`   // sha256 of the whole evidence, hex
	Check        string `json:"check,omitempty"`    // the command, or the file inspection
	// ExitCode is the exit code of a command; -1: it did not start or was killed.
	ExitCode int               `json:"exit_code,omitempty"`
	Duration time.Duration     `json:"duration,omitempty"`
	Files    map[string]string `json:"files,omitempty"` // sha256 of the files that the evidence refers to, by path
	Round    int               `json:"round,omitempty"` // the verification that decided it, from 1; 0: none yet
}

// Proven reports whether the criterion is met with evidence.
func (c Criterion) Proven() bool { return c.Met && c.Verification != Assumption }

// CriteriaStarted begins a verification of all criteria and of tasks' own checks that must be
// repeated, or, after a wave, of the criteria that its work may have changed.
type CriteriaStarted struct {
	Round int        `json:"round"`          // from 1, over the whole run
	Wave  int        `json:"wave,omitempty"` // a completed wave that is not the last; 0: all criteria
	Only  []string   `json:"only,omitempty"` // ids to verify after a wave
	Cap   budget.USD `json:"cap,omitempty"`
	// Judge says that a judge decides prose criteria; otherwise they stay assumptions.
	Judge bool `json:"judge,omitempty"`
	// Rechecks are checks of completed tasks to repeat with the verification: later work may have
	// broken them.
	Rechecks []Recheck `json:"rechecks,omitempty"`
}

// CriteriaEnded settles the criteria that it lists. A criterion that was met can become unmet.
type CriteriaEnded struct {
	Round    int         `json:"round"`
	Wave     int         `json:"wave,omitempty"` // as in CriteriaStarted
	Criteria []Criterion `json:"criteria"`
	Cost     budget.USD  `json:"cost"`
	Error    string      `json:"error,omitempty"` // why it was interrupted; no criterion is settled then
	// Rechecked is the result of CriteriaStarted.Rechecks; nil if there were none.
	Rechecked *RecheckSummary `json:"rechecked,omitempty"`
}

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

// FromList is the origin of tasks that were added to the run's task list.
const FromList = "list"

// TasksAdded adds tasks to the plan: repairs of findings, or tasks that were added to the task
// list. The run executes them next.
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

// GateEnded is the last decision before the end: whether the run is complete.
type GateEnded struct {
	Passed  bool     `json:"passed"`
	Reasons []string `json:"reasons,omitempty"` // why it did not pass; if it passed, remarks for the reader
	// ExitSignal is the run's exit signal after the event.
	ExitSignal bool `json:"exit_signal"`
	// Review says how the work was reviewed: "thorough", "off" or "nothing to review".
	Review string `json:"review"`
	// Assumed are the ids of criteria that were accepted without evidence.
	Assumed []string `json:"assumed,omitempty"`
}

func (CriteriaStarted) Type() string { return "criteria_started" }
func (CriteriaEnded) Type() string   { return "criteria_ended" }
func (ReviewStarted) Type() string   { return "review_started" }
func (ReviewEnded) Type() string     { return "review_ended" }
func (ReviewSkipped) Type() string   { return "review_skipped" }
func (TasksAdded) Type() string      { return "tasks_added" }
func (GateEnded) Type() string       { return "gate_ended" }

// Assessment holds the run's knowledge of its own work beyond single tasks.
type Assessment struct {
	// Criteria are the plan's, then those of the tasks, in plan order.
	Criteria []Criterion
	// Reviews are the latest of each: light ones by wave, thorough ones by round.
	Reviews []ReviewEnded
	// Added are the tasks that are not in the plan file, in the order of their addition.
	Added []Added
	// Regressions are the checks of completed tasks that passed before and failed when they were
	// last repeated in this session.
	Regressions []Regression
	// Gate is the last gate of the session; nil before.
	Gate *GateEnded
	// ExitSignal means that all work is done, has evidence, and passed the gate.
	ExitSignal bool
}

// Thorough returns the latest thorough review, or nil.
func (v *Assessment) Thorough() *ReviewEnded {
	for i := len(v.Reviews) - 1; i >= 0; i-- {
		if v.Reviews[i].Mode == counsel.Thorough {
			return &v.Reviews[i]
		}
	}
	return nil
}

// Light returns the light review of a wave, or nil.
func (v *Assessment) Light(wave int) *ReviewEnded {
	for i := range v.Reviews {
		if r := &v.Reviews[i]; r.Mode == counsel.Light && r.Wave == wave {
			return r
		}
	}
	return nil
}

// addReview stores a review. A second light review of the same wave replaces the first.
func (v *Assessment) addReview(b ReviewEnded) {
	if b.Mode == counsel.Light {
		if old := v.Light(b.Wave); old != nil {
			*old = b
			return
		}
	}
	v.Reviews = append(v.Reviews, b)
}

// updateCriteria stores the results of a verification. It skips criteria that changed or no longer exist.
func (v *Assessment) updateCriteria(found []Criterion) {
	at := make(map[string]int, len(v.Criteria))
	for i, c := range v.Criteria {
		at[c.ID] = i
	}
	for _, c := range found {
		if i, ok := at[c.ID]; ok && v.Criteria[i].Text == c.Text {
			v.Criteria[i] = c
		}
	}
}
