// Package audit verifies the work of a plan from outside of a session: it makes every
// check now, looks through the work for gaps, puts on record what that means for the run,
// and turns gaps into tasks of it. It runs no agent; what a gap is, package gaps knows.
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

// Audit is the plan, and the run where there is one, that are looked at.
type Audit struct {
	Plan    *plan.Plan
	State   *scheduler.State // nil: there was no run
	Events  []scheduler.Event
	Dir     string     // of the project, absolute
	Known   []gaps.Gap // found elsewhere, and taken up as well
	Secrets *secret.Redactor
	Warn    io.Writer // told what people should know, a line each

	at    string                     // Dir, or a directory in its place that holds the run's work
	asked map[string]plan.Check      // the check that a gap is of, by the gap's key
	shown map[string]verify.Evidence // what checks of criteria showed, by the criterion's id
}

// Make looks, keeps what it finds, and does what else is to be done while no run can
// begin; then may be nil. The error is a *journal.LockedError while a run is under way.
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

// Loop is the .loop directory, which need not be there.
func (a *Audit) Loop() string { return filepath.Join(a.Dir, ".loop") }

// lock keeps a run away while checks are made in its directory.
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

// keep writes VERIFICATION.md where there is a .loop.
func (a *Audit) keep(doc *gaps.Document) error {
	if st, err := os.Stat(a.Loop()); err != nil || !st.IsDir() {
		return nil
	}
	return maybe.WriteFile(filepath.Join(a.Loop(), "VERIFICATION.md"), a.Secrets.Bytes([]byte(doc.Markdown())), 0o600)
}
