package textfmt

import (
	"regexp"
	"sync"
)

// Pattern returns a function that compiles expr on its first call, like regexp.MustCompile. The function is safe for
// concurrent use. A pattern that is compiled before main costs every command its time, including wavex hook, which a
// session waits for.
func Pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
