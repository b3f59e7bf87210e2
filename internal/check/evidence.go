package check

import (
	"slices"
	"time"
)

// Evidence is the result of one check. Its texts are bounded: head and tail of at most 2 KB
// together.
type Evidence struct {
	Check    string        `json:"check"` // in the form that a person writes: the command, or `FILE contains "TEXT"`
	Kind     string        `json:"kind"`  // verification type: "execution output"
	Passed   bool          `json:"passed"`
	ExitCode int           `json:"exit_code"` // of a command; -1 if it did not start or was killed
	Duration time.Duration `json:"duration"`
	Output   string        `json:"output,omitempty" secret:"text"` // head and tail of stdout and stderr together, in order
	Reason   string        `json:"reason,omitempty" secret:"text"` // the cause of a failure or of Flaky, one line
	Digest   string        `json:"digest,omitempty"`               // of a command: sha256 of all its output, hex
	// Flaky means that the check failed and passed on the same files. Empty says why no test seems to have run in a check
	// that passed.
	Flaky bool   `json:"flaky,omitempty"`
	Empty string `json:"empty,omitempty"`

	Whole string `json:"-"` // of a command that ran now: its output up to MaxOutput, else the head and the tail
}

// The kinds of evidence: the output and exit code of a command, and the content of a file.
const (
	KindExecution   = "execution output"
	KindObservation = "observation"
)

// maxReason bounds a Reason, in bytes.
const maxReason = 300

// Passed reports whether there is evidence and all of it passed.
func Passed(evidence []Evidence) bool {
	return len(evidence) > 0 && !slices.ContainsFunc(evidence, func(e Evidence) bool { return !e.Passed })
}
