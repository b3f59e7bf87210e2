// Package check obtains evidence: it runs check commands and reads files. It ignores all reports
// of agents and changes nothing itself.
package check

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"wavex/internal/plan"
)

// Evidence is the result of one check. Its texts are bounded: head and tail of at most 2 KB
// together.
type Evidence struct {
	Check    string        `json:"check"` // in the form that a person writes: the command, or `FILE contains "TEXT"`
	Kind     string        `json:"kind"`  // verification type: "execution output"
	Passed   bool          `json:"passed"`
	ExitCode int           `json:"exit_code"` // of a command; -1 if it did not start or was killed
	Duration time.Duration `json:"duration"`
	Output   string        `json:"output,omitempty"` // head and tail of stdout and stderr together, in order
	Reason   string        `json:"reason,omitempty"` // the cause of a failure, one line
	Digest   string        `json:"digest,omitempty"` // of a command: sha256 of all its output, hex
}

// The kinds of evidence: the output and exit code of a command, and the content of a file.
const (
	KindExecution   = "execution output"
	KindObservation = "observation"
)

// DefaultTimeout is the timeout of a check command without one.
const DefaultTimeout = 10 * time.Minute

// ErrCheckTimeout is the cause if a check command exceeds its timeout.
var ErrCheckTimeout = errors.New("check timed out")

// Run makes the checks one after the other, in order, and always returns one Evidence for each.
// Files are relative to dir; commands run in dir with exactly env (see proc.Environ).
// WAVEX_ATTEMPT in env is the mark by which their leftovers are swept.
//
// The error is not nil only if ctx was done first: it is context.Cause(ctx). The evidence of
// interrupted and remaining checks then has Passed false and a Reason. A check that cannot be
// made (no shell, unreadable file) has failed.
func Run(ctx context.Context, dir string, env []string, checks []plan.Check) ([]Evidence, error) {
	out := make([]Evidence, len(checks))
	for i, c := range checks {
		out[i] = Evidence{Check: Describe(c), Kind: KindObservation, ExitCode: 0}
		if c.Run != "" {
			out[i].Kind = KindExecution
		}
		if err := context.Cause(ctx); err != nil {
			out[i].ExitCode = -1
			out[i].Reason = OneLine("not run: "+err.Error(), maxReason)
			continue
		}
		began := time.Now()
		if c.Run != "" {
			checkCommand(ctx, dir, env, c, &out[i])
		} else {
			checkFile(dir, c, &out[i])
		}
		out[i].Duration = time.Since(began)
	}
	return out, context.Cause(ctx)
}

// maxReason bounds a Reason, in bytes.
const maxReason = 300

// Passed reports whether there is evidence and all of it passed.
func Passed(evidence []Evidence) bool {
	for _, e := range evidence {
		if !e.Passed {
			return false
		}
	}
	return len(evidence) > 0
}

// Describe returns a check in the form that a person writes.
func Describe(c plan.Check) string {
	switch {
	case c.Run != "":
		return c.Run
	case c.Contains != "":
		return fmt.Sprintf("%s contains %q", c.File, c.Contains)
	case c.Matches != "":
		return fmt.Sprintf("%s matches /%s/", c.File, c.Matches)
	default:
		return c.File + " exists"
	}
}

// resolvePath returns the path of a check's file on this machine.
func resolvePath(dir, file string) string {
	file = filepath.FromSlash(strings.TrimSpace(file))
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}
