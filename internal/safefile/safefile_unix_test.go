//go:build unix

package safefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/safefile"
	"wavex/internal/testrepo"
)

// Files whose opening could block are not opened.
func TestPipesAndDevices(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.NamedPipe(t, filepath.Join(dir, "pipe"))
	testrepo.Must(t, os.Symlink("pipe", filepath.Join(dir, "link")))
	testrepo.Must(t, os.Symlink(os.DevNull, filepath.Join(dir, "device")))
	for _, name := range []string{"pipe", "link", "device"} {
		if _, err := safefile.Read(filepath.Join(dir, name), 1); !errors.Is(err, safefile.ErrNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := safefile.OpenIn(dir, name); err == nil {
			t.Errorf("%s was opened", name)
		}
		if _, err := safefile.OpenFound(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s was opened as a file that was found", name)
		}
	}
}

// A file of wavex replaces a pipe or a link, and does not change the link's target.
func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Files{"file": "a long text"}.Write(t, dir)
	testrepo.NamedPipe(t, filepath.Join(dir, "pipe"))
	testrepo.Must(t, os.Symlink(os.DevNull, filepath.Join(dir, "device")))
	testrepo.Files{"theirs": "a long text of theirs"}.Write(t, dir)
	testrepo.Must(t, os.Symlink("theirs", filepath.Join(dir, "link")))
	testrepo.Must(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	for _, name := range []string{"pipe", "device", "file", "none", "link", "dangling"} {
		path := filepath.Join(dir, name)
		testrepo.Must(t, safefile.Write(path, []byte("text"), 0o600))
		if text, err := safefile.Read(path, 9); string(text) != "text" || err != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if text, err := safefile.Read(filepath.Join(dir, "theirs"), 99); string(text) != "a long text of theirs" ||
		err != nil {
		t.Errorf("theirs: %q, %v", text, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a link was followed")
	}
	if err := safefile.Write(dir, nil, 0o600); err == nil {
		t.Error("a directory was written")
	}
}
