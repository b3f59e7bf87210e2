package event

import (
	"cmp"
	"fmt"
	"time"

	"wavex/budget"
	"wavex/internal/textfmt"
)

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
	Flaky        bool   `json:"flaky,omitempty"`                  // its check failed and passed on the same files
	Verification string `json:"verification"`                     // the kind of evidence
	Evidence     string `json:"evidence,omitempty" secret:"text"` // ends of an output, or a judge's quote and reason
	Digest       string `json:"digest,omitempty"`                 // sha256 of the whole evidence, hex
	Check        string `json:"check,omitempty"`                  // the command, or the file inspection
	// ExitCode is the exit code of a command; -1: it did not start or was killed.
	ExitCode int               `json:"exit_code,omitempty"`
	Duration time.Duration     `json:"duration,omitempty"`
	Files    map[string]string `json:"files,omitempty"` // sha256 of the files that the evidence refers to, by path
	Round    int               `json:"round,omitempty"` // the verification that decided it, from 1; 0: none yet
	// Rests and Doubt are those of runner.Result: files that no task declares.
	Rests []string `json:"rests,omitempty"`
	Doubt string   `json:"doubt,omitempty"`
	// WasUnmet means that its check failed in an earlier verification of the run. It is derived from the records.
	WasUnmet bool `json:"-"`
}

// Proven reports whether the criterion is met with evidence.
func (c Criterion) Proven() bool { return c.Met && c.Verification != Assumption }

// CriteriaStarted begins a verification of all criteria and of tasks' own checks that must be
// repeated; or, after a wave, of the criteria that its work may have changed; or, before the first
// wave, of the tasks that an earlier run completed.
type CriteriaStarted struct {
	Round int `json:"round"`          // from 1, over the whole run
	Wave  int `json:"wave,omitempty"` // a completed wave that is not the last; 0: all criteria
	// Only are the ids of the criteria to verify after a wave, with Earlier or Before; otherwise all are.
	Only []string   `json:"only,omitempty"`
	Cap  budget.USD `json:"cap,omitempty"`
	// Judge says that a judge decides prose criteria; otherwise they stay assumptions.
	Judge bool `json:"judge,omitempty"`
	// Rechecks are checks of completed tasks to repeat with the verification: later work may have
	// broken them.
	Rechecks []Recheck `json:"rechecks,omitempty"`
	// Earlier are tasks that an earlier run completed. Rechecks are their checks.
	Earlier []string `json:"earlier,omitempty"`
	// Before says that no attempt of the session has begun. The conditions that must not hold are looked at, and the
	// criteria with a check that were never looked at: one that holds now shows no work.
	Before bool `json:"before,omitempty"`
}

// CriteriaEnded settles the criteria that it lists. A criterion that was met can become unmet.
type CriteriaEnded struct {
	Round    int         `json:"round"`
	Wave     int         `json:"wave,omitempty"` // as in CriteriaStarted
	Criteria []Criterion `json:"criteria"`
	Cost     budget.USD  `json:"cost"`
	Error    string      `json:"error,omitempty"` // why it was interrupted; no criterion is settled then
	// Rechecked is the result of CriteriaStarted.Rechecks; nil if there were none, or with UpToDate.
	Rechecked *RecheckSummary `json:"rechecked,omitempty"`
	UpToDate  *UpToDate       `json:"up_to_date,omitempty"` // result for CriteriaStarted.Earlier; nil: none
	// Stop is the breaker of a condition that must not hold and did; nil: none.
	Stop *Stop `json:"stop,omitempty"`
}

// Recheck names a check to repeat. Equal checks are repeated once.
type Recheck struct {
	Tasks []string `json:"tasks"` // the tasks with this check, in plan order
	N     int      `json:"n"`     // number of the check in the first task, from 1
}

// RecheckSummary holds the results of repeated checks.
type RecheckSummary struct {
	Made int `json:"made"`
	// Skipped counts the checks that were not repeated, because the run was stopping.
	Skipped int `json:"left,omitempty"`
	// Flaky are those that failed, and passed in another run alone.
	Flaky       []string     `json:"flaky,omitempty"`
	Regressions []Regression `json:"regressions,omitempty"`
}

// Regression is a check that passed before and fails now.
type Regression struct {
	Tasks    []string      `json:"tasks"` // as in Recheck
	N        int           `json:"n"`
	Check    string        `json:"check"`     // the command, or the file inspection
	ExitCode int           `json:"exit_code"` // of a command; -1: it did not start or was killed
	Duration time.Duration `json:"duration"`
	Reason   string        `json:"reason,omitempty" secret:"text"` // why it failed, one line
	Output   string        `json:"output,omitempty" secret:"text"` // head and tail
	// Since are the tasks that ended or were integrated after the check had last passed, in plan
	// order: one of them broke it. More counts those that are not listed.
	Since []string `json:"since"`
	More  int      `json:"more,omitempty"`
	// EarlierSession means that the check passed in an earlier session: people may have changed files
	// since.
	EarlierSession bool `json:"before,omitempty"`
}

// String returns the regression in one sentence.
func (r Regression) String() string {
	why := cmp.Or(r.Reason, fmt.Sprintf("exit code %d", r.ExitCode))
	said := fmt.Sprintf("a check of %s passed and fails now: %s: %s", ListTasks(r.Tasks, 0),
		textfmt.Clip(r.Check, 200), textfmt.Clip(why, 200))
	if len(r.Since) > 0 {
		said += "; ended since: " + ListTasks(r.Since, r.More)
	}
	if r.EarlierSession {
		said += "; it passed in an earlier session"
	}
	return said
}

// ListTasks returns at most five ids; more counts further ones.
func ListTasks(ids []string, more int) string {
	return textfmt.FirstOf(ids, 5, more)
}

func (CriteriaStarted) Type() string { return "criteria_started" }
func (CriteriaEnded) Type() string   { return "criteria_ended" }
