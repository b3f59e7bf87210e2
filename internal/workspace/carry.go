package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/secret"
)

// This file saves the files of a shared directory in .loop, and restores them in a fresh clone.

// carriesFiles reports whether the files of a run are saved: making them again would cost money.
func carriesFiles(p *plan.Plan) bool {
	for i := range p.Tasks {
		if p.Tasks[i].Command == "" {
			return true
		}
	}
	return false
}

// RestoreShared restores the files of a run in a shared directory, if this clone is not the one where it ran. base is
// the commit that the run began on, and plan the absolute path of the plan's file, which is not restored. It says which
// files it restored and which not. fresh reports that the directory may lack work of the run; it does so until the
// first attempt here, since a session may end before it has looked at that work.
func (t *Workspace) RestoreShared(ctx context.Context, base, plan string, say func(string)) (fresh bool, err error) {
	points, err := gitwork.OpenCheckpoints(ctx, t.config.Dir, t.config.Run, os.Environ())
	var none *gitwork.Error
	if errors.As(err, &none) {
		return false, nil // nothing tells one directory from another
	}
	if err != nil {
		return false, err
	}
	if has, err := points.RanHere(ctx); has || err != nil {
		return false, err
	}
	if err := points.OpenBundles(t.config.Loop, base); err != nil {
		return true, err
	}
	got, err := points.RestoreCarried(ctx, plan)
	if err != nil || got == nil {
		return true, err
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

// carrier saves the files of a run in .loop; nil: it saves none. Its methods are safe for concurrent use.
type carrier struct {
	dir  loop.Dir
	base string // the commit that the run began on
	warn func(error)

	mu    sync.Mutex
	saved map[int]func() // each saves the files before a wave once
}

// newCarrier returns the carrier of a run of p, or nil if its files are not saved.
func newCarrier(p *plan.Plan, dir loop.Dir, base string, warn func(error)) *carrier {
	if base == "" || !carriesFiles(p) {
		return nil
	}
	return &carrier{dir: dir, base: base, warn: warn, saved: map[int]func(){}}
}

func (c *carrier) open(points *gitwork.Checkpoints) error {
	if c == nil {
		return nil
	}
	secrets := secret.New(os.Environ())
	points.HasSecret = func(text []byte) bool { return !bytes.Equal(secrets.Bytes(text), text) }
	points.SecretLeft = func(path string) {
		c.warn(fmt.Errorf("%s has a secret and is not saved in %s: a fresh clone that continues the run lacks it", path,
			loop.Name))
	}
	return points.OpenBundles(c.dir, c.base)
}

// beforeWave saves the files before a wave other than the first begins. Concurrent calls for one wave wait for it.
func (c *carrier) beforeWave(ctx context.Context, points *gitwork.Checkpoints, wave int) {
	if c == nil || wave == 1 {
		return
	}
	c.mu.Lock()
	save := c.saved[wave]
	if save == nil {
		save = sync.OnceFunc(func() {
			if err := points.Carry(ctx); err != nil && context.Cause(ctx) == nil {
				c.warn(err)
			}
		})
		c.saved[wave] = save
	}
	c.mu.Unlock()
	save()
}

// atEnd saves the files at the end of a session.
func (c *carrier) atEnd(ctx context.Context, points *gitwork.Checkpoints) error {
	if c == nil {
		return nil
	}
	return points.Carry(ctx)
}
