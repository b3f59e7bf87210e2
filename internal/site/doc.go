// Package site is where a run's attempts work and what becomes of their work, as the
// scheduler sees it: it puts the workspace and the checkpoints between the loop and the
// runner, brings the work of a wave together, and hands it over, also between sessions.
// What trees, commits and merges are is package workspace's; when, the scheduler's.
package site
