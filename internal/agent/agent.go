// Package agent describes the agent of a run. It lists the agent programs, of which no other package knows
// how to start them or to read their files, and has the default answers of the rehearsal agent to lean calls. It does
// not look for programs.
package agent

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/rehearse"
	"wavex/runner"
)

// The names of the agents.
const (
	Claude    = "claude"
	Rehearsal = "rehearse" // event.Rehearsal
)

// Agent is the agent that does the work: a program and the arguments before its flags.
type Agent struct {
	Name     string // one of Names
	Argv     []string
	Find     func() (string, error) // as in claude.Agent
	Scenario *rehearse.Scenario     // nil means that the rehearsal agent chooses by itself
}

// IsRehearsal reports whether it is the rehearsal agent.
func (a Agent) IsRehearsal() bool { return a.Name == Rehearsal }

// NeedsAgent reports whether any task is for an agent and not a command, also of a list that comes with the run.
func NeedsAgent(p *plan.Plan) bool {
	for t := range p.AllTasks() {
		if t.Command == "" {
			return true
		}
	}
	return false
}

// Env returns the variables of the rehearsal agent beyond its assignment: the speed of time, and
// the folder of its sessions, so that resuming one can be rehearsed. It returns nil for other agents.
func (a Agent) Env(sessions string) map[string]string {
	if !a.IsRehearsal() {
		return nil
	}
	env := map[string]string{rehearse.SessionsVar: sessions}
	if speed := os.Getenv(rehearse.SpeedVar); speed != "" {
		env[rehearse.SpeedVar] = speed
	}
	return env
}

// Block returns the rehearsal agent's instructions for a task: the plan's block, overridden by
// the task's, and the scenario over both; without any of them, made-up work.
func (a Agent) Block(p *plan.Plan, t *plan.Task) json.RawMessage {
	if t.Command == "" && a.makesUp(p) {
		m := makeUp(t)
		return m.block()
	}
	return a.Scenario.Block(t.ID, rehearse.Overlay(p.Rehearse, t.Rehearse))
}

// MakesUp reports whether the rehearsal agent makes up the work of any task, and returns the first check of each task
// that it does not know how to make true, behind the id of the task.
func (a Agent) MakesUp(p *plan.Plan) (writes bool, unknown []string) {
	if !a.makesUp(p) {
		return false, nil
	}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if t.Command != "" {
			continue
		}
		m := makeUp(t)
		writes = writes || len(m.paths) > 0
		if len(m.unknown) > 0 {
			unknown = append(unknown, t.ID+": "+m.unknown[0])
		}
	}
	return writes, unknown
}

// makesUp reports whether it is a rehearsal, and neither the plan nor a scenario has instructions.
func (a Agent) makesUp(p *plan.Plan) bool {
	if !a.IsRehearsal() || a.Scenario != nil || len(p.Rehearse) > 0 {
		return false
	}
	for i := range p.Tasks {
		if len(p.Tasks[i].Rehearse) > 0 {
			return false
		}
	}
	return true
}

// UnknownTasks returns the tasks that the scenario names and the plan lacks, except R-001 and so on,
// which a review may add later.
func (a Agent) UnknownTasks(p *plan.Plan) []string {
	if a.Scenario == nil {
		return nil
	}
	return slices.DeleteFunc(a.Scenario.Tasks(), func(id string) bool {
		i, known := p.Lookup(id)
		return known && p.Tasks[i].ID == id || strings.HasPrefix(id, "R-")
	})
}

// rehearsal is the rehearsal agent with a scenario, which chooses its answers.
type rehearsal struct {
	runner.Agent
	scenario *rehearse.Scenario
}

// Ask makes one lean call.
func (a rehearsal) Ask(ctx context.Context, q runner.Question) runner.Answer {
	q.Rehearse = a.scenario.Panel(q.Name, rehearsalAnswer(q))
	return a.Agent.Ask(ctx, q)
}

// rehearsalAnswer returns the rehearsal agent's default answer: no finding. It confirms a blocker,
// because only a scenario can have made it up.
func rehearsalAnswer(q runner.Question) json.RawMessage {
	kind, _, _ := strings.Cut(q.Name, "/")
	switch {
	case q.Rehearse != nil:
	case kind == "review":
		return AnswerBlock(map[string]any{"score": 8, "findings": []any{}})
	case kind == "precheck":
		return AnswerBlock(map[string]any{"verdict": "go",
			"reason": "a rehearsal: nobody has looked for a reason against it"})
	case kind == "refute" || kind == "mended":
		return AnswerBlock(map[string]any{"refuted": kind == "mended", "reason": "a rehearsal: nobody has looked"})
	}
	return q.Rehearse
}

// AnswerBlock returns a block that has the rehearsal agent answer structured to a lean call.
func AnswerBlock(structured any) json.RawMessage {
	out, err := json.Marshal(map[string]any{"structured": structured, "duration": "20ms", "cost": 0.002})
	if err != nil {
		return nil // plain data: it cannot fail
	}
	return out
}
