package runlog

import (
	"crypto/rand"
	"strings"
	"time"
)

// NewID returns a new unique id of a run. Ids sort by time.
func NewID(now time.Time) string {
	return now.UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:4])
}

// ValidID reports whether a text has the form of a run's id.
func ValidID(text string) bool {
	day, rest, ok := strings.Cut(text, "-")
	clock, suffix, ok2 := strings.Cut(rest, "-")
	_, err := time.Parse("20060102-150405", day+"-"+clock)
	return ok && ok2 && err == nil && len(suffix) == 4 &&
		strings.Trim(suffix, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}
