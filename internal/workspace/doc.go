// Package workspace is where the attempts of a run work: the user's directory, shared,
// or a git worktree for each task. It makes the work a commit, puts the commits of a
// wave together, verifies the whole, finds who spoiled it, and delivers. It decides
// nothing about what runs when, and starts no agent.
//
// # Names
//
// A run owns these names in the repository and no others; another run never meets them:
//
//	wavex/RUN                     branch: what is integrated; the delivery
//	wavex/RUN.tasks/TASK          branch that a task's worktree is on
//	refs/wavex/RUN/TASK           the task's last commit
//	refs/wavex/RUN.kept/TASK/ID   what a task left behind: earlier tries, an agent's own commits
//	refs/wavex/RUN.run/base, tip  where the run began, and what is integrated
//	refs/wavex/RUN.run/wave-KEY   what an integration made
//	refs/wavex/RUN.points/...     checkpoints of the shared directory, and what a rollback replaced
//
// (A branch wavex/RUN/TASK cannot be: git keeps no branch below another branch.)
//
// # What is kept
//
// Nothing is reset or removed before what git would keep of it (everything that is not
// ignored) is a commit below refs/wavex. The tip moves only after the record of its
// integration is on disk; an integration that was cut off is made again, from the same
// commits, with the same dates, and so gives the same commit.
//
// The user's checkout is only read, with optional locks off, until Deliver.
package workspace
