//go:build unix

package wary

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/roomtest"
)

// Nothing that could keep waiting is opened.
func TestPipesAndDevices(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	roomtest.Pipe(t, filepath.Join(dir, "pipe"))
	roomtest.Must(t, os.Symlink("pipe", filepath.Join(dir, "link")))
	roomtest.Must(t, os.Symlink(os.DevNull, filepath.Join(dir, "device")))
	for _, name := range []string{"pipe", "link", "device"} {
		if _, err := Read(filepath.Join(dir, name), 1); !errors.Is(err, ErrNoFile) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := OpenIn(dir, name); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
}

// late is a place where the file becomes a pipe after the first look.
type late struct{ system }

func (late) Stat(name string) (fs.FileInfo, error) { return os.Stat(filepath.Dir(name) + "/file") }

func TestReplacedBetweenLookAndOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	roomtest.Files{"file": "x"}.Write(t, dir)
	roomtest.Pipe(t, filepath.Join(dir, "pipe"))
	if _, err := open(late{}, filepath.Join(dir, "pipe")); !errors.Is(err, ErrNoFile) {
		t.Errorf("%v", err)
	}
}
