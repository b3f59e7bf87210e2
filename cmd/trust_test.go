package cmd

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"wavex/internal/testrepo"
)

// Plans of the repository, and of folders that have it in them, are the user's; a folder that all users share
// is not.
func TestIsOwn(t *testing.T) {
	t.Parallel()
	root := realPath(t.TempDir())
	for _, dir := range []string{"a/repo/sub", "a/repo-2", "a/none/sub", "a/none/.git", "shared2/mine", "shared2/evil"} {
		testrepo.Must(t, os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	for _, dir := range []string{"a/repo", "shared/repo", "shared2"} { // a worktree; the .git above is empty
		testrepo.Files{".git": "gitdir: elsewhere\n"}.Write(t, filepath.Join(root, dir))
	}
	for _, dir := range []string{"shared", "shared2"} {
		testrepo.Must(t, os.Chmod(filepath.Join(root, dir), 0o777|os.ModeSticky))
	}
	for _, c := range []struct {
		folder, here string
		want         bool
	}{
		{"a/repo", "a/repo", true}, {"a/repo", "a/repo/sub", true}, {"a/repo/sub", "a/repo", true},
		{"a", "a/repo", true}, {".", "a/repo/sub", true}, {"a/repo-2", "a/repo", false}, {"a/repo", "a/repo-2", false},
		{"a/repo/other", "a/repo/sub", true}, {"a/gone", "a/repo", false},
		{"a/none/sub", "a/none", true}, {"a/none", "a/none/sub", true}, {"a/none", "a/repo", false},
		{"a/none/other", "a/none/sub", false},
		{"shared/repo", "shared/repo", true}, {".", "shared/repo", true},
		{"shared", "shared/repo", runtime.GOOS == "windows"},        // there the folder for temporary files is the user's
		{"shared2/evil", "shared2/mine", runtime.GOOS == "windows"}, // anyone can make a repository of a shared folder
	} {
		if got := isOwn(filepath.Join(root, c.folder), filepath.Join(root, c.here)); got != c.want {
			t.Errorf("a plan in %s is own in %s: %v", c.folder, c.here, got)
		}
	}
}
