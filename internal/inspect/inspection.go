// Package inspect verifies the work of a plan from outside a session: it makes every check, looks at
// the plan's links, records the consequences for the run, and turns gaps into tasks of it. It runs
// no agent.
package inspect

import (
	"context"
	"io"
	"os"

	"github.com/google/renameio/v2/maybe"

	"wavex/internal/check"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/runlog"
	"wavex/internal/safefile"
	"wavex/scheduler"
)

// Inspection holds the plan to verify, and its run if there is one.
type Inspection struct {
	Plan     *plan.Plan
	State    *scheduler.State // nil if there was no run
	Events   []event.Event
	Dir      string      // of the project, absolute
	Known    []Gap       // found elsewhere, and included in the result
	Redactor interface { // removes secrets
		Bytes(b []byte) []byte
		String(s string) string
	}
	Warn io.Writer // receives messages for people, one per line

	workDir          string                    // Dir, or another directory that holds the run's work
	gapChecks        map[string]plan.Check     // the check of a gap, by the gap's key
	criteriaEvidence map[string]check.Evidence // the evidence for criteria, by the criterion's id
}

// Run verifies the work, keeps the result, and calls then, unless it is nil, while no run can
// begin. The error is a *journal.LockedError if a run is under way.
func (a *Inspection) Run(ctx context.Context, then func(*Document) error) (*Document, error) {
	unlock, err := a.lockLoop()
	if err != nil {
		return nil, err
	}
	defer unlock()
	a.workDir = a.Dir
	var doc *Document
	err = a.withWork(ctx, func() (err error) {
		doc, err = a.findGaps(ctx)
		return err
	})
	if err == nil {
		err = a.writeDocument(doc)
	}
	if err == nil {
		err = a.journalResult(doc)
	}
	if err == nil && then != nil {
		err = then(doc)
	}
	return doc, err
}

// lockLoop prevents runs while checks are made in the directory.
func (a *Inspection) lockLoop() (func(), error) {
	if st, err := os.Stat(string(loop.In(a.Dir))); err != nil || !st.IsDir() {
		return func() {}, nil
	}
	lock, err := runlog.Lock(loop.In(a.Dir), "")
	if err != nil {
		return nil, err
	}
	return func() { _ = lock.Unlock() }, nil
}

// writeDocument writes VERIFICATION.md if there is a .loop.
func (a *Inspection) writeDocument(doc *Document) error {
	if st, err := os.Stat(string(loop.In(a.Dir))); err != nil || !st.IsDir() {
		return nil
	}
	if err := safefile.CheckPath(string(loop.In(a.Dir))); err != nil {
		return err
	}
	return maybe.WriteFile(loop.In(a.Dir).Path(loop.Verification), a.Redactor.Bytes([]byte(doc.Markdown())), 0o600)
}
