package gitwork

import (
	"fmt"
	"time"

	"wavex/internal/loop"
	"wavex/internal/plan"
)

// The modes of isolation.
const (
	Auto     = "auto"
	Shared   = "shared"
	Worktree = "worktree"
)

// Options configures a Manager. The Manager does not change it.
type Options struct {
	Project string   // absolute; the project's directory, perhaps below the repository's top
	Loop    loop.Dir // absolute; the run's .loop
	Run     string   // run id, fit for a file name
	Mark    string   // marks the processes of attempts, setup and hooks; "": Run
	Mode    string   // auto, shared or worktree; "": auto
	Width   int      // tasks of the widest wave
	// Base is a commit that follows HEAD, on which a new run begins; only in worktrees. "": HEAD.
	Base string
	// Share lists paths that are not in git and that every worktree needs, relative to Project:
	// "PATH" is linked, "copy:PATH" is copied (copy on write if the disk supports it).
	Share []string
	// Writes lists paths of the project that tasks will write. Auto chooses the shared directory if
	// git ignores one of them.
	Writes   []string
	Tasks    []string   // ids of all tasks, whose commit messages the repository's hooks must accept
	Setup    plan.Setup // of each worktree; files that it makes and git ignores stay there
	NoVerify bool       // commit without the repository's hooks
	Push     bool       // the branch of the run is pushed: Open takes over work of the run that the remote has
	Protect  []string   // branches that a delivery must not move, as path.Match patterns: "main", "release/*"
	Env      []string   // the environment from which that of children is made
	Pass     []string   // further variables for checks and setup: see proc.Inherit
	// CheckWrapper returns the proc.Spec.Wrapper of the checks in a working tree; nil: none.
	CheckWrapper func(tree string) []string
	Now          func() time.Time
	Warn         func(error) // shows a problem that does not stop the run, from any goroutine; nil: not shown

	// CutOff is the time when the last session of the run began, if it was killed; else zero. See removeSharedLocks.
	CutOff time.Time
	// Record is the run as the journal has it; nil: it is new, or unknown. With it Open repairs the damage of a failure of
	// the machine.
	Record *Record

	// SpareDisk is the number of bytes that must be free on the disk of Loop when worktrees are kept for the next run.
	SpareDisk uint64
	Elsewhere bool // attempts are made on other machines, in worktree mode

	lockWait func() error // for tests, in place of a wait of lockQuiet

	// Own lists absolute paths of files that are not work: the plan, and the outputs of wavex. They do not make the
	// checkout dirty, and no check has changed them.
	Own []string
	// MaxDeletes is the number of undeclared deletions that a task may commit; 0: 10.
	MaxDeletes int
	// Subject returns the first line of a task's commit; nil: "Task ID".
	Subject func(task string) string
	// Title and Body are for a pull request; Body is the absolute path of a Markdown file.
	Title, BodyFile string
}

// VerifiedTask is a task whose work passed its checks in its own worktree and waits for integration.
type VerifiedTask struct {
	Task    string       `json:"task"`
	Subject string       `json:"subject,omitempty"`
	Dir     string       `json:"dir,omitempty"` // where its checks run, absolute, in the project; "": Project
	Checks  []plan.Check `json:"checks,omitempty"`
	Files   []plan.File  `json:"files,omitempty"`
}

// The kinds of Culprit.
const (
	Conflict            = "conflict" // changes the same lines as a task before it
	CheckFailed         = "red"      // a check fails on the combined tree because of it
	UndeclaredDeletions = "deletes"  // deletes many files that it did not declare
)

// Culprit is a task that was not integrated, and the reason.
type Culprit struct {
	Task   string `json:"task"`
	Kind   string `json:"kind"`
	Reason string `json:"reason"`           // one line
	Detail string `json:"detail,omitempty"` // for the next attempt: at most 4 KB
}

// Integration is the result of integrating a wave.
type Integration struct {
	Commit     string   `json:"commit,omitempty"` // of the integrated tree; "" in shared mode
	Integrated []string `json:"integrated,omitempty"`
	// Commits has the commits of the integrated tasks on the branch wavex/RUN, by task. A task
	// without changes has none.
	Commits  map[string]string `json:"commits,omitempty"`
	Culprits []Culprit         `json:"culprits,omitempty"` // wrong: must be done again on top of Commit
	Withheld []Culprit         `json:"held,omitempty"`     // need a person's decision
	Note     string            `json:"note,omitempty"`
}

// Delivery says where the work of a run is.
type Delivery struct {
	How     string `json:"how"`           // "shared", "none", "branch", "ff", "push", "pr"
	Ref     string `json:"ref,omitempty"` // the branch or file that holds it
	Commit  string `json:"commit,omitempty"`
	Command string `json:"command,omitempty"` // brings the work to the user; "" if it is there
	Why     string `json:"why,omitempty"`
}

// Error says why a run cannot have its isolation or a delivery cannot be made, and gives
// advice to a person.
type Error struct {
	Problem string // one of the Problems
	Text    string // the problem, in words
	Fix     string // advice; "" if there is none
}

func (e *Error) Error() string {
	if e.Fix == "" {
		return e.Text
	}
	return fmt.Sprintf("%s; %s", e.Text, e.Fix)
}

// The values of Error.Problem.
const (
	NoGit      = "no-git"     // git is not installed
	TooOld     = "old-git"    // git lacks a feature that is needed
	NoRepo     = "no-repo"    // the project is not in a git checkout
	NoCommit   = "no-commit"  // the repository has no commit yet
	InUse      = "in-use"     // another wavex works on this run
	BadShare   = "bad-share"  // a share does not exist, is outside the project, or is tracked by git
	BadMode    = "bad-mode"   // no such mode, or no such way of delivery
	NotForward = "not-ff"     // the branch cannot be fast-forwarded
	Protected  = "protected"  // the branch is protected
	NoRemote   = "no-remote"  // there is no remote to push to
	PushFailed = "push"       // git push or gh refused
	BadRun     = "bad-run"    // the run id cannot name a branch
	Incomplete = "incomplete" // the run is not complete
	NoRun      = "no-run"     // there is nothing of the run here
	NoCommits  = "no-commits" // commits of the run are not in this repository
	TooLarge   = "too-large"  // a checkpoint would add more than it may

	BadOwner    = "owner"    // git refuses the repository of another user
	OtherRepo   = "other"    // a file that git does not make names another repository
	BadBranch   = "branch"   // the branch wavex prevents branches below it
	BadNames    = "names"    // a checkout cannot have all files, because names differ by case only
	BadFilter   = "filter"   // a filter that files need fails
	NoCheckout  = "checkout" // git cannot make a worktree
	HookRefuses = "hook"     // a hook refuses a commit that no attempt can make better
	Submodules  = "modules"  // submodules are checked out
	NotSigned   = "unsigned" // the user's commits are signed, and those of the run are not
)

// CleanupItem is a part of a run that Clean found.
type CleanupItem struct {
	Kind    string `json:"kind"` // "worktree", "branch", "folder"
	Name    string `json:"name"` // path or branch
	Run     string `json:"run"`
	Commit  string `json:"commit,omitempty"`
	Kept    string `json:"kept,omitempty"` // the ref that contains its commits
	Removed bool   `json:"removed"`        // removed; in a dry run: would be removed
	Why     string `json:"why,omitempty"`  // why it stays
}
