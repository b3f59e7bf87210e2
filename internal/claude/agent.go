// Package claude has turns and questions of the claude CLI. It holds all knowledge of the CLI: the
// arguments, the permission rules, the stream and its costs, the control requests, and the steps that
// stop the process. It knows neither checks nor what follows a turn. docs/claude-cli.md lists the
// observations.
package claude

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"wavex/internal/policy"
	"wavex/runner"
)

// Agent makes turns with the claude CLI, or with a program that speaks its protocol. Every field but
// Argv and Prices may be zero. It does not change with use, and its methods are safe for concurrent use.
type Agent struct {
	runner.Host
	// Argv is the program and the arguments before the flags: ["claude"], or [self, "agent"].
	Argv []string
	// Find returns the program again if its file is gone, as after an update of the CLI; nil: the file does not move. It
	// is safe for concurrent use.
	Find func() (string, error)
	// Name is the agent's name in messages; "" means "claude".
	Name string
	// Run is the run id that marks the processes of Ask; attempts have their own.
	Run string
	// Judge returns the judge of the tool calls of a turn; nil: the policy has no objection to any call.
	Judge func(runner.TurnRequest) policy.Judge
	// Person decides on calls that the policy leaves to a person, and says why it denies one; nil: all are denied. It
	// may block until ctx ends, and is safe for concurrent use.
	Person func(ctx context.Context, q policy.Question, timeout time.Duration) (allowed bool, why string)
	// Prices prices attempts that end without a result line, and checks the figures of the CLI.
	Prices Pricer
	// Grace bounds the life of the process after its result line; 0: 10 s.
	Grace time.Duration
	// StopWait bounds each step of stopping an attempt.
	StopWait StopWait
	// NewSession returns the id of a session that replaces one that the CLI refuses; nil: random
	// UUIDs.
	NewSession func() string

	protocolSeen atomic.Bool // a process has printed a line of the CLI's protocol
}

// program returns Argv, with the file that Find returns if its own is gone.
func (a *Agent) program() []string {
	if a.Find == nil || len(a.Argv) == 0 {
		return slices.Clone(a.Argv)
	}
	if _, err := os.Stat(a.Argv[0]); errors.Is(err, fs.ErrNotExist) {
		if found, err := a.Find(); err == nil {
			return append([]string{found}, a.Argv[1:]...)
		}
	}
	return slices.Clone(a.Argv)
}
