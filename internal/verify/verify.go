// Package verify obtains evidence: it runs check commands and looks at files. It
// trusts nobody's report and changes nothing itself.
package verify

import "time"

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
}
