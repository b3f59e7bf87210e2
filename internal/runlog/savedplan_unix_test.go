//go:build unix

package runlog

import (
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/testrepo"
)

// A named pipe in the place of an outline is no outline, and does not block.
func TestPipeInPlaceOfTheSavedPlan(t *testing.T) {
	t.Parallel()
	loop := t.TempDir()
	at := savedPlanPath(loop, "r-1")
	testrepo.Must(t, os.MkdirAll(filepath.Dir(at), 0o700))
	testrepo.NamedPipe(t, at)
	if p := SavedPlan(loop, "r-1"); p != nil {
		t.Errorf("%+v", p)
	}
}
