//go:build unix

package counsel

import (
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"wavex/internal/safefile"
)

// A named pipe as an expert's profile is refused and does not block.
func TestProfileThatIsAPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "expert.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadRoster(dir, nil); !errors.Is(err, safefile.ErrNotRegular) {
		t.Errorf("%v", err)
	}
}
