// Package lazy puts work off until its result is asked for. A pattern that is compiled
// before main costs every command its time, wavex hook too, which a session waits for.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp is regexp.MustCompile at the first call of what it returns, which may be called
// from many goroutines at once.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
