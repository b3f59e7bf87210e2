// Package verify obtains evidence: it runs check commands and looks at files. It
// trusts nobody's report and changes nothing itself.
package verify

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"wavex/internal/plan"
)

// Evidence is what one check showed. Texts are bounded: head and tail of at most
// 2 KB together.
type Evidence struct {
	Check    string        `json:"check"` // as a person would write it: the command, or `FILE contains "TEXT"`
	Kind     string        `json:"kind"`  // verification type: "execution output"
	Passed   bool          `json:"passed"`
	ExitCode int           `json:"exit_code"` // of a command; -1: it did not start or was killed
	Duration time.Duration `json:"duration"`
	Output   string        `json:"output,omitempty"` // head and tail of stdout and stderr together, in order
	Reason   string        `json:"reason,omitempty"` // why it failed, one line
	Digest   string        `json:"digest,omitempty"` // of a command: sha256 of all it printed, hex
}

// The kinds of evidence: what a command printed and returned, and what a file shows.
const (
	KindExecution   = "execution output"
	KindObservation = "observation"
)

// DefaultTimeout is that of a check command that names none.
const DefaultTimeout = 10 * time.Minute

// ErrCheckTimeout is the cause when a check command took longer than its timeout.
var ErrCheckTimeout = errors.New("check timed out")

// Run obtains evidence for each check, one after the other, in order; the answer
// has one Evidence for each check, always. Files are relative to dir, commands run in
// it with exactly env (see proc.Environ); WAVEX_ATTEMPT in env is the mark
// by which what they leave behind is swept.
//
// The error is not nil only when ctx ended first: it is context.Cause(ctx), and the
// evidence of the checks that it cut short or kept from running has Passed false and
// says so. A check that cannot be obtained (no shell, unreadable file) has failed.
func Run(ctx context.Context, dir string, env []string, checks []plan.Check) ([]Evidence, error) {
	out := make([]Evidence, len(checks))
	for i, c := range checks {
		out[i] = Evidence{Check: Describe(c), Kind: KindObservation, ExitCode: 0}
		if c.Run != "" {
			out[i].Kind = KindExecution
		}
		if err := context.Cause(ctx); err != nil {
			out[i].ExitCode = -1
			out[i].Reason = OneLine("not run: "+err.Error(), reasonMax)
			continue
		}
		began := time.Now()
		if c.Run != "" {
			runCommand(ctx, dir, env, c, &out[i])
		} else {
			lookAt(dir, c, &out[i])
		}
		out[i].Duration = time.Since(began)
	}
	return out, context.Cause(ctx)
}

// reasonMax bounds a Reason, in bytes.
const reasonMax = 300

// Passed tells whether there is evidence and all of it is good.
func Passed(evidence []Evidence) bool {
	for _, e := range evidence {
		if !e.Passed {
			return false
		}
	}
	return len(evidence) > 0
}

// Describe says what a check asks for, as a person would write it.
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

// place is where a check's file is on this machine.
func place(dir, file string) string {
	file = filepath.FromSlash(strings.TrimSpace(file))
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}
