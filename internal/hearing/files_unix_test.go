//go:build unix

package hearing

import (
	"path/filepath"
	"testing"

	"wavex/internal/roomtest"
)

// A named pipe where a file was declared keeps nobody waiting.
func TestPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	roomtest.Pipe(t, filepath.Join(dir, "pipe"))
	if head(dir, "pipe") != "" || fileSum(dir, "pipe") != "" || quoted(dir, "pipe", "some words") {
		t.Error("something was read from a pipe")
	}
	text, err := since{dir: dir}.changes(t.Context(), []string{"pipe"})
	if text != "" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}
