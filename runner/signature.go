package runner

import (
	"regexp"
	"strings"

	"wavex/internal/lazyregexp"
	"wavex/internal/textfmt"
)

// Signature reduces an error to the part that is equal in each occurrence: message and location
// without digits, times, hexadecimal, directories and colours. The reason alone is often only "exit
// code 1", so the lines of detail that name an error are added. Equal signatures mean "the same
// error"; "" means no error.
func Signature(reason, detail string) string {
	var parts []string
	if r := normalise(reason); r != "" {
		parts = append(parts, r)
	}
	for line := range strings.Lines(detail) {
		if len(parts) > 3 {
			break
		}
		if !errorLine().MatchString(line) {
			continue
		}
		if l := normalise(line); l != "" && !strings.Contains(strings.Join(parts, " | "), l) {
			parts = append(parts, l)
		}
	}
	return textfmt.OneLine(strings.Join(parts, " | "), 300)
}

// errorLine finds the lines of an output that name an error.
var errorLine = lazyregexp.New(`(?i)error|fail|panic|fatal|exception|undefined|cannot|not found|expected|assert|denied|missing|mismatch|\bwant\b`)

// normalise removes the parts that differ between two occurrences of one error. Order matters: times
// before digits, directories before their names lose digits.
func normalise(s string) string {
	for _, r := range variableParts {
		s = r.find().ReplaceAllString(s, r.put)
	}
	return strings.ToLower(strings.Join(strings.Fields(s), " "))
}

var variableParts = []struct {
	find func() *regexp.Regexp
	put  string
}{
	{lazyregexp.New(`\x1b\[[0-9;?]*[a-zA-Z]`), ""},                                               // colours
	{lazyregexp.New(`\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?)?(Z|[+-]\d\d:?\d\d)?`), ""}, // dates
	{lazyregexp.New(`\b\d{1,2}:\d\d:\d\d([.,]\d+)?\b`), ""},                                      // times of day
	{lazyregexp.New(`(?i)\b\d+(\.\d+)?\s?(ns|µs|us|ms|s|sec|seconds|m|min|h)\b`), ""},            // durations
	{lazyregexp.New(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), ""}, // UUIDs
	{lazyregexp.New(`(?i)\b0x[0-9a-f]+\b`), ""},                                                  // addresses
	{lazyregexp.New(`(?i)\b[0-9a-f]*\d[0-9a-f]*[a-f][0-9a-f]*\b`), ""},                           // digests
	{lazyregexp.New(`([A-Za-z]:)?(\.{0,2}[/\\][\w.@+~-]+)*[/\\]`), ""},                           // directories
	{lazyregexp.New(`\d+`), ""},
}
