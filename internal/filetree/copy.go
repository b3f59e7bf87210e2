package filetree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"wavex/internal/safefile"
)

// These bound a copy: its bytes and its time.
const (
	maxCopiedBytes = 2 << 30
	copyTimeout    = 30 * time.Second
)

var errCopyTime = errors.New("the project is too large for a copy")

// InCopy calls do with a Copy of root in a new directory of parent, which it removes then. "" is the system's directory
// for temporary files.
func (s Store) InCopy(ctx context.Context, parent, root string, back Tree, do func(project string) error) error {
	dir, err := os.MkdirTemp(parent, "wavex-control-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the place of temporary files is emptied as well
	to := filepath.Join(dir, "project")
	if err := s.Copy(ctx, root, to, back); err != nil {
		return err
	}
	return do(to)
}

// Copy makes a copy of the directory root in the directory to, which must not exist. The files in back get the states
// that they have there. The copy has caches and ignored files too, and a repository of its own with the commits of
// that of root: nothing in the copy can change the project.
func (s Store) Copy(ctx context.Context, root, to string, back Tree) error {
	ctx, cancel := context.WithTimeoutCause(ctx, copyTimeout, errCopyTime)
	defer cancel()
	root = resolved(root)
	temp := tempIn(root)
	own := resolved(filepath.Dir(to)) // it may be in root, also by a link
	var size int64
	err := safefile.CopyTree(ctx, root, to, func(rel string, d fs.DirEntry) (bool, error) {
		name := filepath.ToSlash(rel)
		if _, isBack := back[name]; isBack || name == ".git" || isOwn(name, temp) || filepath.Join(root, rel) == own {
			return true, nil
		}
		if info, err := d.Info(); err == nil {
			size += info.Size()
		}
		if size > maxCopiedBytes {
			return false, fmt.Errorf("the project has more than %d GB, too much for a copy", maxCopiedBytes>>30)
		}
		return false, nil
	})
	if err == nil {
		err = copyRepository(ctx, filepath.Join(root, ".git"), filepath.Join(to, ".git"))
	}
	if err != nil {
		return err
	}
	in, err := os.OpenRoot(to)
	if err == nil {
		defer func() { _ = in.Close() }() // nothing is buffered
		for name, state := range back {
			err = cmp.Or(err, s.restore(ctx, root, in, name, state))
		}
	}
	return err
}

// copyRepository makes a repository with the index, HEAD and refs of the one at dot, which may be the file of a
// worktree. It reads the objects of the other one.
func copyRepository(ctx context.Context, dot, to string) error {
	if !IsRepository(dot) {
		return nil
	}
	text, _ := safefile.Read(dot, maxContent) // a directory has none
	if at, is := strings.CutPrefix(string(text), "gitdir:"); is {
		dot = absolute(filepath.Dir(dot), at)
	}
	common := dot
	if at, err := safefile.Read(filepath.Join(dot, "commondir"), maxContent); err == nil {
		common = absolute(dot, string(at))
	}
	info := filepath.Join(to, "objects", "info")
	err := errors.Join(os.MkdirAll(info, 0o755),
		os.WriteFile(filepath.Join(info, "alternates"), []byte(filepath.Join(common, "objects")+"\n"), 0o600),
		os.WriteFile(filepath.Join(to, "config"), []byte("[core]\n\trepositoryformatversion = 0\n"), 0o600))
	for name, from := range map[string]string{"HEAD": dot, "index": dot, "packed-refs": common, "refs": common} {
		if at := filepath.Join(from, name); exists(at) {
			err = cmp.Or(err, safefile.CopyTree(ctx, at, filepath.Join(to, name), nil))
		}
	}
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// absolute returns a path that a file of git names, which may be relative to dir.
func absolute(dir, path string) string {
	if path = filepath.FromSlash(strings.TrimSpace(path)); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// restore writes the earlier version of a file of root into a copy. It follows no link out of the copy.
func (s Store) restore(ctx context.Context, root string, to *os.Root, name string, state State) error {
	if state == "" || state.isIgnored() { // the contents of ignored files are not kept
		return nil
	}
	at := filepath.FromSlash(name)
	_ = to.MkdirAll(filepath.Dir(at), 0o755) // without the folder the rest fails
	if link, is := strings.CutPrefix(string(state), linkState); is {
		return to.Symlink(link, at)
	}
	text, err := s.Content(ctx, root, state)
	if err != nil {
		return fmt.Errorf("the earlier version of %s was not kept", name)
	}
	mode := fs.FileMode(0o644)
	if strings.HasPrefix(string(state), execState) {
		mode = 0o755
	}
	return to.WriteFile(at, text, mode)
}
