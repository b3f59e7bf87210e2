//go:build unix

package stage_test

import (
	"errors"
	"path/filepath"
	"testing"

	"wavex/internal/roomtest"
	"wavex/internal/wary"
)

// Named pipes in the place of files that a person may edit do not block.
func TestPipesInPlaceOfDocuments(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	roomtest.Files{".loop/shape/x": ""}.Write(t, w.dir)
	roomtest.NamedPipe(t, filepath.Join(w.dir, ".loop", "shape", "SHAPE.md"))
	m := w.machine(&memoryJournal{})
	roomtest.Must(t, m.Open(w.opened()))
	if _, err := m.Run(t.Context()); !errors.Is(err, wary.ErrNotRegular) {
		t.Errorf("the shape: %v", err)
	}
	w = newFixture(t)
	roomtest.Files{".loop/x": ""}.Write(t, w.dir)
	roomtest.NamedPipe(t, filepath.Join(w.dir, ".loop", "plan.md"))
	m = w.machine(&memoryJournal{})
	roomtest.Must(t, m.Open(w.opened()))
	if res, err := m.Run(t.Context()); err != nil {
		t.Errorf("a phase: %+v, %v", res, err)
	}
}
