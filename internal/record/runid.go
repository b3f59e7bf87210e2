package record

import (
	"crypto/rand"
	"strings"
	"time"
)

// NewID returns a new unique id of a run. Ids sort by time.
func NewID(now time.Time) string {
	return now.UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:4])
}

// IsID reports whether a text has the form of a run's id.
func IsID(text string) bool {
	day, rest, ok := strings.Cut(text, "-")
	clock, luck, ok2 := strings.Cut(rest, "-")
	_, err := time.Parse("20060102-150405", day+"-"+clock)
	return ok && ok2 && err == nil && len(luck) == 4 && strings.Trim(luck, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}
