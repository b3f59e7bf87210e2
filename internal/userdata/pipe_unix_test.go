//go:build unix

package userdata

import (
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"wavex/internal/safefile"
	"wavex/internal/testrepo"
)

// A named pipe in place of a file of learnings is refused and does not block.
func TestPipeInPlaceOfLearnings(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), learningsFile)
	testrepo.Must(t, unix.Mkfifo(path, 0o600))
	if _, _, err := LoadLearnings(path); !errors.Is(err, safefile.ErrNotRegular) {
		t.Errorf("read: %v", err)
	}
	if err := AddLearnings(path, []Learning{{Failure: "x"}}, Shared); !errors.Is(err, safefile.ErrNotRegular) {
		t.Errorf("added: %v", err)
	}
}
