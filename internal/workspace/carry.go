package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"

	"wavex/internal/event"
	"wavex/internal/gitwork"
)

// This file restores the files of a shared directory from .loop in a fresh clone.

// RestoreShared restores the files of a run in a shared directory, if this clone is not the last one where it ran. base
// is the commit that the run began on, and plan the absolute path of the plan's file, which is not restored. It says
// which files it restored and which not. fresh reports that the directory may lack work of the run; it does so until
// the first attempt here, since a session may end before it has looked at that work.
func (t *Workspace) RestoreShared(ctx context.Context, base, plan string, say func(string)) (fresh bool, err error) {
	points, err := gitwork.OpenCheckpoints(ctx, t.config.Dir, t.config.Run, os.Environ())
	var none *gitwork.Error
	if errors.As(err, &none) {
		return false, nil // nothing tells one directory from another
	}
	if err != nil {
		return false, err
	}
	ran, err := points.RanHere(ctx)
	if err != nil {
		return false, err
	}
	if err := points.OpenBundles(t.config.Loop, base); err != nil {
		return !ran, err
	}
	got, err := points.RestoreCarried(ctx, plan, ran)
	if err != nil || got == nil {
		return !ran, err
	}
	if got.Files > 0 {
		say(fmt.Sprintf("the files of the run were not in this clone: %d restored from .loop", got.Files))
	}
	if len(got.Differ) > 0 {
		say("not restored, because others have changed them here: " + event.ListTasks(got.Differ, 0))
	}
	if got.Plan {
		say("not restored: the plan, which the run had changed; the one of this clone applies")
	}
	return true, nil
}
