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

// Nothing that could keep waiting is opened.
func TestPipesAndDevices(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	roomtest.Pipe(t, filepath.Join(dir, "pipe"))
	roomtest.Must(t, os.Symlink("pipe", filepath.Join(dir, "link")))
	roomtest.Must(t, os.Symlink(os.DevNull, filepath.Join(dir, "device")))
	for _, name := range []string{"pipe", "link", "device"} {
		if _, err := wary.Read(filepath.Join(dir, name), 1); !errors.Is(err, wary.ErrNoFile) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := wary.OpenIn(dir, name); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
}
