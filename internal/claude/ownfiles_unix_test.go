//go:build unix

package claude

import (
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"wavex/internal/loop"
	"wavex/internal/safefile"
	"wavex/internal/testrepo"
)

// Named pipes that an agent leaves in place of wavex's own files do not block an attempt.
func TestPipesForOwnFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{loop.StreamFile, loop.StderrFile} {
		testrepo.Must(t, unix.Mkfifo(filepath.Join(dir, name), 0o600))
	}
	if _, err := RecoverCost(dir, nil, 0); !errors.Is(err, safefile.ErrNotRegular) {
		t.Errorf("the stream: %v", err)
	}
	if words := plainText(filepath.Join(dir, loop.StderrFile), "stray"); words != "stray" {
		t.Errorf("its words: %q", words)
	}
}
