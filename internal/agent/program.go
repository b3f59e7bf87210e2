package agent

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"wavex/budget"
	"wavex/internal/claude"
	"wavex/internal/policy"
	"wavex/runner"
)

// This file lists the agent programs that wavex knows. docs/agents.md says how to add one.

// programs holds the entry of each agent, by its name.
var programs = map[string]Program{
	Claude:    cli{},
	Rehearsal: cli{}, // the process is internal/rehearse, which speaks the protocol of the claude CLI
}

// Program starts the processes of one agent program, and reads the files that they left. Its methods are safe for
// concurrent use.
type Program interface {
	// New returns an agent whose processes are those of a, for one session.
	New(a Agent, s Setup) runner.Agent
	// RecoverCost returns the cost of a turn or a lean call that had not ended when wavex did, by the files in its
	// directory, and the session as the program reported it. A cost that they do not tell counts at the limit. An error
	// means that the cost is not known. It changes no file.
	RecoverCost(logDir string, prices budget.Prices, limit budget.USD) (bill runner.Bill, session string, err error)
	// CutCalls returns the tool calls of such a turn that had no result, such as "Bash make", and the time of its last
	// sign of life.
	CutCalls(logDir string) (calls []string, last time.Time, err error)
}

// Setup holds the parts of a session that an agent uses. Run, Prices and Host are required.
type Setup struct {
	runner.Host
	Run    string        // the mark of the processes of lean calls; turns have their own
	Prices budget.Prices // prices turns without a figure of the program
	// Person decides on tool calls that the policy leaves to a person, and says why it denies one; nil: all are denied.
	// It may block until ctx ends, and must be safe for concurrent use.
	Person func(ctx context.Context, q policy.Question, timeout time.Duration) (allowed bool, why string)
	Grace  time.Duration // bounds each step of stopping a process; 0: the program's own times
}

// Names returns the names of all agents.
func Names() []string { return slices.Sorted(maps.Keys(programs)) }

// Lookup returns the program of an agent. "" is the name of Claude.
func Lookup(name string) (Program, error) {
	if p, known := programs[cmp.Or(name, Claude)]; known {
		return p, nil
	}
	return nil, fmt.Errorf("this wavex knows no agent %q", name)
}

// New returns the agent of a session. The agent's name must be one of Names.
func (a Agent) New(s Setup) runner.Agent { return programs[cmp.Or(a.Name, Claude)].New(a, s) }

// cli is a Program that speaks the protocol of the claude CLI.
type cli struct{}

// New implements Program.
func (cli) New(a Agent, s Setup) runner.Agent {
	who := &claude.Agent{Host: s.Host, Name: a.Name, Argv: a.Argv, Find: a.Find, Run: s.Run, Prices: s.Prices,
		Person: s.Person, Grace: s.Grace,
		StopWait: claude.StopWait{Interrupt: s.Grace, Close: s.Grace, Terminate: s.Grace},
		Judge:    func(t runner.TurnRequest) policy.Judge { return policy.New(t.Policy) }}
	if a.IsRehearsal() {
		return rehearsal{who, a.Scenario}
	}
	return who
}

// RecoverCost implements Program.
func (cli) RecoverCost(logDir string, prices budget.Prices, limit budget.USD) (runner.Bill, string, error) {
	spent, err := claude.RecoverCost(logDir, prices, limit)
	return spent.Bill, spent.Session, err
}

// CutCalls implements Program.
func (cli) CutCalls(logDir string) ([]string, time.Time, error) { return claude.CutCalls(logDir) }
