//go:build unix

package gitwork

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"wavex/internal/safefile"
)

// A named pipe in the place of a state file does not block.
func TestPipesInPlaceOfSavedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, unix.Mkfifo(filepath.Join(dir, "state.json"), 0o600))
	if _, err := readState(filepath.Join(dir, "state.json")); !errors.Is(err, safefile.ErrNotRegular) {
		t.Errorf("the state: %v", err)
	}
	m := newRepo(t, files{"a": "a\n"})
	w := m.open(m.options("r"))
	must(t, unix.Mkfifo(w.opts.Loop.Worktree("r", "json")+".new", 0o600))
	must(t, w.save())
}

// A named pipe in the place of git's index does not block.
func TestPipeInPlaceOfTheIndex(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "a\n"})
	points, err := OpenCheckpoints(t.Context(), r.dir, "r", r.env)
	must(t, err)
	must(t, points.BeforeWave(t.Context(), 1))
	index := filepath.Join(r.dir, ".git", "index")
	must(t, errors.Join(os.Remove(index), unix.Mkfifo(index, 0o600)))
	if _, _, _, err := points.BeforeRun(t.Context()); !errors.Is(err, safefile.ErrNotRegular) {
		t.Errorf("a comparison: %v", err)
	}
	if err := points.BeforeTask(t.Context(), "a"); !errors.Is(err, safefile.ErrNotRegular) {
		t.Errorf("a checkpoint: %v", err)
	}
}
