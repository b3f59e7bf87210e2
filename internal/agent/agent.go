// Package agent says who does the work: the claude CLI, or the rehearsal agent in its
// place, and what the latter answers to lean calls where no scenario says otherwise. It
// neither looks for programs nor starts them.
package agent

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wavex/counsel"
	"wavex/internal/claude/statement"
	"wavex/internal/plan"
	"wavex/internal/rehearse"
	"wavex/runner"
)

// The agents by their names.
const (
	Claude    = "claude"
	Rehearsal = "rehearse"
)

// Agent is who does the work: a program and what precedes its flags.
type Agent struct {
	Name     string // Claude or Rehearsal
	Argv     []string
	Scenario *rehearse.Scenario // nil: the stand-in does as it likes
	CLI      statement.Verdicts // on the program; nil: nothing is known
}

// Rehearses tells whether it is the stand-in.
func (a Agent) Rehearses() bool { return a.Name == Rehearsal }

// StartsAhead reports whether a process may be started before there is a prompt for it.
func (a Agent) StartsAhead() bool { return a.CLI.Holds(statement.SilentBeforePrompt) }

// Needed tells whether any task is for an agent and not a command.
func Needed(p *plan.Plan) bool {
	for i := range p.Tasks {
		if p.Tasks[i].Command == "" {
			return true
		}
	}
	return false
}

// Env is what the rehearsal agent is told beyond its assignment: how fast time runs, and
// where it keeps its sessions, so that resuming one can be rehearsed. loop is the .loop
// directory. It is nil for others.
func (a Agent) Env(loop, run string) map[string]string {
	if !a.Rehearses() {
		return nil
	}
	env := map[string]string{rehearse.SessionsVar: filepath.Join(loop, "runs", run, "sessions")}
	if speed := os.Getenv(rehearse.SpeedVar); speed != "" {
		env[rehearse.SpeedVar] = speed
	}
	return env
}

// Block is what the rehearsal agent is told of a task: the plan's block, the task's over it,
// and the scenario over both.
func (a Agent) Block(p *plan.Plan, t *plan.Task) json.RawMessage {
	return a.Scenario.Block(t.ID, rehearse.Overlay(p.Rehearse, t.Rehearse))
}

// Strange lists the tasks that the scenario names and the plan does not have. Those of the
// review's making, R-001 and so on, may come yet.
func (a Agent) Strange(p *plan.Plan) []string {
	if a.Scenario == nil {
		return nil
	}
	return slices.DeleteFunc(a.Scenario.Tasks(), func(id string) bool {
		i, known := p.Lookup(id)
		return known && p.Tasks[i].ID == id || strings.HasPrefix(id, "R-")
	})
}

// Caller puts questions to who; in a rehearsal the scenario says what is answered.
func (a Agent) Caller(who *runner.Agent) counsel.Caller { return caller{who, a.Scenario} }

type caller struct {
	*runner.Agent
	scenario *rehearse.Scenario
}

// Ask makes one lean call.
func (c caller) Ask(ctx context.Context, q runner.Question) runner.Answer {
	if c.Rehearsal {
		q.Rehearse = c.scenario.Panel(q.Name, standIn(q))
	}
	return c.Agent.Ask(ctx, q)
}

// standIn is what the rehearsal agent answers where no scenario says otherwise: nothing
// to mend, and a blocker, which only a scenario can have made up, stands.
func standIn(q runner.Question) json.RawMessage {
	kind, _, _ := strings.Cut(q.Name, "/")
	switch {
	case q.Rehearse != nil:
	case kind == "review":
		return Answer(map[string]any{"score": 8, "findings": []any{}})
	case kind == "precheck":
		return Answer(map[string]any{"verdict": "go", "reason": "a rehearsal: nobody has looked for a reason against it"})
	case kind == "refute":
		return Answer(map[string]any{"refuted": false, "reason": "a rehearsal: nobody has tried to refute it"})
	}
	return q.Rehearse
}

// Answer is what the rehearsal agent is told to answer to a lean call.
func Answer(structured any) json.RawMessage {
	out, err := json.Marshal(map[string]any{"structured": structured, "duration": "20ms", "cost": 0.002})
	if err != nil {
		return nil // plain data: it cannot fail
	}
	return out
}
