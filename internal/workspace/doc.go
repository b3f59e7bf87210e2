// Package workspace provides the scheduler's view of the directories in which a run's attempts work: it
// puts the workspace and the checkpoints between the loop and the runner, integrates the work of a
// wave, and delivers it, also between sessions. Package workspace implements trees, commits and
// merges; the scheduler decides when to use them.
package workspace
