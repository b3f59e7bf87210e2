package gitwork

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"wavex/internal/safefile"
)

// This file takes the files of the repository out of git's way that a failure of the machine has damaged: git takes an
// empty file for an object or a ref, and writes no other in its place. It looks at the files that were changed since
// the run began, and does not know which of them the run needs; mend.go brings those back. Packs are on disk when git
// has made them.

// clearDamage removes the damaged files of the run's refs and of its worktrees' folders in the repository, and moves
// damaged objects aside.
func (m *Manager) clearDamage(ctx context.Context, since time.Time) error {
	return errors.Join(m.clearAdminDirs(), m.clearRefs(), m.clearObjects(ctx, since))
}

// clearAdminDirs removes the folders of the run's worktrees in the repository without a usable HEAD or commondir, for
// which git refuses its work in the worktree or everywhere. The worktrees are registered again.
func (m *Manager) clearAdminDirs() error {
	dirs, err := filepath.Glob(filepath.Join(escapeGlob(m.checkout.common), "worktrees", m.opts.Run+".*"))
	var errs []error
	for _, dir := range dirs {
		head, _ := os.ReadFile(filepath.Join(dir, "HEAD"))
		common, _ := os.ReadFile(filepath.Join(dir, "commondir"))
		if !isRefFile(head) || absolute(dir, strings.TrimSpace(string(common))) != m.checkout.common {
			errs = append(errs, os.RemoveAll(dir))
			continue
		}
		index := filepath.Join(dir, "index")
		if whole, err := isWholeFile(index, m.idSize()); err == nil && !whole {
			errs = append(errs, os.Remove(index))
		}
	}
	return errors.Join(append(errs, err)...)
}

// isRefFile reports whether a text is the content of a ref's file.
func isRefFile(text []byte) bool {
	line, ended := strings.CutSuffix(string(text), "\n")
	return ended && (isObjectID(line) || strings.HasPrefix(line, "ref: refs/"))
}

// clearRefs removes the files of the run's refs that name no object, as a git before 2.36 may leave them, and one that
// git writes in each merge.
func (m *Manager) clearRefs() error {
	var errs []error
	orig := filepath.Join(m.checkout.dir, "ORIG_HEAD")
	if text, err := os.ReadFile(orig); err == nil && !isRefFile(text) {
		errs = append(errs, os.Remove(orig))
	}
	return errors.Join(append(errs, m.ownRefFiles(func(path string) error {
		if text, err := safefile.ReadHead(path, 1<<10); strings.HasSuffix(path, ".lock") || err == nil && isRefFile(text) {
			return nil
		}
		return os.Remove(path)
	}))...)
}

// clearObjects moves the files of objects aside whose content is not that of their name.
func (m *Manager) clearObjects(ctx context.Context, since time.Time) error {
	paths, err := filepath.Glob(filepath.Join(escapeGlob(m.checkout.objects), "[0-9a-f][0-9a-f]", "*"))
	for _, path := range paths {
		id := filepath.Base(filepath.Dir(path)) + filepath.Base(path)
		info, err := os.Lstat(path)
		if !isObjectID(id) || err != nil || !info.Mode().IsRegular() || info.ModTime().Before(since) {
			continue
		}
		whole, err := isWholeObject(path, id)
		if err == nil && !whole {
			m.repaired.damaged = append(m.repaired.damaged, id)
			err = m.setAside(path)
		}
		if err = cmp.Or(context.Cause(ctx), ignoreGone(err)); err != nil {
			return err
		}
	}
	return err
}

// isWholeObject reports whether a file has an object.
func isWholeObject(path, id string) (bool, error) {
	f, err := safefile.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // read only
	sum := newHash(len(id) / 2)
	z, err := zlib.NewReader(f)
	if err == nil {
		_, err = io.Copy(sum, z)
	}
	return err == nil && hex.EncodeToString(sum.Sum(nil)) == id, nil
}

// ignoreGone returns err unless it says that a file does not exist: git tidies up meanwhile.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// tellDamage names the damaged objects that no bundle of the run has. It returns an *Error if the run's base needs one.
func (m *Manager) tellDamage(ctx context.Context) error {
	missing, err := m.g.missingCommits(ctx, m.repaired.damaged)
	if err != nil || len(missing) == 0 {
		return err
	}
	text := "a failure of the machine has damaged objects of the repository: " +
		firstFew(slices.Sorted(maps.Keys(missing)))
	fix := "git fsck names their users; bring them back from another clone, for example with git fetch --refetch"
	err = m.g.run(ctx, "rev-list", promised, "--objects", "--quiet", "--no-walk", m.opts.Record.Base)
	if exitCode(err) > 0 {
		return &Error{NoCommits, text + "; the run needs them, since it began on them", fix + ", then resume"}
	}
	if err == nil {
		m.warn(fmt.Errorf("%s; no commit of the run needs them; %s", text, fix))
	}
	return err
}

// setAside moves a damaged file of the repository to a folder that git does not read, or removes it if it is empty.
func (m *Manager) setAside(path string) error {
	info, err := os.Lstat(path)
	if err == nil && info.Size() == 0 {
		return os.Remove(path)
	}
	dir := filepath.Join(m.checkout.common, "wavex-damaged")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.Rename(path, unusedName(filepath.Join(dir, filepath.Base(path))))
}

// idSize returns the number of bytes of an id of the repository.
func (m *Manager) idSize() int { return len(m.opts.Record.Base) / 2 }

// newHash returns the hash of a repository whose ids have a number of bytes.
func newHash(size int) hash.Hash {
	if size == sha256.Size {
		return sha256.New()
	}
	return sha1.New()
}

// isWholeFile is endsWithDigest for a file.
func isWholeFile(path string, size int) (bool, error) {
	f, err := safefile.Open(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // read only
	info, err := f.Stat()
	return err == nil && endsWithDigest(f, info.Size(), size), err
}

// endsWithDigest reports whether a text of so many bytes ends with the digest of the rest, as indexes do, or with
// zeros, as only the index of a checkout may (index.skipHash). size is the number of bytes of an id.
func endsWithDigest(r io.Reader, length int64, size int) bool {
	in, sum, end := bufio.NewReader(r), newHash(size), make([]byte, size)
	mark, _ := in.Peek(len(indexMark)) // a shorter text ends with no digest
	if _, err := io.CopyN(sum, in, length-int64(size)); err != nil || length <= int64(size) {
		return false
	}
	_, err := io.ReadFull(in, end)
	zeros := string(mark) == indexMark && bytes.Equal(end, make([]byte, size))
	return err == nil && (zeros || bytes.Equal(end, sum.Sum(nil)))
}

const indexMark = "DIRC" // with which the index of a checkout begins

// mendIndex makes the index of the checkout again from HEAD if it is damaged or gone. The files do not change.
func (m *Manager) mendIndex(ctx context.Context, since time.Time) error {
	path := m.checkout.index
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.ModTime().Before(since):
		return nil
	case err == nil:
		whole, err := isWholeFile(path, m.idSize())
		if whole && err == nil {
			whole, err = m.g.inDir(m.checkout.top).hasIndexed(ctx, m.opts.Record.Base, "--single-worktree")
		}
		if whole || err != nil {
			return err
		}
		if err := m.setAside(path); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	m.warn(fmt.Errorf("the index of %s was damaged, and is made again from HEAD: nothing is staged there", m.checkout.top))
	return m.g.inDir(m.checkout.top).makeIndex(ctx, "HEAD")
}

// makeIndex makes the index of a worktree again from a commit. The files do not change.
func (g git) makeIndex(ctx context.Context, commit string) error {
	if err := g.run(ctx, "read-tree", commit); err != nil {
		return err
	}
	if err := g.run(ctx, "update-index", "-q", "--refresh"); exitCode(err) < 0 {
		return err
	}
	return g.reapplySparse(ctx)
}

// reapplySparse marks the new entries of an index that are outside of a sparse checkout.
func (g git) reapplySparse(ctx context.Context) error {
	sparse, err := g.config(ctx, "--type=bool", "core.sparseCheckout")
	if err != nil || sparse != "true" {
		return err
	}
	return g.run(ctx, "sparse-checkout", "reapply")
}
