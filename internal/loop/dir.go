// Package loop names the files in .loop. It joins paths and opens no file. docs/loop-files.md describes the files.
package loop

import (
	"path/filepath"
	"strconv"
	"strings"
)

// Name is the name of the directory in a project. The name of a backup has a dot and more behind it.
const Name = ".loop"

// These are in a Dir itself.
const (
	Journal      = "journal.jsonl"
	Lock         = "lock"
	LockHolder   = "holder.json" // identifies the holder of the lock
	WatchdogLock = "guard.lock"
	Gitignore    = ".gitignore"
	WorkflowFile = "workflow-state.json" // this and the next two are derived from the journal
	LinearFile   = "state.json"
	ProgressFile = "PROGRESS.md"
	HookSnapshot = "hook.json" // the facts about the run that hooks need
	HookStreaks  = "hook"      // how often Stop decisions held each session
	Experts      = "experts"   // of the user; they belong to no run
	Plan         = "plan.json" // made of a request
	Shape        = "shape/SHAPE.md"
	Verification = "VERIFICATION.md" // the gaps that `wavex verify` found
	Learnings    = "learnings.pending.jsonl"
	Worktrees    = "worktrees"
	Trash        = "worktrees/trash" // worktrees that are being deleted
	Outputs      = "outputs"         // large structured results of tasks, by their digests
	Runs         = "runs"
)

// These are in the directory of a run or of a request.
const (
	Outline     = "plan.jsonl" // the outline of the run's plan
	Index       = "index"      // of checkpoints; a session removes it at its beginning and end
	Sessions    = "sessions"   // of the rehearsal agent
	PullRequest = "pull-request.md"
	Request     = "request" // the calls of a request; after the next request also its documents
	Tasks       = "tasks"
	MadeUp      = "made-up"   // a copy of the project, in which a rehearsal makes up work
	Questions   = "questions" // about tool calls, for a person
	Contents    = "contents"  // listings of files, and earlier contents, by their digests
	Outside     = "outside"   // the user's files as tasks changed them
)

// These are in the directory of a task.
const (
	Digests    = "base.json" // of files before the first attempt
	FinalState = "left.json" // digests of files when the last attempt ended
)

// These are in the directory of an attempt, or of one call of an agent. Only the owner can read them.
const (
	PromptFile   = "prompt.md"
	StreamFile   = "stream.jsonl"
	WaitingFile  = "waiting"    // exists while the checks wait for a quiet directory
	WorkerFile   = "worker.txt" // where an attempt runs, and its last sign of life; of attempts on workers
	StderrFile   = "stderr.txt"
	ResultFile   = "result.json"
	OutputFile   = "output.txt"    // of a command task
	RehearseFile = "rehearse.json" // for the rehearsal agent
	SystemFile   = "system.md"     // a system prompt that is too long for an argument
)

// Dir is the path of a .loop directory or of a backup.
type Dir string

// In returns the Dir of a project directory.
func In(project string) Dir { return Dir(filepath.Join(project, Name)) }

// IsName reports whether name is that of a .loop directory or of a backup.
func IsName(name string) bool { return name == Name || strings.HasPrefix(name, Name+".") }

// Path returns the path of a file in d.
func (d Dir) Path(names ...string) string {
	return filepath.Join(append([]string{string(d)}, names...)...)
}

// Run returns the directory of a run or of a request, or with names the path of a file there.
func (d Dir) Run(run string, names ...string) string {
	return d.Path(append([]string{Runs, run}, names...)...)
}

// Task returns the directory of a task, or with names the path of a file there.
func (d Dir) Task(run, task string, names ...string) string {
	return d.Run(run, append([]string{Tasks, task}, names...)...)
}

// Worktree returns the path of a run's file in Worktrees: "json" for its state, "lock" for its lock, "bundles" for the
// directory of its commits, "git" for that of settings and hooks, and the number of a worktree for its directory.
func (d Dir) Worktree(run, suffix string) string { return d.Path(Worktrees, run+"."+suffix) }

// Attempt returns the name of the directory of an attempt in that of its task.
func Attempt(n int) string { return "attempt-" + strconv.Itoa(n) }

// Panel returns the name of the directory of a panel's calls in that of its task.
func Panel(n int) string { return "counsel-" + strconv.Itoa(n) }

// Calls returns the directory of the calls of a review ("review-3"), a verification ("criteria-1") or a pre-check
// ("precheck-T-001-1").
func (d Dir) Calls(run, name string) string {
	if n, ok := strings.CutPrefix(name, "review-"); ok {
		return d.Run(run, "reviews", n)
	}
	return d.Run(run, name)
}
