//go:build unix

package proc

import "strings"

// carries tells whether a process with these marks belongs to mark: to the attempt of that
// name, or to the run, be it that only its attempt says so.
func carries(mark, run, attempt string) bool {
	return mark != "" && (run == mark || attempt == mark || strings.HasPrefix(attempt, mark+"/"))
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
