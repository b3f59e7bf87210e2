package gitwork

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"wavex/internal/filetree"
	"wavex/internal/plan"
	"wavex/runner"
)

// This file is the directory that attempts share. Agents edit side by side, and checks run beside them. The
// exceptions are checks that must not see half an edit, where an agent that edits has changed a file, and checks that
// changed files themselves when they last ran in the quiet directory: they wait until no agent edits.

// sharedDir is the user's directory, as a runner.Directory.
type sharedDir struct {
	lock   *sharedLock
	single bool // tasks never run side by side

	mu      sync.Mutex
	writers map[string]bool  // whether checks changed files when they last ran, by checksID
	early   map[*func()]bool // ends the claim on quiet of checks from before an attempt
	editors map[*editor]bool // reports of the attempts that edit whether they have changed a file
	left    filetree.Tree    // the files that attempts left, in the states in which the last one did
	ended   int              // number of attempts whose edits have ended
}

// editor reports whether an attempt that edits may have changed a file. See runner.Directory.
type editor = func(left filetree.Tree) bool

// patience is how long an attempt that is about to edit waits for the checks from before other attempts.
const patience = 5 * time.Second

func newSharedDir(o Options) *sharedDir {
	return &sharedDir{lock: newSharedLock(), single: o.Width < 2, writers: map[string]bool{},
		left: filetree.Tree{}, early: map[*func()]bool{}, editors: map[*editor]bool{}}
}

// Edit implements runner.Directory. Attempts that want to edit wait behind checks that wait for a quiet directory.
func (d *sharedDir) Edit(ctx context.Context, edited editor) (end func(), err error) {
	defer time.AfterFunc(patience, d.giveUpQuiet).Stop()
	leave, err := d.lock.lock(ctx, editing)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.editors[&edited] = true
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.editors, &edited)
		d.ended++
		leave()
	}, nil
}

// Leave implements runner.Directory.
func (d *sharedDir) Leave(files []string, now filetree.Tree) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, file := range files {
		d.left[file] = now[file]
	}
}

// watchEdits returns a function that reports whether no file has changes of an attempt that edits. It also reports
// false if the edits of an attempt ended since the call of watchEdits.
func (d *sharedDir) watchEdits() (undisturbed func() bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	ended := d.ended
	return func() bool {
		d.mu.Lock()
		editors, left, same := slices.Collect(maps.Keys(d.editors)), maps.Clone(d.left), d.ended == ended
		d.mu.Unlock()
		return same && !slices.ContainsFunc(editors, func(edited *editor) bool { return (*edited)(left) })
	}
}

// claimQuiet keeps the directory quiet until the call of leave, or until an attempt has waited long enough to edit.
func (d *sharedDir) claimQuiet() (leave func(), ok bool) {
	end, ok := d.lock.tryCheck()
	if !ok {
		return nil, false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.early[&end] = true
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.early, &end)
		end()
	}, true
}

// giveUpQuiet ends the claims of claimQuiet.
func (d *sharedDir) giveUpQuiet() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for end := range d.early {
		(*end)()
	}
}

// Check implements runner.Directory.
func (d *sharedDir) Check(ctx context.Context, when runner.CheckTime, run func()) (bool, error) {
	quiet := d.lock.watch()
	switch when {
	case runner.AtOnce:
		run()
		return quiet(), nil
	case runner.IfQuiet:
		leave, ok := d.claimQuiet()
		if !ok {
			return false, nil
		}
		defer leave()
	case runner.Undisturbed:
		if quiet = d.watchEdits(); !quiet() {
			return false, nil
		}
	default:
		leave, err := d.lock.lock(ctx, checking)
		if err != nil {
			return false, err
		}
		defer leave()
		quiet = d.lock.watch()
	}
	run()
	return quiet(), nil
}

// ChangesFiles implements runner.Directory.
func (d *sharedDir) ChangesFiles(checks []plan.Check) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.writers[checksID(checks)]
}

// Learn implements runner.Directory. Where tasks never run side by side, no check is known to change files.
func (d *sharedDir) Learn(checks []plan.Check, changesFiles bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writers[checksID(checks)] = changesFiles && !d.single
}

// checksID identifies checks by their commands.
func checksID(checks []plan.Check) string {
	var b strings.Builder
	for _, c := range checks {
		b.WriteString(c.Run + "\x00")
	}
	return b.String()
}
