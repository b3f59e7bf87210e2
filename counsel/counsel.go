// Package counsel convenes panels of experts: it picks the experts, puts the case to them in
// parallel, and tallies their opinions into one verdict. It does not know the scheduler, and it
// decides nothing about the run.
package counsel

import (
	"context"
	"slices"
	"time"

	"wavex/budget"
	"wavex/internal/check"
	"wavex/runner"
)

// Caller puts one question to a model. A panel calls Ask once per expert, from several goroutines
// at the same time. Ask may block. It must return promptly when ctx is done or when the question's
// own Timeout has passed, and the Answer must hold the cost even if there is no answer.
// *claude.Agent (the claude CLI) implements it.
type Caller interface {
	Ask(ctx context.Context, q runner.Question) runner.Answer
}

// Mode is the kind of a review.
type Mode string

// The modes.
const (
	Light    Mode = "light"    // review of one wave; never blocks
	Thorough Mode = "thorough" // review of the whole run, before the gate
)

// Case is the description of a stuck task that a panel reads. It is plain data.
type Case struct {
	Task        string           `json:"task"`
	Subject     string           `json:"subject"`
	Description string           `json:"description,omitempty"`
	Attempt     int              `json:"attempt"` // the attempt that failed, from 1
	Retries     int              `json:"retries"` // the number of further attempts allowed
	Outcome     runner.Outcome   `json:"outcome"`
	Reason      string           `json:"reason"`
	Detail      string           `json:"detail,omitempty"`
	Report      string           `json:"report,omitempty"` // the agent's last message; untrusted
	Checks      []check.Evidence `json:"checks,omitempty"`
	Diff        string           `json:"diff,omitempty"`       // the attempt's changes, head and tail
	History     []string         `json:"history,omitempty"`    // earlier attempts' reasons, oldest first
	PastAdvice  []string         `json:"earlier,omitempty"`    // advice already followed, oldest first
	Consulted   []string         `json:"consulted,omitempty"`  // experts already asked about this task
	SameError   bool             `json:"same_error,omitempty"` // the signature equals that of the attempt before
	Aspects     []string         `json:"aspects,omitempty"`
	Files       []string         `json:"files,omitempty"`
	MustNot     []string         `json:"must_not,omitempty"`
	Cap         budget.USD       `json:"cap"` // micro-dollars for the whole panel; 0 means no cap
	Dir         string           `json:"dir"`
	LogDir      string           `json:"log_dir"`
	Thorough    bool             `json:"thorough,omitempty"` // the third failure: a wider panel
}

// Action is the next step that an expert proposes.
type Action string

// The actions.
const (
	Retry   Action = "retry"   // try again with the advice
	Amend   Action = "amend"   // the task's words or checks are at fault
	Split   Action = "split"   // too large for one attempt
	Abandon Action = "abandon" // cannot be done as asked
)

// rank orders the actions from the mildest to the most drastic; an unknown one is -1.
func (a Action) rank() int {
	return slices.Index([]Action{Retry, Amend, Split, Abandon}, a)
}

// Opinion is one expert's answer.
type Opinion struct {
	Expert      string     `json:"expert"`
	Diagnosis   string     `json:"diagnosis" secret:"text"`
	Cause       string     `json:"cause" secret:"text"`
	Approach    string     `json:"approach" secret:"text"`
	Confidence  float64    `json:"confidence"`              // 0 to 1
	Falsifier   string     `json:"falsifier" secret:"text"` // the observation that would show the diagnosis to be wrong
	Action      Action     `json:"action"`
	Unavailable string     `json:"unavailable,omitempty" secret:"text"` // why there is no opinion
	Cost        budget.USD `json:"cost"`
}

// Verdict is the result of a panel. If Unavailable is not empty there is no advice, and the retry
// goes on with the error alone.
type Verdict struct {
	Unavailable string `json:"unavailable,omitempty" secret:"text"`
	// Failure is the outcome of the calls with Unavailable: interrupted if one was, else the outcome that all had.
	Failure    runner.Outcome `json:"failure,omitempty"`
	ResetsAt   time.Time      `json:"resets_at,omitzero"`               // of a usage limit (limited only)
	Analysis   string         `json:"analysis,omitempty" secret:"text"` // for <analysis>
	Fix        string         `json:"fix,omitempty" secret:"text"`      // for <suggested_fix>
	Action     Action         `json:"action,omitempty"`
	Confidence float64        `json:"confidence,omitempty"`
	Agreement  float64        `json:"agreement,omitempty"` // 0 to 1: share of the answers with this action and approach
	Tradeoff   bool           `json:"tradeoff,omitempty"`  // a genuine split: the dissent is as strong as the advice
	Dissent    []string       `json:"dissent,omitempty" secret:"text"`
	Opinions   []Opinion      `json:"opinions,omitempty"` // in the order the experts were chosen
	Cost       budget.USD     `json:"cost"`               // micro-dollars of all calls, including failed ones
}
