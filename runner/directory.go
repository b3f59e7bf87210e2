package runner

import (
	"context"

	"wavex/internal/filetree"
	"wavex/internal/plan"
)

// Directory is a directory in which several attempts may work at the same time. Its methods are safe for concurrent
// use. An error is the cause of the end of ctx.
type Directory interface {
	// Edit waits until an attempt may edit. The caller must call end after the edits. Until then edited may be called
	// from any goroutine, and reports whether the attempt may have changed a file. left has the files of Leave.
	Edit(ctx context.Context, edited func(left filetree.Tree) bool) (end func(), err error)
	// Leave notes the states in now in which an attempt leaves the files that its task declares, after end.
	Leave(files []string, now filetree.Tree)
	// Check calls run, which makes checks, at the given time. It reports whether run was called and no attempt
	// could edit meanwhile; with Undisturbed, whether no attempt that still edits has changed a file.
	Check(ctx context.Context, when CheckTime, run func()) (alone bool, err error)
	// ChangesFiles reports whether checks are known to change files of the directory.
	ChangesFiles(checks []plan.Check) bool
	// Learn notes whether checks changed files while no attempt could edit.
	Learn(checks []plan.Check, changesFiles bool)
}

// CheckTime says when checks run in a directory.
type CheckTime int

// These are the times of checks.
const (
	AtOnce      CheckTime = iota // also beside attempts that edit
	IfQuiet                      // only if no attempt edits now
	Undisturbed                  // only if no attempt that edits has changed a file
	WhenQuiet                    // as soon as no attempt edits; attempts that begin to edit later wait
)

// privateDirectory is a directory in which no other attempt works.
type privateDirectory struct{}

func (privateDirectory) Edit(context.Context, func(filetree.Tree) bool) (func(), error) {
	return func() {}, nil
}

func (privateDirectory) Leave([]string, filetree.Tree) {}

func (privateDirectory) Check(_ context.Context, _ CheckTime, run func()) (bool, error) {
	run()
	return true, nil
}

func (privateDirectory) ChangesFiles([]plan.Check) bool { return false }

func (privateDirectory) Learn([]plan.Check, bool) {}
