package statefiles

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/internal/textfmt"
)

// This file writes state.json: the run as a list of steps and a set of criteria, in the form that
// linear loops and their stop hooks read.

//go:embed state.schema.json
var linearSchema []byte

// LinearSchema returns the JSON Schema (2020-12) of state.json.
func LinearSchema() []byte { return slices.Clone(linearSchema) }

type linear struct {
	Spec       string      `json:"spec"`
	Criteria   []string    `json:"criteria"`
	Status     namedValues `json:"criteriaStatus"`
	ExitSignal bool        `json:"exit_signal"`
	Steps      []string    `json:"steps"`
	Completed  []string    `json:"completedSteps"`
	Remaining  []string    `json:"remainingSteps"`
	Iteration  int         `json:"iteration"`
	State      string      `json:"status"` // in_progress, paused, completed
	Breaker    breaker     `json:"circuitBreaker"`
	LastError  *string     `json:"last_error"` // null: none
	Errors     []taskError `json:"errors"`     // the oldest first
}

// breaker is the state of the loop's own breaker: how many times in succession the same checks were
// unmet.
type breaker struct {
	Stuck int    `json:"stuckCount"`
	Unmet string `json:"lastUnmet"`
}

// taskError is an attempt that ended with an error.
type taskError struct {
	Time      time.Time `json:"ts"`
	Task      string    `json:"task"`
	Attempt   int       `json:"attempt"`
	Class     string    `json:"class"` // see runner.Outcome.Class
	Outcome   string    `json:"outcome"`
	Signature string    `json:"signature,omitempty"`
	Excerpt   string    `json:"excerpt"` // one line
}

type criterion struct {
	Met  bool   `json:"met"`
	Kind string `json:"verification"`
}

func (b *model) mergeLinear(old []byte) ([]byte, error) {
	w := linear{Spec: b.goal(), Criteria: []string{}, ExitSignal: b.exitSignal, Steps: b.steps, Completed: []string{},
		Remaining: []string{},
		Iteration: b.Iterations, State: b.linearStatus(), Breaker: b.breaker,
		Errors: []taskError{}}
	for _, e := range b.errors {
		text := report.ErrorText(e.Result)
		w.LastError = &text
		w.Errors = append(w.Errors, taskError{e.Time.UTC(), e.Task, e.Attempt, e.Result.Outcome.Class(),
			string(e.Result.Outcome), e.Result.Signature, text})
	}
	for _, c := range b.criteria {
		w.Criteria = append(w.Criteria, c.Text)
		w.Status = append(w.Status, namedValue{c.Text, criterion{c.Met, c.Verification}})
	}
	for i, step := range w.Steps {
		if b.tasks[i].Status == event.Completed {
			w.Completed = append(w.Completed, step)
		} else {
			w.Remaining = append(w.Remaining, step)
		}
	}
	ours, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	return mergeShared(old, textfmt.JSON(ours), nil, "circuitBreaker")
}

// stepName returns the subject of a task, which may not be unique.
func stepName(t *plan.Task) string { return cmp.Or(t.Title(), t.ID) }

// stepNames returns the names of the tasks: their subjects, with their ids where a subject is not
// unique, because steps are identified by their text alone.
func stepNames(p *plan.Plan) []string {
	seen := make(map[string]int, len(p.Tasks))
	for i := range p.Tasks {
		seen[stepName(&p.Tasks[i])]++
	}
	out := make([]string, len(p.Tasks))
	used := make(map[string]bool, len(p.Tasks))
	for i := range p.Tasks {
		step := stepName(&p.Tasks[i])
		if seen[step] > 1 {
			step = fmt.Sprintf("%s: %s", report.DisplayID(p.Tasks[i].ID), step)
		}
		out[i] = report.Unique(used, step)
	}
	return out
}
