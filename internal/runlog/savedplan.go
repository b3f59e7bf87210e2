package runlog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/safefile"
	"wavex/internal/secret"
)

// This file stores the outline of a run's plan in .loop. With it a run can be shown and given up after its plan
// was moved or edited, and an edit can be detected. It decides nothing: a run executes the plan's file.

// SavePlan stores the outline of a run's plan, without secrets. It stores none of a task list,
// because the run itself changes the list. The file is replaced atomically without an fsync: if it
// is missing or incomplete, wavex reads the plan's file.
func SavePlan(dir loop.Dir, run string, p *plan.Plan) (err error) {
	if planfile.IsList(p.Path) {
		return nil
	}
	path := dir.Run(run, loop.Outline)
	if err := safefile.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	to, err := safefile.CreateTemp(filepath.Dir(path), ".plan-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = safefile.Remove(to.Name())
		}
	}()
	w := secret.New(os.Environ()).Data().Writer(to)
	err = errors.Join(p.Outline(w), w.Close(), to.Close())
	if errors.Is(err, plan.ErrNoOutline) {
		_ = safefile.Remove(to.Name())
		return nil // then the plan is read from its file
	}
	if err != nil {
		return fmt.Errorf("keeping the outline of the plan: %w", err)
	}
	return safefile.Rename(to.Name(), path)
}

// SavedPlan returns the outline of the plan of the run's last session, or nil if there is none.
func SavedPlan(dir loop.Dir, run string) *plan.Plan {
	f, err := safefile.Open(dir.Run(run, loop.Outline))
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // read only
	p, err := plan.ReadOutline(f)
	if err != nil {
		return nil // another version, or incomplete
	}
	return p
}
