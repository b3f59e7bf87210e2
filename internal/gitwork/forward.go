package gitwork

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wavex/internal/safefile"
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
		if err := m.beginForward(work); err != nil {
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
			return d, m.endForward()
		}
		if exitCode(err) < 0 {
			return d, err
		}
		obstacle = &Error{Problem: NotForward, Text: err.Error()} // git refused although our checks passed
		if err = m.undoForward(ctx, work); err == nil {
			err = m.endForward()
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

// beginForward puts a fast-forward on record before git begins it.
func (m *Manager) beginForward(f forward) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.Forward = &f
	return m.save()
}

// endForward puts on record that the user's branch was fast-forwarded, or was not and the checkout is as before.
func (m *Manager) endForward() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state.Forward = nil
	return m.save()
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
	done, err := m.isAncestor(ctx, work.To, c.head)
	if err != nil {
		return err
	}
	if !done && c.head == work.From && len(c.dirty) > 0 {
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
	return m.endForward()
}

// undoForward restores the files and the index entries that a fast-forward which failed or was cut off has written. It
// leaves files with neither the old content nor that of the delivered commit: a person wrote those. It restores a file
// that git has written in part, after it has kept the part below refs/wavex.
func (m *Manager) undoForward(ctx context.Context, work forward) error {
	now, err := m.readCheckout(ctx)
	if err != nil || len(now.dirty) == 0 || now.head != work.From {
		return err
	}
	top := m.g.inDir(m.checkout.top)
	files, err := top.diff(ctx, work.From, work.To)
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
	ours, err := m.writtenBy(ctx, work, files)
	if err != nil {
		return err
	}
	var made, old []string
	for _, path := range ours {
		if files[path].oldMode == noMode {
			made = append(made, path)
		} else {
			old = append(old, path)
		}
	}
	if err := removeFiles(m.checkout.top, made); err != nil {
		return err
	}
	// Git would remove a folder or a file that is in the way of the old file.
	old = slices.DeleteFunc(old, func(path string) bool { return !isFree(m.checkout.top, path) })
	return top.checkOutFiles(ctx, work.From, old)
}

// isFree reports whether a file can be at a path below top: there is no folder, and no file in the place of a folder
// above it.
func isFree(top, path string) bool {
	path = filepath.Join(top, filepath.FromSlash(path))
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return false
	}
	for dir := filepath.Dir(path); len(dir) > len(top); dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
			return false
		}
	}
	return true
}

// restoreStaged restores the entries of the index that a fast-forward has written.
func (g git) restoreStaged(ctx context.Context, work forward, files map[string]change) error {
	staged, err := g.output(ctx, "diff-index", "--cached", "--name-only", "-z", "--no-renames", work.From)
	if err != nil || staged == "" {
		return err
	}
	other, err := g.output(ctx, "diff-index", "--cached", "--name-only", "-z", "--no-renames", work.To)
	if err != nil {
		return err
	}
	theirs := splitNUL(other)
	ours := slices.DeleteFunc(splitNUL(staged), func(path string) bool {
		_, written := files[path]
		return !written || slices.Contains(theirs, path)
	})
	if len(ours) == 0 {
		return nil
	}
	if err := g.resetPaths(ctx, work.From, ours); err != nil {
		return err
	}
	return g.reapplySparse(ctx)
}

// writtenBy returns those of the files that a fast-forward has written or removed in the checkout.
func (m *Manager) writtenBy(ctx context.Context, work forward, files map[string]change) (ours []string, err error) {
	top := m.g.inDir(m.checkout.top)
	g, done, err := top.commitIndex(ctx, work.To)
	if err != nil {
		return nil, err
	}
	defer done()
	other, err := g.changedFiles(ctx)
	if err != nil {
		return nil, err
	}
	changed, err := top.changedFiles(ctx)
	if err != nil {
		return nil, err
	}
	var parts []string
	for path, file := range files {
		info, gone := os.Lstat(filepath.Join(m.checkout.top, filepath.FromSlash(path)))
		switch {
		case file.oldMode == noMode && (gone != nil || !isFree(m.checkout.top, path)): // it is not written yet
		case file.mode == noMode:
			if gone != nil || info.IsDir() {
				ours = append(ours, path)
			}
		case !other[path]:
			ours = append(ours, path)
		case (changed[path] || file.oldMode == noMode) && gone == nil && info.Mode().IsRegular() &&
			(info.Mode()&0o100 != 0) == (file.mode == "100755"):
			whole, err := top.runOnce(ctx, "", []string{"cat-file", "--filters", work.To + ":" + path})
			if err != nil {
				return nil, err
			}
			part, err := safefile.Read(filepath.Join(m.checkout.top, filepath.FromSlash(path)), int64(len(whole)))
			if err == nil && len(part) < len(whole) && strings.HasPrefix(whole, string(part)) {
				parts = append(parts, path)
			}
		}
	}
	if len(parts) > 0 {
		err = m.preserveParts(ctx, parts, work.From)
	}
	return append(ours, parts...), err
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

// preserveParts keeps files of the checkout in a commit below refs/wavex: a person may have written them.
func (m *Manager) preserveParts(ctx context.Context, paths []string, head string) error {
	g, done, err := m.g.inDir(m.checkout.top).commitIndex(ctx, head)
	if err != nil {
		return err
	}
	defer done()
	for _, path := range paths {
		id, err := g.output(ctx, "hash-object", "-w", "--no-filters", "--", path)
		if err == nil {
			err = g.run(ctx, "update-index", "--add", "--replace", "--cacheinfo", "100644,"+id+","+path)
		}
		if err != nil {
			return err
		}
	}
	tree, err := g.output(ctx, "write-tree")
	if err != nil {
		return err
	}
	id, err := g.outputOf(ctx, "Written in part by a delivery that was cut off\n\nWavex-Run: "+m.opts.Run+"\n",
		"commit-tree", "-p", head, tree)
	if err != nil {
		return err
	}
	return g.updateRefs(ctx, preservedRef(m.opts.Run, "checkout", id), id)
}
