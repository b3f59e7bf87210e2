package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"wavex/internal/wary"
)

// This file records the contents of a shared directory before a run: an index with the user's
// uncommitted changes, and the file contents, in a folder of wavex's own. It makes no commit and no
// ref, and does not touch the user's index or object store.

const (
	untrackedMax  = 1 << 20 // bytes; of a larger file only the name is kept
	untrackedMost = 10_000  // files
)

// Before describes the project directory as it was before a run. Remember fills its folder.
type Before struct {
	// Env makes git compare the directory with the recorded index: `git diff` shows the changes
	// since, `git ls-files --others` the new files.
	Env map[string]string
	// Large lists the untracked files that existed and whose contents were not kept; paths are
	// relative to the project, with slashes.
	Large []string
}

// Remember records in the folder at the current contents of a project directory in a git
// repository. An *Error says why no comparison will be possible.
func Remember(ctx context.Context, project, at string, env []string) error {
	g := newGit(project, env)
	if _, err := look(ctx, g, project); err != nil {
		return err
	}
	objects, err := g.out(ctx, "rev-parse", "--git-path", "objects")
	if err != nil {
		return err
	}
	index, err := g.out(ctx, "rev-parse", "--git-path", "index")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(at, "objects"), 0o700); err != nil {
		return err
	}
	text, err := wary.Read(absolute(project, index), maxIndex)
	switch {
	case errors.Is(err, fs.ErrNotExist): // no file was ever added
	case err != nil:
		return err
	default:
		// Rename the folder into place when it is complete. Remembered ignores a folder without an
		// index.
		if err := os.WriteFile(filepath.Join(at, "new"), text, 0o600); err != nil {
			return err
		}
	}
	g = g.with("GIT_INDEX_FILE="+filepath.Join(at, "new"), "GIT_OBJECT_DIRECTORY="+filepath.Join(at, "objects"),
		"GIT_ALTERNATE_OBJECT_DIRECTORIES="+strconv.Quote(absolute(project, objects)))
	if err := g.run(ctx, "add", "-u", "--", "."); err != nil {
		return err
	}
	list, err := g.out(ctx, "ls-files", "-z", "--others", "--exclude-standard", "--", ".")
	if err != nil {
		return err
	}
	var small, large strings.Builder
	for i, f := range fields(list) {
		st, err := os.Lstat(filepath.Join(project, filepath.FromSlash(f)))
		switch {
		case err != nil: // already deleted
		case i >= untrackedMost, st.IsDir(), st.Mode().IsRegular() && st.Size() > untrackedMax:
			large.WriteString(f + "\x00")
		default:
			small.WriteString(":(literal)" + f + "\x00")
		}
	}
	if small.Len() > 0 {
		if _, err := g.feed(ctx, small.String(), "add", "--ignore-errors", "--pathspec-from-file=-",
			"--pathspec-file-nul"); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(at, "large"), []byte(large.String()), 0o600); err != nil {
		return err
	}
	err = os.Rename(filepath.Join(at, "new"), filepath.Join(at, "index"))
	if errors.Is(err, fs.ErrNotExist) { // the checkout was empty
		return g.with("GIT_INDEX_FILE="+filepath.Join(at, "index")).run(ctx, "read-tree", "--empty")
	}
	return err
}

// Remembered returns the record in the folder at; ok is false if there is none.
func Remembered(at string) (b Before, ok bool) {
	if _, err := os.Stat(filepath.Join(at, "index")); err != nil {
		return b, false
	}
	text, err := wary.Read(filepath.Join(at, "large"), maxState)
	if err != nil {
		return b, false
	}
	return Before{Large: fields(string(text)), Env: map[string]string{
		"GIT_INDEX_FILE":                   filepath.Join(at, "index"),
		"GIT_ALTERNATE_OBJECT_DIRECTORIES": strconv.Quote(filepath.Join(at, "objects")),
	}}, true
}

func absolute(dir, path string) string {
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
