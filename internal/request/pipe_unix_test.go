//go:build unix

package request

import (
	"errors"
	"path/filepath"
	"testing"

	"wavex/internal/safefile"
	"wavex/internal/testrepo"
)

// Named pipes in the place of files that a person may edit do not block.
func TestPipesInPlaceOfDocuments(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	testrepo.Files{".loop/shape/x": ""}.Write(t, w.dir)
	testrepo.NamedPipe(t, filepath.Join(w.dir, ".loop", "shape", "SHAPE.md"))
	m := w.machine(&memoryJournal{})
	testrepo.Must(t, m.open(w.opened()))
	if _, err := m.Run(t.Context()); !errors.Is(err, safefile.ErrNotRegular) {
		t.Errorf("the shape: %v", err)
	}
	w = newFixture(t)
	testrepo.Files{".loop/x": ""}.Write(t, w.dir)
	testrepo.NamedPipe(t, filepath.Join(w.dir, ".loop", "plan.md"))
	m = w.machine(&memoryJournal{})
	testrepo.Must(t, m.open(w.opened()))
	if res, err := m.Run(t.Context()); err != nil {
		t.Errorf("a phase: %+v, %v", res, err)
	}
}
