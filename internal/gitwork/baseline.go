package gitwork

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"wavex/internal/safefile"
)

// This file records the contents of a shared directory before a run: an index with the user's
// uncommitted changes, and the file contents, in a folder of wavex's own. It makes no commit and no
// ref, and does not touch the user's index or object store.

const (
	maxUntrackedSize  = 1 << 20 // bytes; of a larger file only the name is kept
	maxUntrackedFiles = 10_000  // files
)

// Baseline describes the project directory as it was before a run. Remember fills its folder.
type Baseline struct {
	// Env makes git compare the directory with the recorded index: `git diff` shows the changes
	// since, `git ls-files --others` the new files.
	Env map[string]string
	// Large lists the untracked files that existed and whose contents were not kept; paths are
	// relative to the project, with slashes.
	Large []string
}

// SaveBaseline records in the folder at the current contents of a project directory in a git
// repository. An *Error says why no comparison will be possible.
func SaveBaseline(ctx context.Context, project, at string, env []string) error {
	g := newGit(project, env)
	c, err := findCheckout(ctx, g, project)
	if err != nil {
		return err
	}
	if err := safefile.MkdirAll(filepath.Join(at, "objects"), 0o700); err != nil {
		return err
	}
	// Rename the index into place when it is complete: LoadBaseline ignores a folder without one.
	if err := copyIndex(c.index, filepath.Join(at, "new")); err != nil {
		return err
	}
	g = g.withEnv("GIT_INDEX_FILE="+filepath.Join(at, "new"), "GIT_OBJECT_DIRECTORY="+filepath.Join(at, "objects"),
		"GIT_ALTERNATE_OBJECT_DIRECTORIES="+strconv.Quote(c.objects))
	if err := g.run(ctx, "add", "-u", "--", "."); err != nil {
		return err
	}
	list, err := g.output(ctx, "ls-files", "-z", "--others", "--exclude-standard", "--", ".")
	if err != nil {
		return err
	}
	small, large := splitUntracked(project, splitNUL(list))
	if small != "" {
		if _, err := g.outputOf(ctx, small, "add", "--ignore-errors", "--pathspec-from-file=-",
			"--pathspec-file-nul"); err != nil {
			return err
		}
	}
	if err := safefile.Write(filepath.Join(at, "large"), []byte(large), 0o600); err != nil {
		return err
	}
	err = safefile.Rename(filepath.Join(at, "new"), filepath.Join(at, "index"))
	if errors.Is(err, fs.ErrNotExist) { // the checkout was empty
		return g.withEnv("GIT_INDEX_FILE="+filepath.Join(at, "index")).run(ctx, "read-tree", "--empty")
	}
	return err
}

// splitUntracked returns the pathspecs of the untracked files that a baseline records, and the names of those that are
// too many or too large. Each ends with a NUL.
func splitUntracked(project string, files []string) (small, large string) {
	var record, leave strings.Builder
	for i, f := range files {
		st, err := os.Lstat(filepath.Join(project, filepath.FromSlash(f)))
		switch {
		case err != nil: // already deleted
		case i >= maxUntrackedFiles, st.IsDir(), st.Mode().IsRegular() && st.Size() > maxUntrackedSize:
			leave.WriteString(f + "\x00")
		default:
			record.WriteString(":(literal)" + f + "\x00")
		}
	}
	return record.String(), leave.String()
}

// LoadBaseline returns the record in the folder at; ok is false if there is none.
func LoadBaseline(at string) (b Baseline, ok bool) {
	if _, err := os.Stat(filepath.Join(at, "index")); err != nil {
		return b, false
	}
	text, err := safefile.Read(filepath.Join(at, "large"), maxState)
	if err != nil {
		return b, false
	}
	return Baseline{Large: splitNUL(string(text)), Env: map[string]string{
		"GIT_INDEX_FILE":                   filepath.Join(at, "index"),
		"GIT_ALTERNATE_OBJECT_DIRECTORIES": strconv.Quote(filepath.Join(at, "objects")),
	}}, true
}
