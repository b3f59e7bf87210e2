package gitwork

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/safefile"
)

// This file makes worktrees of overlay mounts: one checkout, the lower tree, has the files of the commit that the run
// began on, and each worktree only what differs from it. To git such a worktree is like any other. Its path is empty to
// processes outside of wavex's mount namespace, and between two sessions of a run; the folder PATH.overlay has what
// differs.

// The values of Options.Trees.
const (
	TreesAuto    = "auto"    // overlays if the repository is large
	TreesPool    = "pool"    // whole checkouts
	TreesOverlay = "overlay" // overlays
)

// manyFiles is the number of files from which TreesAuto takes overlays.
const manyFiles = 5000

// EnterMounts puts this process into a mount namespace of its own if a run in project with these Options.Trees, or one
// that can be resumed there, needs it: see proc.EnterMounts. If that is not possible, Open says so.
func EnterMounts(project, trees string) {
	if trees == TreesOverlay || trees == TreesAuto && indexEntries(project) >= manyFiles || resumable(loop.In(project)) {
		_ = proc.EnterMounts()
	}
}

// resumable reports whether a run with overlays may be resumed: one that a kill has left behind, or the last one.
func resumable(in loop.Dir) bool {
	states, err := listStates(in)
	if err == nil && len(states) > 0 { // by the times in their names
		if s, unread := readState(states[len(states)-1]); unread == nil && s != nil && s.Overlay {
			return true
		}
	}
	return err == nil && hasOverlays(in, "*")
}

// hasOverlays reports whether a run, or with "*" any run, has worktrees that are overlays.
func hasOverlays(in loop.Dir, run string) bool {
	found, err := listTrees(in, run+".0.lower")
	return err == nil && len(found) > 0
}

// indexEntries returns the number of entries in the index of the checkout that has dir, or 0 if it cannot be read.
func indexEntries(dir string) uint32 {
	for dir = resolveLinks(dir); ; dir = filepath.Dir(dir) {
		dot := filepath.Join(dir, ".git")
		info, err := os.Lstat(dot)
		switch {
		case err == nil && info.IsDir():
			return entriesOf(filepath.Join(dot, "index"))
		case err == nil:
			admin, _ := adminDir(dir)
			return entriesOf(filepath.Join(admin, "index"))
		case dir == filepath.Dir(dir):
			return 0
		}
	}
}

// entriesOf returns the number of entries that the header of an index gives, or 0.
func entriesOf(index string) uint32 {
	f, err := os.Open(index)
	if err != nil {
		return 0
	}
	defer f.Close()
	var head struct {
		Magic            [4]byte
		Version, Entries uint32
	}
	if binary.Read(f, binary.BigEndian, &head) != nil || string(head.Magic[:]) != "DIRC" {
		return 0
	}
	return head.Entries
}

// probeMount decides whether the worktrees of a new run are overlays, by a trial.
func (m *Manager) probeMount(context.Context) error {
	want := m.opts.Trees == TreesOverlay || m.opts.Trees == TreesAuto && entriesOf(m.checkout.index) >= manyFiles
	if m.state.Overlay = false; !want {
		return nil
	}
	dir, err := os.MkdirTemp(m.opts.Loop.Path(loop.Worktrees), m.opts.Run+".mount-")
	if err != nil {
		return err
	}
	for _, name := range []string{"lower", "upper", "work", "at"} {
		err = errors.Join(err, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	if err == nil {
		at := filepath.Join(dir, "at")
		err = mountOwn(at, filepath.Join(dir, "lower"), filepath.Join(dir, "upper"), filepath.Join(dir, "work"))
		if err == nil {
			err = unmount(at)
		}
	}
	if m.state.Overlay = err == nil; err != nil {
		m.notice("each worktree is a whole checkout: %v", err)
	} else {
		m.notice("worktrees are overlay mounts, which only this run sees: a daemon, like that of Docker, finds them empty")
	}
	return safefile.RemoveAll(dir)
}

// mountOwn is mountOverlay in a mount namespace that ends with wavex and its children, and an error elsewhere.
func mountOwn(at, lower, upper, work string) error {
	if !proc.OwnMounts() {
		return fmt.Errorf("mounting %s: this process cannot mount (as root on Linux, run and resume can)", at)
	}
	return mountOverlay(at, lower, upper, work)
}

// overlayDir is the folder of an overlay with what differs from the lower tree.
func overlayDir(path string) string { return path + ".overlay" }

// lowerPath is the path of the lower tree. It is a worktree that does not change after its checkout.
func (m *Manager) lowerPath() string { return m.opts.Loop.Worktree(m.opts.Run, "0.lower") }

// lowerIndex returns the path of the index of the lower tree, or an error if there is no whole one: a checkout writes
// the index at its end.
func (m *Manager) lowerIndex() (string, error) {
	admin, err := adminDir(m.lowerPath())
	index := filepath.Join(admin, "index")
	if err == nil {
		_, err = os.Lstat(index)
	}
	return index, err
}

// makeLower makes the lower tree, once.
func (m *Manager) makeLower(ctx context.Context) (index string, err error) {
	m.lowering.Lock()
	defer m.lowering.Unlock()
	if index, err = m.lowerIndex(); err == nil {
		return index, nil
	}
	path := m.lowerPath()
	if err := m.registerAt(ctx, path); err != nil {
		return "", err
	}
	if err := m.g.inDir(path).runWithoutHooks(ctx, "checkout", "-q", "-f", "--detach", m.state.Base); err != nil {
		return "", err
	}
	return m.lowerIndex()
}

// mountNew mounts the worktree at a path that git has just registered, with the index of the lower tree.
func (m *Manager) mountNew(path, index string) error {
	admin, err := adminDir(path)
	if err != nil {
		return err
	}
	if err := m.trash.add(overlayDir(path)); err != nil { // of a move that was interrupted
		return err
	}
	upper := filepath.Join(overlayDir(path), "upper")
	if err := safefile.MkdirAll(upper, 0o777); err != nil {
		return err
	}
	for from, to := range map[string]string{index: filepath.Join(admin, "index"),
		filepath.Join(path, ".git"): filepath.Join(upper, ".git")} {
		if err := copyFile(from, to); err != nil {
			return err
		}
	}
	// The file comes last: an overlay without it is not used.
	if err := safefile.Replace(upper+".id", []byte(inode(upper)), 0o600, false); err != nil {
		return err
	}
	return m.remount(path)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// remount mounts a worktree if it is an overlay that is not mounted. It returns errTreeGone if its files are gone.
func (m *Manager) remount(path string) error {
	if !m.state.Overlay {
		return nil
	}
	if isMountPoint(path) {
		if names, err := os.ReadDir(path); err == nil && len(names) == 0 {
			return errTreeGone // an agent has removed the directory, as far as that is possible
		}
		return nil
	}
	upper, work := filepath.Join(overlayDir(path), "upper"), filepath.Join(overlayDir(path), "work")
	// A copy lacks the attributes that the file system keeps with the files.
	if id, err := safefile.Read(upper+".id", 1<<10); err != nil || string(id) != inode(upper) {
		return errTreeGone
	}
	if _, err := m.lowerIndex(); err != nil {
		return errTreeGone
	}
	if err := safefile.MkdirAll(work, 0o700); err != nil {
		return err
	}
	return mountOwn(path, m.lowerPath(), upper, work)
}

// removeOverlay removes the mount and the files of a worktree, if it is an overlay. Its path then has the registration.
func (m *Manager) removeOverlay(path string) error {
	if err := unmount(path); err != nil {
		return err
	}
	return m.trash.add(overlayDir(path))
}

// renameTree renames the directory of a worktree.
func (m *Manager) renameTree(from, to string) error {
	if !m.state.Overlay {
		return safefile.Rename(from, to)
	}
	if err := unmount(from); err != nil {
		return err
	}
	if err := safefile.RemoveAll(overlayDir(to)); err != nil {
		return err
	}
	if err := safefile.Rename(overlayDir(from), overlayDir(to)); err != nil {
		return err
	}
	if err := safefile.Rename(from, to); err != nil {
		return err
	}
	return m.remount(to)
}

// moveOut moves a folder out of a worktree, which may be another file system.
func (m *Manager) moveOut(ctx context.Context, from, to string) error {
	if !m.state.Overlay {
		return safefile.Rename(from, to)
	}
	if err := safefile.CopyTree(ctx, from, to, nil); err != nil {
		return err
	}
	return safefile.RemoveAll(from)
}

// parkOverlays parks the tasks of a run whose worktrees are overlays: their work is then in commits, as in a run whose
// .loop is copied, and only a wavex that is killed leaves overlays behind.
func (m *Manager) parkOverlays(ctx context.Context) error {
	var errs []error
	for i := range m.state.Trees {
		held := m.state.Trees[i]
		if !m.state.Overlay || held.ID == 0 || held.Task == "" {
			continue
		}
		t := *held
		parked, err := m.park(ctx, &t)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		m.mu.Lock()
		m.addParked(parked)
		*held = tree{ID: t.ID, Base: t.Base, Admin: t.Admin}
		errs = append(errs, m.save(true))
		m.mu.Unlock()
	}
	return errors.Join(errs...)
}

// closeOverlays unmounts the worktrees that stay, and removes the lower tree if there is none.
func (m *Manager) closeOverlays(ctx context.Context) error {
	if !m.state.Overlay {
		return nil
	}
	if len(m.state.Trees) == 0 {
		return m.lockAndRemoveTree(ctx, m.lowerPath())
	}
	var errs []error
	for _, t := range m.state.Trees {
		errs = append(errs, unmount(m.treePathOf(t)))
	}
	return errors.Join(errs...)
}
