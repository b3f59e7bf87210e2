package workspace

import (
	"context"
	"fmt"
	"time"

	"wavex/internal/plan"
	"wavex/runner"
)

// The modes of isolation.
const (
	Auto     = "auto"
	Shared   = "shared"
	Worktree = "worktree"
)

// Options say where a run works. They are not changed.
type Options struct {
	Project string // absolute; the project's directory, perhaps below the repository's top
	Loop    string // absolute; the run's .loop
	Run     string // run id, fit for a file name
	Mode    string // auto, shared or worktree; "": auto
	Width   int    // tasks of the widest wave
	// Share lists what is not in git and every worktree needs, relative to Project:
	// "PATH" is linked, "copy:PATH" is copied (copy on write where the disk can).
	Share []string
	// Writes lists paths of the project that tasks are to write; auto stays with the shared
	// directory where git ignores one.
	Writes []string
	// Setup is a shell command for each worktree, run in it before its first task and
	// again when it moves to another commit. What it makes that git ignores stays.
	Setup    string
	NoVerify bool     // commit without the repository's hooks
	Protect  []string // branches that a delivery must not move, as path.Match patterns: "main", "release/*"
	Env      []string // the environment that children's are made from
	Pass     []string // what else of it passes to checks and setup: see proc.EnvironPass
	Now      func() time.Time

	// Own lists absolute paths that do not make the checkout dirty: the plan file.
	Own []string
	// MaxDeletes is how many undeclared deletions a task may commit; 0: 10.
	MaxDeletes int
	// Subject gives the first line of a task's commit; nil: "Task ID".
	Subject func(task string) string
	// Title and Body are of a pull request; Body is an absolute Markdown file.
	Title, Body string
}

// Runner makes one attempt; see scheduler.Runner.
type Runner interface {
	Attempt(ctx context.Context, req runner.Request) runner.Result
}

// Done is a task whose work is verified in its own worktree and waits for integration.
type Done struct {
	Task    string       `json:"task"`
	Subject string       `json:"subject,omitempty"`
	Dir     string       `json:"dir,omitempty"` // where its checks run, absolute, in the project; "": Project
	Checks  []plan.Check `json:"checks,omitempty"`
	Files   []plan.File  `json:"files,omitempty"`
}

// The kinds of Culprit.
const (
	Conflict = "conflict" // changes the same lines as a task before it
	Red      = "red"      // a check fails on the combined tree because of it
	Deletes  = "deletes"  // deletes many files that it did not declare
)

// Culprit is a task that was not integrated, and why.
type Culprit struct {
	Task   string `json:"task"`
	Kind   string `json:"kind"`
	Reason string `json:"reason"`           // one line
	Detail string `json:"detail,omitempty"` // for the next attempt: at most 4 KB
}

// Integration is what became of a wave.
type Integration struct {
	Commit     string   `json:"commit,omitempty"` // of the integrated tree; "" in shared mode
	Integrated []string `json:"integrated,omitempty"`
	// Commits are those of the integrated on the branch wavex/RUN, by task; a task that
	// changed nothing has none.
	Commits  map[string]string `json:"commits,omitempty"`
	Culprits []Culprit         `json:"culprits,omitempty"` // wrong: to be done again on top of Commit
	Held     []Culprit         `json:"held,omitempty"`     // a person must look
	Note     string            `json:"note,omitempty"`
}

// Delivery is where the work of a run is.
type Delivery struct {
	How     string `json:"how"`           // "shared", "none", "branch", "ff", "pr", "patch"
	Ref     string `json:"ref,omitempty"` // the branch or file that holds it
	Commit  string `json:"commit,omitempty"`
	Command string `json:"command,omitempty"` // what brings it where the user is; "" when it is there
	Why     string `json:"why,omitempty"`
}

// Error says what keeps a run from its isolation or a delivery from its place, and
// what a person can do about it.
type Error struct {
	Problem string // one of the Problems
	Text    string // what is wrong
	Fix     string // what to do; "" when there is nothing to say
}

func (e *Error) Error() string {
	if e.Fix == "" {
		return e.Text
	}
	return fmt.Sprintf("%s; %s", e.Text, e.Fix)
}

// The Problems.
const (
	NoGit      = "no-git"     // git is not installed
	TooOld     = "old-git"    // git cannot do what is needed
	NoRepo     = "no-repo"    // the project is in no git checkout
	NoCommit   = "no-commit"  // nothing is committed yet
	InUse      = "in-use"     // another wavex works on this run
	BadShare   = "bad-share"  // a share is not there, outside the project, or tracked by git
	BadMode    = "bad-mode"   // no such mode, or no such way of delivery
	NotForward = "not-ff"     // the branch cannot be fast-forwarded
	Protected  = "protected"  // the branch is protected
	NoRemote   = "no-remote"  // nowhere to push to
	PushFailed = "push"       // git push or gh refused
	BadRun     = "bad-run"    // the run id cannot name a branch
	Incomplete = "incomplete" // the run is not complete
	NoRun      = "no-run"     // nothing of the run is here
)

// Item is something of a run that Clean found.
type Item struct {
	Kind    string `json:"kind"` // "worktree", "branch", "folder"
	Name    string `json:"name"` // path or branch
	Run     string `json:"run"`
	Commit  string `json:"commit,omitempty"`
	Kept    string `json:"kept,omitempty"` // the ref that keeps its commits
	Removed bool   `json:"removed"`        // it is gone; in a dry run: it would be
	Why     string `json:"why,omitempty"`  // why it stays
}
