package scheduler

import (
	"encoding/json"
	"time"

	"wavex/budget"
	"wavex/counsel"
)

// This file has the events by which a run comes to a verdict on its own work: criteria
// and what shows them, reviews, tasks that mend what was found, and the gate. How they
// follow from each other is in gate.go.

// The kinds of evidence (LEDGER S2-27). Only the first three carry a completion.
const (
	ExecutionOutput = "execution output" // a command was run by wavex and exited 0
	Measurement     = "measurement"      // the same, and the plan calls what it prints a measurement
	Observation     = "observation"      // a file was looked at by wavex, or a judge quotes what it saw
	Assumption      = "assumption"       // nothing shows it
)

// Criterion is one condition of the run's completion and what shows that it is met.
type Criterion struct {
	ID           string `json:"id"`             // "C-1" of the plan, "T-001/C-1" of a task
	Task         string `json:"task,omitempty"` // whose criterion it is; "": the plan's
	Text         string `json:"text"`
	Met          bool   `json:"met"`
	Verification string `json:"verification"`       // the kind of evidence
	Evidence     string `json:"evidence,omitempty"` // bounded: head and tail of an output, or a judge's quote and reason
	Digest       string `json:"digest,omitempty"`   // sha256 of the whole evidence, hex
	Check        string `json:"check,omitempty"`    // the command or look at a file that wavex made
	// ExitCode is of a command; -1: it did not start or was killed.
	ExitCode int               `json:"exit_code,omitempty"`
	Duration time.Duration     `json:"duration,omitempty"`
	Files    map[string]string `json:"files,omitempty"` // sha256 of the files that the evidence speaks of, by path
	Round    int               `json:"round,omitempty"` // the verification that settled it, from 1; 0: none yet
}

// Shown tells whether the criterion is met by evidence.
func (c Criterion) Shown() bool { return c.Met && c.Verification != Assumption }

// CriteriaStarted begins a verification of all criteria and of tasks' own checks that are
// due again, or, after a wave, of the criteria that its work can have changed.
type CriteriaStarted struct {
	Round int        `json:"round"`          // from 1, over the whole run
	Wave  int        `json:"wave,omitempty"` // that is complete, with more to come; 0: all criteria
	Only  []string   `json:"only,omitempty"` // ids that are verified after a wave
	Cap   budget.USD `json:"cap,omitempty"`
	// Judge says that prose criteria are put to a judge; else they stay assumptions.
	Judge bool `json:"judge,omitempty"`
	// Rechecks are checks of completed tasks that are made again with it: later work may have
	// broken what they had shown.
	Rechecks []Recheck `json:"rechecks,omitempty"`
}

// CriteriaEnded settles the criteria it lists; a criterion that was met can be unmet again.
type CriteriaEnded struct {
	Round    int         `json:"round"`
	Wave     int         `json:"wave,omitempty"` // as in CriteriaStarted
	Criteria []Criterion `json:"criteria"`
	Cost     budget.USD  `json:"cost"`
	Error    string      `json:"error,omitempty"` // it was cut off; nothing is settled
	// Rechecked is what came of CriteriaStarted.Rechecks; nil where there were none.
	Rechecked *Rechecked `json:"rechecked,omitempty"`
}

// ReviewStarted convenes reviewers: over one wave's changes, or over all of them.
type ReviewStarted struct {
	N     int          `json:"n"`               // from 1, counting every review of the run
	Mode  counsel.Mode `json:"mode"`            // "light" or "thorough"
	Wave  int          `json:"wave,omitempty"`  // of a light review
	Round int          `json:"round,omitempty"` // of a thorough one, from 1 in each session
	Cap   budget.USD   `json:"cap,omitempty"`
}

// ReviewEnded is what a review came to. A light one stops nothing.
type ReviewEnded struct {
	N      int            `json:"n"`
	Mode   counsel.Mode   `json:"mode"`
	Wave   int            `json:"wave,omitempty"`
	Round  int            `json:"round,omitempty"`
	Review counsel.Review `json:"review"`
	// Blockers counts the confirmed blockers that remain, of a light review those that are
	// claimed; Passed says that there is a review and there are none.
	Blockers int  `json:"blockers"`
	Passed   bool `json:"passed"`
}

// ReviewSkipped says why a review that was due did not take place.
type ReviewSkipped struct {
	Mode   counsel.Mode `json:"mode"`
	Wave   int          `json:"wave,omitempty"`
	Reason string       `json:"reason"`
}

// FromList is the origin of tasks that somebody added to the task list that a run is made of.
const FromList = "list"

// TasksAdded lets the plan grow: by tasks that mend what was found, or that somebody added to
// the task list. The run goes back to executing.
type TasksAdded struct {
	Wave   int     `json:"wave"`   // they run in
	Origin string  `json:"origin"` // "review", "criteria", "verify" or "list"
	Round  int     `json:"round,omitempty"`
	Tasks  []Added `json:"tasks"`
}

// Added is one of them.
type Added struct {
	ID  string `json:"id"`  // "R-001"
	For string `json:"for"` // the finding or criterion it mends
	// Task is the whole task, as an object of a plan file's tasks.
	Task   json.RawMessage `json:"task"`
	Origin string          `json:"-"` // of the event
}

// GateEnded is the last word before the end: may the run be called complete.
type GateEnded struct {
	Passed  bool     `json:"passed"`
	Reasons []string `json:"reasons,omitempty"` // why not; or, when passed, what a reader of the verdict should know
	// ExitSignal is the run's exit signal from now on.
	ExitSignal bool `json:"exit_signal"`
	// Review says how the work was reviewed: "thorough", "off" or "nothing to review".
	Review string `json:"review"`
	// Assumed are the ids of criteria that rest on assumption and were accepted as that.
	Assumed []string `json:"assumed,omitempty"`
}

func (CriteriaStarted) Type() string { return "criteria_started" }
func (CriteriaEnded) Type() string   { return "criteria_ended" }
func (ReviewStarted) Type() string   { return "review_started" }
func (ReviewEnded) Type() string     { return "review_ended" }
func (ReviewSkipped) Type() string   { return "review_skipped" }
func (TasksAdded) Type() string      { return "tasks_added" }
func (GateEnded) Type() string       { return "gate_ended" }

// Verdicts is what a run knows about its own work beyond single tasks.
type Verdicts struct {
	// Criteria are the plan's, then those of the tasks, in plan order.
	Criteria []Criterion
	// Reviews are the latest of each: light ones by wave, thorough ones by round.
	Reviews []ReviewEnded
	// Added are the tasks that are not of the plan file, in the order they came.
	Added []Added
	// Regressions are the checks of completed tasks that had passed and failed when they were
	// made again last, in this session.
	Regressions []Regression
	// Gate is the last gate of the session; nil before.
	Gate *GateEnded
	// ExitSignal says that everything is done, shown and let through.
	ExitSignal bool
}

// Thorough is the latest thorough review, nil before the first.
func (v *Verdicts) Thorough() *ReviewEnded {
	for i := len(v.Reviews) - 1; i >= 0; i-- {
		if v.Reviews[i].Mode == counsel.Thorough {
			return &v.Reviews[i]
		}
	}
	return nil
}

// Light is the light review of a wave, nil when there is none.
func (v *Verdicts) Light(wave int) *ReviewEnded {
	for i := range v.Reviews {
		if r := &v.Reviews[i]; r.Mode == counsel.Light && r.Wave == wave {
			return r
		}
	}
	return nil
}

// keep puts a review in its place: a second one of the same wave takes the first one's.
func (v *Verdicts) keep(b ReviewEnded) {
	if b.Mode == counsel.Light {
		if old := v.Light(b.Wave); old != nil {
			*old = b
			return
		}
	}
	v.Reviews = append(v.Reviews, b)
}

// settle takes what a verification found. A criterion that is no longer the same, or no
// longer there, is passed over.
func (v *Verdicts) settle(found []Criterion) {
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
