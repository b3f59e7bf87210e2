package gitwork

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	pathpkg "path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// This file fast-forwards the user's checkout, and undoes a fast-forward that failed or was cut off. Git writes the
// files first, then the index, then the branch. It does not decide whether to deliver.

// forward is a fast-forward of the user's branch that has begun.
type forward struct {
	From string `json:"from"` // the commit of the branch
	To   string `json:"to"`   // the delivered commit

	Began time.Time `json:"began,omitzero"` // git makes its locks later
}

// fastForward fast-forwards the user's branch. If that is not possible it says why.
func (m *Manager) fastForward(ctx context.Context, d Delivery, asked, complete bool) (Delivery, error) {
	c, err := m.readCheckout(ctx)
	if err != nil {
		return d, err
	}
	if has, err := m.hasWork(ctx, c.head, d.Commit); err != nil {
		return d, err
	} else if has {
		d.How, d.Why = "ff", "it is in the checkout already"
		return d, nil
	}
	obstacle, err := m.obstacle(ctx, c, d.Commit, asked, complete)
	if err != nil {
		return d, err
	}
	if obstacle == nil {
		work := forward{From: c.head, To: d.Commit, Began: m.opts.Now().Add(-time.Second)} // file times lag behind
		if err := m.noteForward(&work); err != nil {
			return d, err
		}
		g, err := m.forHooks(m.g)
		if !filepath.IsAbs(m.hooks) { // the merge may bring others
			g = g.withConfig("core.hooksPath=" + m.frozenPath("run"))
		}
		if err == nil {
			err = g.run(ctx, "merge", "--ff-only", "-q", d.Commit)
		}
		if err == nil {
			d.How, d.Why = "ff", branchName(c.branch)+" was fast-forwarded"
			return d, m.noteForward(nil)
		}
		if exitCode(err) < 0 {
			return d, err
		}
		obstacle = &Error{Problem: NotForward, Text: err.Error()} // git refused although our checks passed
		if err = m.undoForward(ctx, work); err == nil {
			err = m.noteForward(nil)
		}
		if err != nil {
			obstacle.Text += "; the checkout has a part of the work: " + err.Error()
		}
	}
	if err := m.suggestCommand(ctx, &d, c, obstacle); err != nil || !asked {
		return d, err
	}
	obstacle.Fix = d.Command
	return d, obstacle
}

// hasWork reports whether a head has the work of a commit: it descends from it, or has moved and a merge would change
// nothing, as after the rebase that suggestCommand prints.
func (m *Manager) hasWork(ctx context.Context, head, commit string) (bool, error) {
	if has, err := m.isAncestor(ctx, commit, head); has || err != nil {
		return has, err
	}
	if straight, err := m.isAncestor(ctx, head, commit); straight || err != nil {
		return false, err
	}
	return m.g.mergesToNothing(ctx, head, commit)
}

// noteForward puts a fast-forward on record before git begins it, or nil when the user's branch was fast-forwarded, or
// was not and the checkout is as before.
func (m *Manager) noteForward(f *forward) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.Forward = f
	return m.save(true)
}

// recoverForward puts on record a fast-forward that git completed before wavex was killed, and undoes one that git has
// begun: then the checkout is clean again, except for changes of a person.
func (m *Manager) recoverForward(ctx context.Context) error {
	m.mu.Lock()
	work := m.state.Forward
	m.mu.Unlock()
	if work == nil {
		return nil
	}
	c, err := m.readCheckout(ctx)
	if err != nil {
		return err
	}
	if c.head == work.From && len(c.dirty) > 0 {
		if c.branch != m.state.Branch {
			return nil // the files may come back with the branch
		}
		if err := m.undoForward(ctx, *work); exitCode(err) > 0 {
			m.warn(fmt.Errorf("the checkout has a part of the work of a delivery that was cut off: %w", err))
			return nil // the delivery names the files
		} else if err != nil {
			return err
		}
	}
	return m.noteForward(nil)
}

// undoForward restores the files and the index entries that a fast-forward which failed or was cut off has written. It
// leaves files with neither the old content nor that of the delivered commit, and tells them: a person wrote those, or
// git wrote a part of one.
func (m *Manager) undoForward(ctx context.Context, work forward) error {
	now, err := m.readCheckout(ctx)
	if err != nil || len(now.dirty) == 0 || now.head != work.From {
		return err
	}
	top := m.g.inDir(m.checkout.top)
	files, err := top.filesOf(ctx, work)
	if err != nil {
		return err
	}
	if err := top.restoreStaged(ctx, work, files); err != nil {
		return err
	}
	tracked, err := top.output(ctx, "ls-files", "-t", "-z")
	if err != nil {
		return err
	}
	for _, entry := range splitNUL(tracked) {
		if path, outside := strings.CutPrefix(entry, "S "); outside { // of a sparse checkout
			delete(files, path)
		}
	}
	old, left, err := m.writtenBy(ctx, work, files)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		m.warn(fmt.Errorf("a delivery was cut off, and these files have neither the old content nor that of the work: %s; "+
			"they stay as they are; git restore brings the old content back", firstFew(left)))
	}
	// Git would remove a folder or a file that is in the way of the old file.
	old = slices.DeleteFunc(old, func(path string) bool { return !isFree(m.checkout.top, path) })
	if len(old) == 0 {
		return nil
	}
	_, err = top.outputOf(ctx, strings.Join(old, "\x00"), "checkout-index", "-q", "-f", "-u", "-z", "--stdin")
	return err
}

// removeWritten removes a file of the checkout, and the folders that are empty then.
func (m *Manager) removeWritten(path string) error {
	err := os.Remove(filepath.Join(m.checkout.top, filepath.FromSlash(path)))
	for dir := pathpkg.Dir(path); err == nil && dir != "."; dir = pathpkg.Dir(dir) {
		if os.Remove(filepath.Join(m.checkout.top, filepath.FromSlash(dir))) != nil {
			break
		}
	}
	return err
}

// isFree reports whether a file can be at a path below top: there is no folder, and no file in the place of a folder
// above it.
func isFree(top, path string) bool {
	info, err := os.Lstat(filepath.Join(top, filepath.FromSlash(path)))
	if err == nil && info.IsDir() {
		return false
	}
	for dir := pathpkg.Dir(path); dir != "."; dir = pathpkg.Dir(dir) {
		info, err := os.Lstat(filepath.Join(top, filepath.FromSlash(dir)))
		if err == nil && !info.IsDir() {
			return false
		}
	}
	return true
}

// filesOf returns the files that a fast-forward changes, by path: A for a new one, D for one that it removes.
func (g git) filesOf(ctx context.Context, work forward) (map[string]byte, error) {
	listed, err := g.output(ctx, "diff-tree", "-r", "-z", "--name-status", "--no-renames", work.From, work.To)
	files := map[string]byte{}
	for pair := range slices.Chunk(splitNUL(listed), 2) {
		if len(pair) == 2 {
			files[pair[1]] = pair[0][0]
		}
	}
	return files, err
}

// restoreStaged restores the entries of the index that a fast-forward has written.
func (g git) restoreStaged(ctx context.Context, work forward, files map[string]byte) error {
	staged, err := g.output(ctx, "diff-index", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames", work.From)
	if err != nil || staged == "" {
		return err
	}
	other, err := g.output(ctx, "diff-index", "--cached", "--name-only", "-z", "--no-renames", work.To)
	if err != nil {
		return err
	}
	theirs := splitNUL(other)
	var entries []string
	for pair := range slices.Chunk(splitNUL(staged), 2) { // modes, ids and a letter; a path
		facts := strings.Fields(strings.TrimPrefix(pair[0], ":"))
		if files[pair[1]] != 0 && !slices.Contains(theirs, pair[1]) {
			entries = append(entries, fmt.Sprintf("%s %s\t%s\x00", facts[0], facts[2], pair[1]))
		}
	}
	if len(entries) == 0 {
		return nil
	}
	// A file may have been replaced by a folder, so that the new ones, whose old mode is 0, must be removed first.
	slices.Sort(entries)
	if _, err = g.outputOf(ctx, strings.Join(entries, ""), "update-index", "-z", "--index-info"); err != nil {
		return err
	}
	return g.reapplySparse(ctx)
}

// writtenBy removes the new files that a fast-forward has written in the checkout. It returns the others that it has
// written or removed, and those that a person wrote, or git in part.
func (m *Manager) writtenBy(ctx context.Context, work forward, files map[string]byte) (old, left []string, err error) {
	top := m.g.inDir(m.checkout.top)
	g, done, err := top.commitIndex(ctx, work.To)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	other, err := g.changedFiles(ctx)
	if err != nil {
		return nil, nil, err
	}
	changed, err := top.changedFiles(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		info, gone := os.Lstat(filepath.Join(m.checkout.top, filepath.FromSlash(path)))
		status, unlike := files[path], other[path] && gone == nil && info.Size() > 0 // git makes a file empty, then writes it
		switch {
		case status == 'A' && (gone != nil || !isFree(m.checkout.top, path)): // it is not written yet
		case status == 'A' && !unlike:
			err = errors.Join(err, m.removeWritten(path))
		case status == 'D':
			if gone != nil || info.IsDir() {
				old = append(old, path)
			}
		case status != 'A' && !unlike:
			old = append(old, path)
		case status == 'A' || changed[path]:
			left = append(left, path)
		}
	}
	return old, left, err
}

// changedFiles returns the files of the checkout that differ from the index, without those that are gone.
func (g git) changedFiles(ctx context.Context) (map[string]bool, error) {
	out, err := g.output(ctx, "-c", "diff.autoRefreshIndex=true", "diff", "--name-only", "-z", "--no-renames",
		"--no-ext-diff", "--diff-filter=d")
	files := map[string]bool{}
	for _, path := range splitNUL(out) {
		files[path] = true
	}
	return files, err
}
