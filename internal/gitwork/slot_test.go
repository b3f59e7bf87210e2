package gitwork

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"wavex/internal/testrepo"
)

// The files that an attempt leaves in its TMPDIR are removed before the next one, including those
// of an earlier session. A TMPDIR that was not used is kept.
func TestTempDirIsEmptyForTheNextAttempt(t *testing.T) {
	t.Parallel()
	var s slots
	temp, err := s.open("r1", t.TempDir())
	testrepo.Must(t, err)
	t.Cleanup(func() { _ = s.close() })
	must := func(err error) {
		t.Helper()
		testrepo.Must(t, err)
	}
	must(os.Mkdir(filepath.Join(temp, "3"), 0o700))
	must(os.WriteFile(filepath.Join(temp, "3", "old"), nil, 0o600))
	for _, step := range []struct {
		name string
		slot int
		work func(dir string) error
	}{
		{"of an earlier session", 3, func(string) error { return nil }},
		{"nothing", 0, func(string) error { return nil }},
		{"a file", 0, func(dir string) error { return os.WriteFile(filepath.Join(dir, "x"), nil, 0o600) }},
		{"nothing again", 0, func(string) error { return nil }},
		{"a file for a while", 0, func(dir string) error {
			path := filepath.Join(dir, "x")
			must(os.WriteFile(path, nil, 0o600))
			return os.Remove(path)
		}},
		{"a folder after that", 0, func(dir string) error { return os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700) }},
		{"rights", 0, func(dir string) error { return os.Chmod(dir, 0o755) }},
		{"another slot", 1, func(dir string) error { return os.WriteFile(filepath.Join(dir, "y"), nil, 0o600) }},
	} {
		dir := s.env(step.slot)["TMPDIR"]
		must(step.work(dir))
		s.emptyDir(step.slot)
		again := s.env(step.slot)["TMPDIR"]
		left, err := os.ReadDir(again)
		if again != dir || err != nil || len(left) > 0 {
			t.Errorf("after %s: %s, %v, %v left", step.name, again, err, left)
		}
		if info, err := os.Stat(again); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
			t.Errorf("after %s: %v, %v", step.name, info, err)
		}
	}
	// One Lstat suffices if nothing was done.
	before, err := os.Stat(s.env(0)["TMPDIR"])
	must(err)
	s.emptyDir(0)
	after, err := os.Stat(s.env(0)["TMPDIR"])
	must(err)
	if !os.SameFile(before, after) || !after.ModTime().Equal(pristineTime()) {
		t.Errorf("an untouched folder was changed: %v, %v", before.ModTime(), after.ModTime())
	}
}

// The error of a missing TMPDIR says what to do.
func TestTempDirIsMissing(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	t.Setenv("TMP", filepath.Join(t.TempDir(), "missing")) // on Windows
	if _, err := new(slots).open("r", ""); !errors.Is(err, fs.ErrNotExist) || !strings.HasSuffix(err.Error(),
		"; make it, or set TMPDIR to another one") {
		t.Errorf("opened with %v", err)
	}
}

// The state file of a run may name any folder as that of its TMPDIRs: only one that wavex makes is used, and removed.
func TestTempOfAnotherProgram(t *testing.T) {
	t.Parallel()
	own, err := os.MkdirTemp("", tempPrefix)
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(own) })
	deep, other := filepath.Join(own, tempPrefix+"x"), t.TempDir()
	link := own + "-link"
	must(t, errors.Join(os.Mkdir(deep, 0o700), os.Symlink(other, link)))
	t.Cleanup(func() { _ = os.Remove(link) })
	for dir, want := range map[string]bool{own: true, "": false, other: false, deep: false, link: false,
		os.TempDir(): false, own + "-none": false} {
		if got := isTemp(dir); got != want {
			t.Errorf("%q: %v", dir, got)
		}
	}
}
