package safefile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/loop"
	"wavex/internal/safefile"
	"wavex/internal/testrepo"
)

// A directory is made with its parents, but not with the .loop that it is in.
func TestMkdirAll(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	dir := loop.In(project)
	if err := safefile.MkdirAll(dir.Task("r", "a"), 0o700); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without .loop: %v", err)
	}
	if left, err := os.ReadDir(project); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	testrepo.Must(t, os.Mkdir(string(dir), 0o700))
	for _, path := range []string{dir.Task("r", "a"), filepath.Join(project, "b", "c"), string(dir)} {
		if err := safefile.MkdirAll(path, 0o700); err != nil {
			t.Error(err)
		}
		if st, err := os.Stat(path); err != nil || !st.IsDir() {
			t.Errorf("%s: %v", path, err)
		}
	}
}
