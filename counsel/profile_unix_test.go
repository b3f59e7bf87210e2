//go:build unix

package counsel

import (
	"errors"
	"path/filepath"
	"strings"
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
	if _, err := LoadRoster(dir); !errors.Is(err, safefile.ErrNotRegular) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}
