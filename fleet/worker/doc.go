// Package worker makes attempts for runs of other machines. For each attempt it checks the request, brings the commits
// here, makes the attempt in a worktree as on the machine of the run, pushes work and logs, and tells the result. It
// does not know the engine that hands it attempts, and it decides nothing about what follows.
//
// # Signs of life
//
// While an attempt is here, a pulse tells the engine so, twelve times in each heartbeat. The engine gives up an attempt
// that is silent for a heartbeat, and its run starts another one. So a worker that could not reach the engine for nine
// tenths of a heartbeat stops the attempt itself: at no time do two attempts at a task edit. The pulse beats until the
// result is told, also while a cancelled attempt ends.
//
// # Files
//
// Options.Dir has a repository for each git remote, with the attempts' worktrees, logs and old versions of files in its
// .loop as in a project. HEAD of such a repository is an empty commit: nothing is checked out but the worktrees.
//
// # Marks
//
// The processes of attempts carry the worker's mark and not that of the run. So a sweep of the run on the same machine
// spares them, and one sweep ends those of all runs of a worker that was killed.
package worker
