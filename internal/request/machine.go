package request

// This file holds the session of a request, and records its steps.

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
	"wavex/counsel"
	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/safefile"
	"wavex/internal/userdata"
	"wavex/runner"
)

// Options configures a request.
type Options struct {
	Dir        string   // the project's, absolute
	Loop       loop.Dir // of the project
	ID         string
	New        bool   // begin a new request; else continue the one on record
	Text       string // of a new request
	Config     event.RequestConfig
	Fresh      bool // first move the old .loop aside
	JournalLen int  // number of records of the journal at that decision

	BudgetGiven bool // the plan gets the request's budget
	Force       bool // continue with a request that is too vague, even if it is recorded as such

	Agent    agent.Agent
	Prices   budget.Prices
	Experts  *counsel.Roster
	Redactor runner.Redactor
	Watchdog []string // the command line of the guard process; empty: no guard

	Prompter Prompter          // nil: no person is there
	Notify   func(string)      // prints the progress for a person
	View     func(event.Event) // called with each recorded event
}

// Prompter is the user at the terminal. Its methods block until there is an answer or ctx ends; an
// error means that there is no answer.
type Prompter interface {
	// DismissLearnings shows learnings and returns the ids of those that do not apply here.
	DismissLearnings(ctx context.Context, list []userdata.Learning) (dismissed []string, err error)
	// Clarify asks about the open dimensions of a request, and returns the answers by dimension. An
	// empty result means that the person gives up.
	Clarify(ctx context.Context, s Score, asked []counsel.ClarifyQuestion) (map[string]string, error)
}

// Machine turns one request into a plan. It must be used from one goroutine: Open, Run, Close. All fields but Prompter,
// Panel and PlanBudget are required.
type Machine struct {
	Options
	// Journal stores events. After Sync, all appended events are durable.
	Journal interface {
		Append(e event.Event) error
		Sync() error
		Close()
	}
	Events []event.Event // the journal so far; Run continues its request unless a new one was opened
	Now    func() time.Time

	Caller counsel.Caller
	Panel  *counsel.Panel // for clarification; nil: general questions

	Rehearsal bool // the agent is the rehearsal agent: supply its answers
	MadeUp    bool // it makes up the work of the plan, so the plan has a file for it
	// Learnings returns the learnings to recall, Maxims the user's own rules. Each is called at
	// most once for a request.
	Learnings func() ([]userdata.Learning, error)
	Maxims    func() ([]userdata.Note, error)
	// Mark is the mark of the processes of this session's calls. Each session has its own, because
	// the cleanup after a killed session may still be running.
	Mark string
	// RecoverCost ends the processes of a call whose end an earlier session did not record, and returns
	// the cost. If ctx ends, the call stays open on record.
	RecoverCost func(ctx context.Context, c event.CallStarted, logDir string) budget.USD
	Redact      func(event.Body) event.Body // removes secrets from an event
	PlanBudget  any                         // for the plan file; nil: none

	staged func() // called at the end of each stage; may be nil
	state  requestState
}

// maxDocument is the maximum size of a file that a person may have edited, in bytes.
const maxDocument = 16 << 20

// stageResult returns a stage's result from the record, or calls f and records its result. It always
// returns the recorded value, so that a resume continues with the same one.
func stageResult[T any](m *Machine, stage string, f func() (T, error)) (T, error) {
	if v, ok, err := recorded[T](&m.state, stage); ok {
		return v, err
	}
	made, err := f()
	if err != nil {
		return made, err
	}
	raw, err := json.Marshal(made)
	if err != nil {
		return made, fmt.Errorf("keeping stage %s: %w", stage, err)
	}
	if err := m.endStage(event.StageEnded{Stage: stage, Result: raw}); err != nil {
		return made, err
	}
	v, _, err := recorded[T](&m.state, stage)
	return v, err
}

// open begins a new request; the machine's Events must be the journal before it.
func (m *Machine) open(o event.RequestOpened) error {
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
	to := m.Loop.Run(m.state.Opened.Run, loop.Request)
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
	if m.Config.Limits != m.state.Opened.Config.Limits {
		raw, err := json.Marshal(m.Config.Limits)
		if err != nil {
			return fmt.Errorf("keeping the limits: %w", err)
		}
		if err := m.endStage(event.StageEnded{Stage: stageLimits, Result: raw}); err != nil {
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

// endStage records the end of a stage.
func (m *Machine) endStage(b event.StageEnded) error {
	err := m.emit(b)
	if err == nil && m.staged != nil {
		m.staged()
	}
	return err
}

// emit journals, applies and shows one event, in this order.
func (m *Machine) emit(b event.Body) error {
	e := event.Event{Seq: m.state.Seq + 1, Time: m.Now().UTC(), Body: m.Redact(b)}
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
	return m.Loop.Run(m.state.Opened.Run, loop.Request,
		fmt.Sprintf("%s-try-%d", strings.ReplaceAll(step, "/", "-"), try))
}
