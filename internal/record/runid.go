package record

import (
	"crypto/rand"
	"strings"
	"time"
)

// NewID names a run: sortable by its start, and unlike any other.
func NewID(now time.Time) string {
	return now.UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:4])
}

// IsID tells whether a text has the form of a run's id.
func IsID(text string) bool {
	day, rest, ok := strings.Cut(text, "-")
	clock, luck, ok2 := strings.Cut(rest, "-")
	_, err := time.Parse("20060102-150405", day+"-"+clock)
	return ok && ok2 && err == nil && len(luck) == 4 && strings.Trim(luck, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}
