package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"time"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// Version is the version of the JSON form. A version may add fields; it removes and changes none.
const Version = 1

// The JSON types: dollars, seconds and RFC 3339 UTC, for programs that know nothing of wavex.
type (
	wireRun struct {
		V int `json:"v"`
		Summary
		Seconds    float64  `json:"seconds"` // of all sessions
		CostUSD    float64  `json:"cost_usd"`
		CounselUSD float64  `json:"counsel_usd"`
		OtherUSD   float64  `json:"other_usd"`      // cost_usd without that of the tasks
		BudgetUSD  *float64 `json:"budget_usd"`     // null: no limit
		MaxIter    *int     `json:"max_iterations"` // null: no limit
		// Regressions lists the checks that passed once and failed when they were made again.
		Regressions []wireRegression `json:"regressions,omitempty"`
		Reviews     []wireReview     `json:"reviews,omitempty"`
		Gate        *wireGate        `json:"gate,omitempty"` // absent before the gate
		Tasks       []wireTask       `json:"tasks"`          // the last field, see WriteJSON
	}
	wireReview struct {
		Mode     counsel.Mode      `json:"mode"`
		Wave     int               `json:"wave,omitempty"`
		Round    int               `json:"round,omitempty"`
		Passed   bool              `json:"passed"`
		Score    *float64          `json:"score,omitempty"` // absent if no expert answered
		Blockers int               `json:"blockers"`
		Nothing  string            `json:"nothing,omitempty"` // why there was nothing to review
		Error    string            `json:"error,omitempty"`   // why there is no review
		Experts  []string          `json:"experts,omitempty"`
		Findings []counsel.Finding `json:"findings,omitempty"`
	}
	wireGate struct {
		Passed   bool             `json:"passed"`
		Reasons  []string         `json:"reasons,omitempty"` // against it, or remarks
		Review   string           `json:"review"`            // as in the record gate_ended
		Evidence []event.Evidence `json:"evidence"`          // a row for each criterion, then for each task
	}
	wireRegression struct {
		Tasks    []string `json:"tasks"` // the tasks that the check belongs to
		Check    string   `json:"check"`
		ExitCode int      `json:"exit_code"`
		Seconds  float64  `json:"seconds"`
		Reason   string   `json:"reason,omitempty"`
		Output   string   `json:"output,omitempty"`
		Since    []string `json:"since"`            // tasks that ended after the check had passed
		More     int      `json:"more,omitempty"`   // number of further ones
		Before   bool     `json:"before,omitempty"` // the check had passed in an earlier session
	}
	wireTask struct {
		Task
		Line       int           `json:"line,omitempty"` // in the plan file
		CostUSD    float64       `json:"cost_usd"`
		CounselUSD float64       `json:"counsel_usd"`
		Seconds    float64       `json:"seconds"` // of all attempts
		History    []wireAttempt `json:"history,omitempty"`
	}
	wireAttempt struct {
		Number  int            `json:"number"`
		Why     string         `json:"why,omitempty"`     // as in event.AttemptStarted
		Advised bool           `json:"advised,omitempty"` // counsel's advice was in the prompt
		Outcome runner.Outcome `json:"outcome"`
		Reason  string         `json:"reason,omitempty"`
		Detail  string         `json:"detail,omitempty"`
		Report  string         `json:"report,omitempty"` // the agent's own words; untrusted
		Started time.Time      `json:"started,omitzero"`
		Charged bool           `json:"charged"`
		Worker  string         `json:"worker,omitempty"`  // the machine; "": that of the run
		Refused int            `json:"refused,omitempty"` // tool calls that the policy did not let run
		Escaped bool           `json:"escaped,omitempty"` // see scheduler.LeftProcess
		Note    string         `json:"note,omitempty"`    // the next step and its reason
		Seconds float64        `json:"seconds"`
		CostUSD float64        `json:"cost_usd"`
		Checks  []wireCheck    `json:"checks,omitempty"`
		Counsel *wireCounsel   `json:"counsel,omitempty"`
	}
	wireCheck struct {
		Check    string  `json:"check"`
		Passed   bool    `json:"passed"`
		ExitCode int     `json:"exit_code"`
		Seconds  float64 `json:"seconds"`
		Reason   string  `json:"reason,omitempty"`
		Output   string  `json:"output,omitempty"`
	}
	wireCounsel struct {
		Unavailable string   `json:"unavailable,omitempty"`
		Experts     []string `json:"experts,omitempty"`
		Action      string   `json:"action,omitempty"`
		Agreement   float64  `json:"agreement"`
		Tradeoff    bool     `json:"tradeoff,omitempty"`
		Analysis    string   `json:"analysis,omitempty"`
		Fix         string   `json:"fix,omitempty"`
		Dissent     []string `json:"dissent,omitempty"`
		CostUSD     float64  `json:"cost_usd"`
	}
)

// JSON returns the summary with every attempt as indented JSON with a final newline.
func (r *Summary) JSON() ([]byte, error) {
	var b bytes.Buffer
	err := r.WriteJSON(&b)
	return b.Bytes(), err
}

// jsonChunk is the size from which WriteJSON writes, in bytes.
const jsonChunk = 64 << 10

// WriteJSON writes the text that JSON returns. It writes the last field, the tasks, one task after the other.
func (r *Summary) WriteJSON(w io.Writer) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	encode := func(prefix string, v any) error {
		enc.SetIndent(prefix, "  ")
		err := enc.Encode(v)
		b.Truncate(max(b.Len()-1, 0)) // the newline
		return err
	}
	flush := func(least int) error {
		if b.Len() < least {
			return nil
		}
		defer b.Reset()
		_, err := w.Write(textfmt.JSON(b.Bytes()))
		return err
	}
	if err := encode("", r.wire()); err != nil {
		return err
	}
	if len(r.Tasks) > 0 {
		b.Truncate(b.Len() - len("]\n}"))
	}
	for i := range r.Tasks {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n    ")
		if err := errors.Join(encode("    ", r.Tasks[i].wire()), flush(jsonChunk)); err != nil {
			return err
		}
	}
	if len(r.Tasks) > 0 {
		b.WriteString("\n  ]\n}")
	}
	b.WriteByte('\n')
	return flush(0)
}

// wire returns the summary without its tasks.
func (r *Summary) wire() *wireRun {
	w := wireRun{V: Version, Summary: *r, Seconds: r.WorkTime.Seconds(), CostUSD: r.Cost.Float(),
		CounselUSD: r.CounselCost.Float(), OtherUSD: r.totals.otherCost.Float(),
		Reviews: wireReviews(r.Reviews), Tasks: []wireTask{}}
	w.ResumeAt, w.Started, w.Ended = r.ResumeAt.UTC(), r.Started.UTC(), r.Ended.UTC()
	if !r.Limits.NoUSD {
		usd := r.Limits.USD.Float()
		w.BudgetUSD = &usd
	}
	if !r.Limits.NoIterations {
		w.MaxIter = &r.Limits.Iterations
	}
	for _, g := range r.Regressions {
		w.Regressions = append(w.Regressions, wireRegression{g.Tasks, g.Check, g.ExitCode, g.Duration.Seconds(), g.Reason,
			g.Output, g.Since, g.More, g.EarlierSession})
	}
	if g := r.Gate; g != nil {
		w.Gate = &wireGate{g.Passed, g.Reasons, g.Review, r.Evidence}
	}
	return &w
}

func (t *Task) wire() wireTask {
	w := wireTask{Task: *t, Line: t.Pos.Line, CostUSD: t.Cost.Float(), CounselUSD: t.CounselCost.Float(),
		Seconds: t.Duration.Seconds()}
	for _, a := range t.History {
		w.History = append(w.History, wireOf(&a))
	}
	return w
}

func wireOf(a *Attempt) wireAttempt {
	r := &a.End.Result
	w := wireAttempt{Number: a.Attempt, Why: a.Why, Advised: a.Advised, Outcome: r.Outcome, Reason: r.Reason,
		Detail: r.Detail, Report: r.Report, Started: r.Started.UTC(), Charged: a.End.Charged, Worker: r.Worker,
		Refused: r.Refused, Escaped: a.Escaped(), Note: a.Note(), Seconds: r.Duration.Seconds(), CostUSD: r.Cost.Float()}
	for _, c := range r.Checks {
		w.Checks = append(w.Checks, wireCheck{c.Check, c.Passed, c.ExitCode, c.Duration.Seconds(), c.Reason, c.Output})
	}
	if v := a.Advice(); v != nil {
		c := wireCounsel{Unavailable: v.Unavailable, Action: string(v.Action), Agreement: v.Agreement, Tradeoff: v.Tradeoff,
			Analysis: v.Analysis, Fix: v.Fix, Dissent: v.Dissent, CostUSD: v.Cost.Float()}
		for _, o := range v.Opinions {
			c.Experts = append(c.Experts, o.Expert)
		}
		w.Counsel = &c
	}
	return w
}
