//go:build unix

package record

import (
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/roomtest"
)

// A named pipe in the place of an outline is no outline, and does not block.
func TestPipeInPlaceOfTheSavedPlan(t *testing.T) {
	t.Parallel()
	loop := t.TempDir()
	at := savedPlanPath(loop, "r-1")
	roomtest.Must(t, os.MkdirAll(filepath.Dir(at), 0o700))
	roomtest.NamedPipe(t, at)
	if p := SavedPlan(loop, "r-1"); p != nil {
		t.Errorf("%+v", p)
	}
}
