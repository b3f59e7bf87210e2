// Package workspace provides the scheduler's view of the directories in which a run's attempts work: its
// Attempts has the steps around the turn and the checks of an attempt, and its Workspace integrates the work
// of a wave, and delivers it, also between sessions. Package gitwork implements trees, commits and
// merges; the scheduler decides when to use them.
package workspace
