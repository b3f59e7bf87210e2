//go:build unix

package safefile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// replacingOpener is an opener whose file becomes a pipe after the first Stat.
type replacingOpener struct{ osOpener }

func (replacingOpener) Stat(name string) (fs.FileInfo, error) {
	return os.Stat(filepath.Dir(name) + "/file")
}

func TestReplacedBetweenStatAndOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "file"), nil, 0o600), unix.Mkfifo(filepath.Join(dir, "pipe"),
		0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := open(replacingOpener{}, filepath.Join(dir, "pipe")); !errors.Is(err, ErrNotRegular) {
		t.Errorf("%v", err)
	}
}
