package request

// This file keeps the state of the request from the journal: its calls, its results, its money.
// Every change passes through apply, live or replayed.

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/safefile"
	"wavex/runner"
)

// requestState is the state of one request.
type requestState struct {
	opened     event.RequestOpened
	found      bool // a request was opened
	runStarted bool // a run was started since
	seq        int64
	openedAt   time.Time                    // when it was opened
	updatedAt  time.Time                    // of the last event
	results    map[string]json.RawMessage   // by stage
	answers    map[string]event.CallEnded   // the last end, by step
	tries      map[string]int               // by step
	openCalls  map[string]event.CallStarted // by step
	ledger     budget.Ledger
}

// stageLimits records limits that were changed later, stageForced that a person has overruled a
// decision.
const (
	stageLimits = "limits"
	stageForced = "forced"
)

func callKey(step string, try int) string { return fmt.Sprintf("%s/%d", step, try) }

func (r *requestState) apply(e event.Event) error {
	r.seq, r.updatedAt = e.Seq, e.Time
	if _, opens := e.Body.(event.RequestOpened); !opens && !r.found {
		return nil // of no request, or its beginning is missing
	}
	switch b := e.Body.(type) {
	case event.RequestOpened:
		*r = requestState{opened: b, found: true, seq: e.Seq, openedAt: e.Time, updatedAt: e.Time,
			results: map[string]json.RawMessage{},
			answers: map[string]event.CallEnded{},
			tries:   map[string]int{}, openCalls: map[string]event.CallStarted{}, ledger: budget.NewLedger(b.Config.Limits)}
	case event.RunStarted:
		r.runStarted = true
	case event.CallStarted:
		r.tries[b.Step] = b.Try
		r.openCalls[b.Step] = b
		return r.ledger.Reserve(callKey(b.Step, b.Try), b.Cap, false)
	case event.CallEnded:
		delete(r.openCalls, b.Step)
		r.answers[b.Step] = b
		r.ledger.Commit(callKey(b.Step, b.Try), b.Cost, 0, false)
	case event.StageEnded:
		r.results[b.Stage] = b.Result
		if b.Stage == stageLimits {
			if err := json.Unmarshal(b.Result, &r.opened.Config.Limits); err != nil {
				return fmt.Errorf("the record of the limits: %w", err)
			}
			r.ledger.SetLimits(r.opened.Config.Limits)
		}
	}
	return nil
}

// Progress describes the progress of the last request of a journal.
type Progress struct {
	Opened     event.RequestOpened
	Origin     *event.Origin // nil before the intent is settled
	NotReady   bool          // too vague, and not clarified
	Planned    bool          // there is a plan, or a proposal of several
	Split      bool          // it is a proposal
	RunStarted bool          // a run was started since
	Stage      string        // the stage it is in: intent, shape, decompose, executing
	OpenedAt   time.Time     // when it was opened
	UpdatedAt  time.Time     // of the last event
	Seq        int64         // of the last event
	Spent      budget.USD
}

// ReadProgress returns the progress of the last request of a journal, or nil if there is none.
func ReadProgress(events []event.Event) (*Progress, error) {
	r, err := replay(events)
	if err != nil || !r.found {
		return nil, err
	}
	return r.progress()
}

// Progress returns the progress of the machine's own request.
func (m *Machine) Progress() (*Progress, error) { return m.state.progress() }

func (r requestState) progress() (*Progress, error) {
	s := &Progress{Opened: r.opened, RunStarted: r.runStarted, Stage: "intent", OpenedAt: r.openedAt,
		UpdatedAt: r.updatedAt, Seq: r.seq,
		Spent: r.ledger.Spent()}
	if raw, ok := r.results["intent"]; ok {
		var in Intent
		if err := json.Unmarshal(raw, &in); err != nil {
			return nil, fmt.Errorf("the record of stage intent: %w", err)
		}
		if raw, ok := r.results[stageForced]; ok {
			if err := json.Unmarshal(raw, &in.Decision); err != nil {
				return nil, fmt.Errorf("the record of stage %s: %w", stageForced, err)
			}
		}
		o := (&Machine{state: r}).origin(in)
		s.Origin, s.NotReady, s.Stage = &o, in.Decision.Shape == "blocked", "shape"
	}
	if _, ok := r.results["shape"]; ok {
		s.Stage = "decompose"
	}
	if raw, ok := r.results["decompose"]; ok {
		var p struct {
			Proposals []json.RawMessage `json:"proposals"`
		}
		if err := json.Unmarshal(raw, &p); err != nil {
			return nil, fmt.Errorf("the record of stage decompose: %w", err)
		}
		s.Planned, s.Split, s.Stage = true, len(p.Proposals) > 0, "executing"
	}
	return s, nil
}

func replay(events []event.Event) (requestState, error) {
	var r requestState
	for _, e := range events {
		if err := r.apply(e); err != nil {
			return r, fmt.Errorf("journal record %d: %w", e.Seq, err)
		}
	}
	return r, nil
}

// Open begins a new request; the machine's Events must be the journal before it.
func (m *Machine) Open(o event.RequestOpened) error {
	r, err := replay(m.Events)
	if err != nil {
		return err
	}
	m.state = r
	if r.found {
		if err := m.archiveDocuments(); err != nil {
			return err
		}
	}
	return m.emit(o)
}

// archiveDocuments moves the documents of the previous request aside, so that they do not count for the next
// one. A SHAPE.md that a person wrote since stays.
func (m *Machine) archiveDocuments() error {
	to := m.Loop.Run(m.state.opened.Run, loop.Request)
	docs := []string{m.Loop.Path(loop.Plan)}
	for _, p := range []Phase{PhasePlan, PhaseRequirements, PhaseDesign} {
		docs = append(docs, m.Loop.Path(string(p)+".md"))
	}
	if m.hasLastShape() {
		docs = append(docs, m.Loop.Path(loop.Shape))
	}
	for _, d := range docs {
		if _, err := os.Stat(d); err != nil {
			continue
		}
		if err := safefile.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if err := safefile.Rename(d, filepath.Join(to, filepath.Base(d))); err != nil {
			return fmt.Errorf("putting the last request's %s aside: %w", filepath.Base(d), err)
		}
	}
	return nil
}

// start replays the record, and settles the calls that an earlier session left open.
func (m *Machine) start(ctx context.Context) error {
	if !m.state.found {
		r, err := replay(m.Events)
		if err != nil {
			return err
		}
		m.state = r
	}
	if m.Limits != m.state.opened.Config.Limits {
		raw, err := json.Marshal(m.Limits)
		if err != nil {
			return fmt.Errorf("keeping the limits: %w", err)
		}
		if err := m.emit(event.StageEnded{Stage: stageLimits, Result: raw}); err != nil {
			return err
		}
	}
	for _, step := range slices.Sorted(maps.Keys(m.state.openCalls)) {
		c := m.state.openCalls[step]
		end := event.CallEnded{Step: c.Step, Try: c.Try, Outcome: runner.Interrupted,
			Reason: "wavex ended before the call did", Cost: m.RecoverCost(ctx, c, m.logDir(c.Step, c.Try))}
		if cause := context.Cause(ctx); cause != nil {
			// The next session ends the call's processes.
			return &CallError{Step: step, Outcome: runner.Interrupted, Reason: cause.Error()}
		}
		if err := m.emit(end); err != nil {
			return err
		}
	}
	return nil
}

// emit journals, applies and shows one event, in this order.
func (m *Machine) emit(b event.Body) error {
	e := event.Event{Seq: m.state.seq + 1, Time: m.Now().UTC(), Body: m.Redact(b)}
	if err := m.Journal.Append(e); err != nil {
		return err
	}
	if err := m.Journal.Sync(); err != nil {
		return err
	}
	if err := m.state.apply(e); err != nil {
		return err
	}
	m.View(e)
	return nil
}

// logDir returns the folder of a call's files; each try has its own.
func (m *Machine) logDir(step string, try int) string {
	return m.Loop.Run(m.state.opened.Run, loop.Request,
		fmt.Sprintf("%s-try-%d", strings.ReplaceAll(step, "/", "-"), try))
}
