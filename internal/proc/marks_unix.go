//go:build unix

package proc

import "strings"

// hasMark reports whether a process with the marks run and attempt belongs to mark: to the
// attempt of that name, or to the run, even if only the attempt names it.
func hasMark(mark, run, attempt string) bool {
	return mark != "" && (run == mark || attempt == mark || strings.HasPrefix(attempt, mark+"/"))
}

// parseMarks returns the marks in an environment. The first value of a name counts, as in getenv.
func parseMarks[T string | []byte](env []T) (run, attempt string) {
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
