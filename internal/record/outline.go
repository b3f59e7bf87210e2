package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/secret"
	"wavex/internal/wary"
)

// This file keeps the outline of a run's plan in .loop, so that a run can be shown and
// given up when its plan was moved or edited, and an edit can be told. Nothing is decided
// by it: what runs is the plan's file.

// outlinePath is where the outline of a run's plan is.
func outlinePath(loop, run string) string {
	return filepath.Join(loop, "runs", run, "plan.jsonl")
}

// KeepPlan keeps the outline of a run's plan, without secrets. A task list is none: the run
// itself changes it. It is replaced at once, but not made durable: without it wavex reads
// the plan's file, and one that is not whole is none.
func KeepPlan(loop, run string, p *plan.Plan, secrets *secret.Redactor) (err error) {
	if planfile.IsList(p.Path) {
		return nil
	}
	path := outlinePath(loop, run)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	to, err := os.CreateTemp(filepath.Dir(path), ".plan-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(to.Name())
		}
	}()
	w := secrets.Writer(to)
	err = errors.Join(p.Outline(w), w.Close(), to.Close())
	if errors.Is(err, plan.ErrLarge) {
		_ = os.Remove(to.Name())
		return nil // then it is read from its file
	}
	if err != nil {
		return fmt.Errorf("keeping the outline of the plan: %w", err)
	}
	return os.Rename(to.Name(), path)
}

// KeptPlan is the outline of the plan that a run had in its last session; nil where there is none.
func KeptPlan(loop, run string) *plan.Plan {
	f, err := wary.Open(outlinePath(loop, run))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // read only
	p, err := plan.ReadOutline(f)
	if err != nil {
		return nil // of another version, or cut short
	}
	return p
}
