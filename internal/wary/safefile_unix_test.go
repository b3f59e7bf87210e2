//go:build unix

package wary_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/roomtest"
	"wavex/internal/wary"
)

// Files whose opening could block are not opened.
func TestPipesAndDevices(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	roomtest.NamedPipe(t, filepath.Join(dir, "pipe"))
	roomtest.Must(t, os.Symlink("pipe", filepath.Join(dir, "link")))
	roomtest.Must(t, os.Symlink(os.DevNull, filepath.Join(dir, "device")))
	for _, name := range []string{"pipe", "link", "device"} {
		if _, err := wary.Read(filepath.Join(dir, name), 1); !errors.Is(err, wary.ErrNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := wary.OpenIn(dir, name); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
}

// A file of wavex replaces a pipe or a link, and does not change the link's target.
func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	roomtest.Files{"file": "a long text"}.Write(t, dir)
	roomtest.NamedPipe(t, filepath.Join(dir, "pipe"))
	roomtest.Must(t, os.Symlink(os.DevNull, filepath.Join(dir, "device")))
	roomtest.Files{"theirs": "a long text of theirs"}.Write(t, dir)
	roomtest.Must(t, os.Symlink("theirs", filepath.Join(dir, "link")))
	roomtest.Must(t, os.Symlink("nowhere", filepath.Join(dir, "dangling")))
	for _, name := range []string{"pipe", "device", "file", "none", "link", "dangling"} {
		path := filepath.Join(dir, name)
		roomtest.Must(t, wary.Write(path, []byte("text"), 0o600))
		if text, err := wary.Read(path, 9); string(text) != "text" || err != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if text, err := wary.Read(filepath.Join(dir, "theirs"), 99); string(text) != "a long text of theirs" || err != nil {
		t.Errorf("theirs: %q, %v", text, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a link was followed")
	}
	if err := wary.Write(dir, nil, 0o600); err == nil {
		t.Error("a directory was written")
	}
}
