package cmd

import (
	"slices"
	"strings"
)

// This file says for each flag of a run which settings files may have it. docs/settings.md has the same table.

// class says which settings files may have a flag.
type class string

const (
	free     class = "free"      // every file
	told     class = "told"      // every file; a new run says what the project's has, since it weakens a check or a limit
	userOnly class = "user only" // not the project's, with which it would widen the rights of a run
	once     class = "one run"   // none: the flag is a choice for one run
)

// classes lists the flags of each class.
var classes = map[class]string{
	free: "ascii ci counsel-chair fail-fast output plain retry-session schedule stagger status-block workflow",
	told: "allow-short attempt-memory budget counsel counsel-block counsel-holdout counsel-threshold deliver grace " +
		"isolation judge max-fix-rounds max-iterations max-retries max-review-rounds max-tokens mode on-signal parallel " +
		"precheck review run-memory shape share-task-list wait-for-reset wall-clock wave-budget",
	userOnly: "accept-assumptions agent auto-learn claude counsel-via if-unfinished no-verify prices report scenario " +
		"track trust webhook yes",
	once: "accept-plan fix force fresh gaps interactive resume spec-score task-list",
}

// classOf returns the class of a flag, or "" if it has none: then no project may set it.
func classOf(flag string) class {
	for c, names := range classes {
		if slices.Contains(strings.Fields(names), flag) {
			return c
		}
	}
	return ""
}
