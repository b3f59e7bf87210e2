//go:build unix

package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"wavex/internal/wary"
)

// Named pipes for what is kept of a workspace keep nobody waiting.
func TestPipesForWhatIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"state.json", "large"} {
		must(t, unix.Mkfifo(filepath.Join(dir, name), 0o600))
	}
	must(t, os.WriteFile(filepath.Join(dir, "index"), nil, 0o600))
	if _, err := readState(filepath.Join(dir, "state.json")); !errors.Is(err, wary.ErrNoFile) {
		t.Errorf("the state: %v", err)
	}
	if b, ok := Remembered(dir); ok {
		t.Errorf("remembered: %+v", b)
	}
}
