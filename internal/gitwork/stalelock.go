package gitwork

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wavex/internal/async"
)

// This file removes lock files that a killed git has left. A git that is asked to end removes its own.

// removeStaleLocks removes the lock files of the run's own refs and worktrees. Their owners were killed,
// since this process holds the run's lock.
func (m *Manager) removeStaleLocks(ctx context.Context) error {
	err := m.ownRefFiles(func(path string) error {
		if !strings.HasSuffix(path, ".lock") {
			return nil
		}
		return os.Remove(path)
	})
	for _, t := range m.state.Trees {
		for _, name := range []string{"index.lock", "HEAD.lock"} {
			if m.ownsAdmin(t) {
				err = errors.Join(err, ignoreGone(os.Remove(filepath.Join(t.Admin, name))))
			}
		}
	}
	if err != nil {
		return err
	}
	return m.removeSharedLocks(ctx)
}

// ownRefFiles calls do for the files of the run's refs, with their locks.
func (m *Manager) ownRefFiles(do func(path string) error) error {
	var errs []error
	for _, below := range []string{"refs/wavex/", "refs/heads/wavex/"} {
		for _, suffix := range append([]string{"", ".lock", ".here", ".here.lock"}, refSuffixes...) {
			root := filepath.Join(m.checkout.common, filepath.FromSlash(below+m.opts.Run+suffix))
			if _, err := os.Lstat(root); err != nil {
				continue // there are none
			}
			errs = append(errs, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					err = do(path)
				}
				return ignoreGone(err)
			}))
		}
	}
	return errors.Join(errs...)
}

// lockQuiet is how long a lock file must not change to count as left by a git that was killed. A git that is asked to
// end removes its own, and one at work holds them for moments.
const lockQuiet = 5 * time.Second

// removeSharedLocks removes the lock files of the repository and the checkout, which any git may hold, if the last
// session of the run was killed, the files were made since then, and none of them changes for a while. The next session
// tries again to remove one that stays. Only the first call does anything.
func (m *Manager) removeSharedLocks(ctx context.Context) error {
	if m.opts.CutOff.IsZero() || m.repaired.locks {
		return nil
	}
	m.repaired.locks, m.state.CutOff = true, m.opts.CutOff
	found := map[string]os.FileInfo{}
	for _, path := range m.sharedLocks() {
		if info, err := os.Lstat(path); err == nil && !info.ModTime().Before(m.opts.CutOff) {
			found[path] = info
		}
	}
	wait := func() error { return async.Sleep(ctx, lockQuiet) }
	if m.opts.lockWait != nil {
		wait = m.opts.lockWait
	}
	if len(found) > 0 {
		if err := wait(); err != nil {
			return err
		}
	}
	busy, stay := false, false
	for path, then := range found {
		now, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			delete(found, path)
		}
		busy = busy || err == nil && !sameVersion(then, now)
	}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		own, err := m.ownsLock(ctx, path, found[path])
		if err != nil {
			return err
		}
		if own = own && !busy; own {
			err = os.Remove(path)
		}
		switch {
		case !own || ignoreGone(err) != nil:
			stay = true
			m.warn(fmt.Errorf("git's lock file %s may be left from the killed session, but a git may be at work "+
				"here; remove it if none is", path))
		case err == nil:
			m.warn(fmt.Errorf("removed git's lock file %s, which the killed session has left", path))
		}
	}
	if !stay {
		m.state.CutOff = time.Time{}
	}
	return nil
}

// ownsLock reports whether a lock may be removed as one of the killed session. The index of the checkout may be locked
// for as long as a person writes a message, so its lock is only if agents work there, a delivery was under way, or
// there is no index: wavex was making it again.
func (m *Manager) ownsLock(ctx context.Context, path string, lock os.FileInfo) (bool, error) {
	if path != m.checkout.index+".lock" || m.state.Mode == Shared {
		return true, nil
	}
	if _, err := os.Lstat(m.checkout.index); errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	work := m.state.Forward
	if work == nil || lock.ModTime().Before(work.Began) {
		return false, nil
	}
	head, err := m.g.inDir(m.checkout.top).resolve(ctx, "HEAD")
	return head == work.From, err // git moves the branch after it has written the index
}

// sharedLocks returns the lock files of the repository and the checkout that the git of a run can make, and a temporary
// file beside them that git makes only if there is none.
func (m *Manager) sharedLocks() []string {
	c := &m.checkout
	paths := []string{c.index + ".lock"}
	for _, name := range []string{"HEAD.lock", "ORIG_HEAD.lock", "reftable/tables.list.lock"} {
		paths = append(paths, filepath.Join(c.dir, filepath.FromSlash(name)))
	}
	for _, name := range []string{"packed-refs.lock", "packed-refs.new", "config.lock", "refs/stash.lock",
		"reftable/tables.list.lock"} {
		paths = append(paths, filepath.Join(c.common, filepath.FromSlash(name)))
	}
	if m.state.Branch != "" {
		paths = append(paths, filepath.Join(c.common, filepath.FromSlash(m.state.Branch)+".lock"))
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// reopenShared removes lock files and repairs the repository for a run in the project's directory, if that is in one.
func (m *Manager) reopenShared(ctx context.Context) error {
	if m.opts.CutOff.IsZero() && m.opts.Record == nil {
		return nil
	}
	var none *Error
	c, err := findCheckout(ctx, m.g, m.opts.Project)
	if errors.As(err, &none) {
		return nil
	}
	if err != nil {
		return err
	}
	m.checkout = c
	if err := m.removeStaleLocks(ctx); err != nil {
		return err
	}
	return m.mendShared(ctx)
}
