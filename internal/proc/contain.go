package proc

import (
	"errors"
	"strings"
	"time"
)

// ErrUnsupported says that the platform has no such thing.
var ErrUnsupported = errors.New("not supported on this platform")

// ErrLeft says that a sweep ran out of time, or found processes that it may not kill.
var ErrLeft = errors.New("marked processes are still alive")

// sweepTime is how long the sweep after a process goes on against processes that do
// not die (a disk that does not answer) or that multiply.
const sweepTime = 5 * time.Second

// Proc is a process that carries a mark.
type Proc struct {
	Pid     int
	Run     string // its WAVEX_RUN
	Attempt string // its WAVEX_ATTEMPT
	Command string // its arguments, joined by blanks; at most 4 KB
}

// carries tells whether a process with these marks belongs to mark.
func carries(mark, run, attempt string) bool {
	return mark != "" && (run == mark || attempt == mark)
}

// runOf returns the run in a mark: the text before the first slash.
func runOf(mark string) string {
	run, _, _ := strings.Cut(mark, "/")
	return run
}

// marksOf reads the marks from an environment. The first value of a name counts, as
// it does for getenv.
func marksOf[T string | []byte](env []T) (run, attempt string) {
	for _, kv := range env {
		name, value, ok := strings.Cut(string(kv), "=")
		switch {
		case !ok:
		case name == RunVar && run == "":
			run = value
		case name == AttemptVar && attempt == "":
			attempt = value
		}
	}
	return run, attempt
}
