// Package audit verifies the work of a plan from outside a session: it makes every check, scans
// the work for gaps, records the consequences for the run, and turns gaps into tasks of it. It
// runs no agent; package gaps defines the gaps.
package audit

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2/maybe"

	"wavex/internal/gaps"
	"wavex/internal/plan"
	"wavex/internal/record"
	"wavex/internal/secret"
	"wavex/internal/verify"
	"wavex/scheduler"
)

// Audit holds the plan to verify, and its run if there is one.
type Audit struct {
	Plan    *plan.Plan
	State   *scheduler.State // nil if there was no run
	Events  []scheduler.Event
	Dir     string     // of the project, absolute
	Known   []gaps.Gap // found elsewhere, and included in the result
	Secrets *secret.Redactor
	Warn    io.Writer // receives messages for people, one per line

	at    string                     // Dir, or another directory that holds the run's work
	asked map[string]plan.Check      // the check of a gap, by the gap's key
	shown map[string]verify.Evidence // the evidence for criteria, by the criterion's id
}

// Make verifies the work, keeps the result, and calls then, unless it is nil, while no run can
// begin. The error is a *journal.LockedError if a run is under way.
func (a *Audit) Make(ctx context.Context, then func(*gaps.Document) error) (*gaps.Document, error) {
	unlock, err := a.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	a.at = a.Dir
	var doc *gaps.Document
	err = a.within(ctx, func() (err error) {
		doc, err = a.look(ctx)
		return err
	})
	if err == nil {
		err = a.keep(doc)
	}
	if err == nil {
		err = a.settle(doc)
	}
	if err == nil && then != nil {
		err = then(doc)
	}
	return doc, err
}

// Loop returns the path of the .loop directory, which may be missing.
func (a *Audit) Loop() string { return filepath.Join(a.Dir, ".loop") }

// lock prevents runs while checks are made in the directory.
func (a *Audit) lock() (func(), error) {
	if st, err := os.Stat(a.Loop()); err != nil || !st.IsDir() {
		return func() {}, nil
	}
	lock, err := record.Hold(a.Loop(), "")
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Unlock() }, nil
}

// keep writes VERIFICATION.md if there is a .loop.
func (a *Audit) keep(doc *gaps.Document) error {
	if st, err := os.Stat(a.Loop()); err != nil || !st.IsDir() {
		return nil
	}
	return maybe.WriteFile(filepath.Join(a.Loop(), "VERIFICATION.md"), a.Secrets.Bytes([]byte(doc.Markdown())), 0o600)
}
