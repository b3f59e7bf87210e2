package ui

import (
	"encoding/json"
	"fmt"
	"io"

	"wavex/internal/event"
	"wavex/internal/textfmt"
	"wavex/runner"
	"wavex/scheduler"
)

// ndjson writes each event as it is in the journal, one line each.
type ndjson struct {
	out *asyncWriter
	err error // of encoding; only the scheduler's goroutine and Close use it
}

// NDJSON writes each event as one line of JSON, in order and at once: v, seq, time (RFC 3339 UTC),
// type and data. The line of run_ended, the last of a session, also has the verdict at its top
// level: status, exit_code, tasks, cost_usd and iterations. Observations are not events and are not
// written.
func NDJSON(w io.Writer) View { return &ndjson{out: newAsyncWriter(w)} }

func (v *ndjson) Event(e event.Event, _ *scheduler.State) {
	line, err := encodeEvent(e)
	if err != nil {
		if v.err == nil {
			v.err = fmt.Errorf("encoding event %d: %w", e.Seq, err)
		}
		return
	}
	v.out.put(line)
}

func (v *ndjson) Observe(runner.Observation) {}

func (v *ndjson) Close() error {
	if err := v.out.close(); err != nil {
		return err
	}
	return v.err
}

// endSummary holds the fields that run_ended repeats at its top level, so that a caller learns how a
// run ended without knowing the bodies of events.
type endSummary struct {
	Status     event.RunStatus `json:"status"`
	ExitCode   event.ExitCode  `json:"exit_code"`
	Tasks      event.Counts    `json:"tasks"`
	CostUSD    float64         `json:"cost_usd"`
	Iterations int             `json:"iterations"`
}

func encodeEvent(e event.Event) ([]byte, error) {
	e.Time = e.Time.UTC()
	b, err := e.Encode()
	if err != nil {
		return nil, err
	}
	if end := e.End(); end != nil {
		v, err := json.Marshal(endSummary{Status: end.Status, ExitCode: end.ExitCode, Tasks: end.Tasks,
			CostUSD: end.Cost.Float(), Iterations: end.Iterations})
		if err != nil {
			return nil, err
		}
		b = append(append(b[:len(b)-1], ','), v[1:]...)
	}
	return append(textfmt.JSON(b), '\n'), nil
}
