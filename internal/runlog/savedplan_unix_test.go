//go:build unix

package runlog

import (
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

// A named pipe in the place of an outline is not read as one, and does not block.
func TestPipeInPlaceOfTheSavedPlan(t *testing.T) {
	t.Parallel()
	folder := loop.Dir(t.TempDir())
	at := folder.Run("r-1", loop.Outline)
	testrepo.Must(t, os.MkdirAll(filepath.Dir(at), 0o700))
	testrepo.NamedPipe(t, at)
	if p := SavedPlan(folder, "r-1"); p != nil {
		t.Errorf("%+v", p)
	}
}
