package cmd

import (
	"crypto/rand"
	"strings"
	"time"
)

// runID names a run: sortable by its start, and unlike any other.
func runID(now time.Time) string {
	return now.UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:4])
}
