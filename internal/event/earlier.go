package event

import "wavex/runner"

// EarlierWork is the work of an earlier run of the same plan in this folder whose content keys still
// hold. The run's first verification decides which of it is up to date.
type EarlierWork struct {
	Tasks []EarlierTask `json:"tasks"` // in plan order
	// Criteria are the met criteria that a judge decided. They count only if every task is up to date,
	// and are absent if Tasks lacks a task of the plan.
	Criteria []Criterion `json:"criteria,omitempty"`
	Review   string      `json:"review"` // review of that run, as in GateEnded
}

// EarlierTask is a task that an earlier run, or an earlier session of the run, completed, with its evidence.
type EarlierTask struct {
	Task      string `json:"task"`
	Key       string `json:"key"`                 // content key
	Run       string `json:"run"`                 // the run that executed the task
	Evidence  string `json:"evidence"`            // the kind of evidence that the task had
	Basis     Basis  `json:"basis,omitempty"`     // of that evidence; "": from before there were bases
	Rehearsed bool   `json:"rehearsed,omitempty"` // the rehearsal agent did it
	// Digests identify the declared files as the run left them, by path relative to the task's
	// directory. Files that a later task declares are missing.
	Digests map[string]string `json:"digests,omitempty"`
	// Output is the structured result of the task; nil: it has none.
	Output *runner.Output `json:"output,omitempty"`
	// Commit is the task's commit on the branch of the run, if a session without records made it; else "".
	Commit string `json:"commit,omitempty"`
}

// UpToDate divides the tasks that a verification looked at. Others are undecided, because the run was stopping.
type UpToDate struct {
	Tasks []string  `json:"tasks"`         // completed without an attempt, in plan order
	Due   []DueTask `json:"due,omitempty"` // run again
	// Changed are the declared files of Tasks that differ from what the earlier run left, relative to the
	// project. Their tasks do not run again.
	Changed []string `json:"changed,omitempty"`
}

// DueTask is a completed task of an earlier run that runs again.
type DueTask struct {
	Task   string `json:"task"`
	Reason string `json:"reason"` // one line
}
