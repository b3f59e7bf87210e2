//go:build unix

package runner

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/checkfiles"
)

// A copy has its own dependencies: a check in it, such as npm ci, must not empty those of the project.
func TestCopyHasNoLinkToTheProject(t *testing.T) {
	t.Parallel()
	dir, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for _, sub := range []string{"node_modules/dep", ".venv/bin"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	a := &attempt{req: Request{Dir: dir, CheckFiles: &CheckFiles{}}}
	if err := a.copyProject(t.Context(), to, nil); err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"node_modules", ".venv"} {
		if info, err := os.Lstat(filepath.Join(to, sub)); err != nil || !info.IsDir() {
			t.Errorf("%s in the copy is %v, %v", sub, info, err)
		}
	}
}

// A copy that is too large is given up before the file system is full.
func TestCopyIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sparse := filepath.Join(dir, "large")
	if err := os.WriteFile(sparse, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, maxCopiedBytes+1); err != nil {
		t.Fatal(err)
	}
	a := &attempt{req: Request{Dir: dir, CheckFiles: &CheckFiles{}}}
	if err := a.copyProject(t.Context(), filepath.Join(t.TempDir(), "copy"), nil); !errors.Is(err, errTooManyBytes) {
		t.Error(err)
	}
}

// The old version of a file is not written through a link that leaves the copy.
func TestOldVersionsStayInTheCopy(t *testing.T) {
	t.Parallel()
	outside, root := t.TempDir(), t.TempDir()
	kept := filepath.Join(outside, "a_test.go")
	if err := os.WriteFile(kept, []byte("the user's"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "linked")); err != nil {
		t.Fatal(err)
	}
	old := checkfiles.Version{State: checkfiles.State("file 1"), Text: []byte("old")}
	if err := restoreIn(root, changedFile{path: "linked/a_test.go", old: old}); err == nil {
		t.Error("it was written")
	}
	if text, err := os.ReadFile(kept); err != nil || string(text) != "the user's" {
		t.Errorf("the user's file is %q, %v", text, err)
	}
}
