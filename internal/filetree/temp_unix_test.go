//go:build unix

package filetree_test

import (
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/filetree"
	"wavex/internal/testrepo"
)

// If TMPDIR is in the project, the temporary files of wavex and its checks do not count as files of the project. Other
// files in TMPDIR do.
func TestTemporaryFoldersInTheProject(t *testing.T) {
	for _, git := range []bool{false, true} {
		dir := project(t, git, testrepo.Files{"a": "a\n", "tmp/theirs": "x\n"})
		t.Setenv("TMPDIR", filepath.Join(dir, "tmp"))
		own := func() string {
			made, err := os.MkdirTemp("", "wavex-")
			testrepo.Must(t, err)
			testrepo.Files{"0/wavex-control-1/project/a": "b\n"}.Write(t, made)
			return made
		}
		before := own()
		l, s := &filetree.Lister{}, filetree.Store{}
		was, _, err := l.First(t.Context(), dir, os.Environ())
		testrepo.Must(t, err)
		testrepo.Must(t, os.RemoveAll(before))
		own()
		testrepo.Files{"tmp/others-1/b": "b\n"}.Write(t, dir)
		if got := changes(t, l, s, dir, was); got != "+tmp/others-1/b" {
			t.Errorf("git %t: %s", git, got)
		}
	}
}
