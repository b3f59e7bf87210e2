package gitwork

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// lockWait is how long a session waits for a git that may hold a lock.
const lockWait = time.Second

// removeSharedLocks removes the lock files of the repository and the checkout, which any git may hold, if the last
// session of the run was killed, the file was made since that session began, and no git that may hold it is alive. On
// systems where the last cannot be known it removes none. The next session tries again to remove one that stays.
func (m *Manager) removeSharedLocks(ctx context.Context) error {
	if m.opts.CutOff.IsZero() {
		return nil
	}
	m.state.CutOff = time.Time{}
	for _, path := range m.sharedLocks() {
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.ModTime().Before(m.opts.CutOff) {
			continue
		}
		if err != nil {
			return err
		}
		mayHold := func() bool { return gitMayHold(path, m.gitDirs(), m.opts.allVisible) }
		held := mayHold()
		for began := time.Now(); held && time.Since(began) < lockWait; held = mayHold() {
			if err := async.Sleep(ctx, 100*time.Millisecond); err != nil {
				return err
			}
		}
		if now, err := os.Lstat(path); err != nil || !os.SameFile(now, info) || !now.ModTime().Equal(info.ModTime()) {
			continue // another git has removed it, or made it
		}
		if held {
			m.state.CutOff = m.opts.CutOff // the next session tries again
			m.warn(fmt.Errorf("git's lock file %s may be left from the killed session, but a git may be at work "+
				"here; remove it if none is", path))
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		m.warn(fmt.Errorf("removed git's lock file %s, which the killed session has left", path))
	}
	return nil
}

// sharedLocks returns the lock files of the repository and the checkout that the git of a run can make, and a temporary
// file beside them that git makes only if there is none.
func (m *Manager) sharedLocks() []string {
	c := &m.checkout
	paths := []string{c.index + ".lock"}
	for _, name := range []string{"HEAD.lock", "ORIG_HEAD.lock", "reftable/tables.list.lock"} {
		paths = append(paths, filepath.Join(c.dir, filepath.FromSlash(name)))
	}
	for _, name := range []string{"packed-refs.lock", "packed-refs.new", "config.lock", "shallow.lock",
		"refs/stash.lock", "reftable/tables.list.lock"} {
		paths = append(paths, filepath.Join(c.common, filepath.FromSlash(name)))
	}
	if m.state.Branch != "" {
		paths = append(paths, filepath.Join(c.common, filepath.FromSlash(m.state.Branch)+".lock"))
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// gitDirs returns the directories in which a git of this repository can work: those of the repository, of the checkout
// and of each worktree.
func (m *Manager) gitDirs() []string {
	c := &m.checkout
	dirs := []string{c.top, c.dir, c.common}
	found, _ := filepath.Glob(filepath.Join(escapeGlob(c.common), "worktrees", "*", "gitdir")) // the pattern is valid
	for _, path := range append(found, filepath.Join(c.dir, "gitdir")) {
		if dot, err := os.ReadFile(path); err == nil {
			dirs = append(dirs, filepath.Dir(strings.TrimSpace(string(dot))))
		}
	}
	if filepath.Base(c.common) == ".git" { // the checkout of the repository, if the project is in a worktree
		dirs = append(dirs, filepath.Dir(c.common))
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
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
	if err := m.mendShared(ctx); err != nil {
		return err
	}
	return m.removeStaleLocks(ctx)
}
