// Package gitwork provides the directories in which the attempts of a run work: the user's
// directory, shared, or a git worktree for each task. It commits the work of a task, combines the
// commits of a wave, checks the combined tree, finds the tasks that make it fail, and delivers the
// result. It does not schedule tasks and starts no agent.
//
// # Names
//
// A run uses these names in the repository and no others. Two runs never share a name:
//
//	wavex/RUN                     branch: the integrated work; the delivery
//	wavex/RUN.tasks/TASK          branch that a task's worktree is on
//	refs/wavex/RUN/TASK           the task's last commit
//	refs/wavex/RUN.kept/TASK/ID   other work of a task: earlier tries, an agent's own commits
//	refs/wavex/RUN.kept/checkout  files that a killed delivery had written in part
//	refs/wavex/RUN.run/base, tip  the commit where the run began, and the integrated work
//	refs/wavex/RUN.run/wave-KEY   the result of one integration
//	refs/wavex/RUN.here           in a clone where a run has worked in the shared directory
//	refs/wavex/RUN.points/...     checkpoints of the shared directory, and backups of rollbacks
//
// The branches of tasks are not named wavex/RUN/TASK because git allows no branch below another
// branch.
//
// # Durability
//
// Before wavex resets or removes a worktree, everything in it that git does not ignore is in a
// commit below refs/wavex. The tip moves only after the record of its integration is on disk. An
// interrupted integration is repeated from the same commits with the same dates, and therefore
// produces the same commit.
//
// Until Deliver the user's checkout is only read, with optional locks off.
package gitwork
