// Package ferry carries the commits and the log files of attempts between machines: it pushes them to refs of a git
// remote and fetches them from there. It knows no attempt, no engine and no worktree.
//
// # Names
//
// The refs of a run on the remote are below these names, which are not branches:
//
//	refs/wavex/RUN.base/COMMIT   a commit on which attempts begin, or one with files that they begin with
//	refs/wavex/RUN.away/TASK/N   the work of attempt N, done or not
//	refs/wavex/RUN.logs/TASK/N   its log files
//
// Only attempt N itself writes its refs, so a late push of one that was given up harms no other. Both repositories have
// the same refs as the remote, as far as they were used there. Sweep removes all refs of a run.
package ferry
