//go:build unix

package inspect

import (
	"path/filepath"
	"testing"

	"wavex/internal/testrepo"
)

// A named pipe in place of a declared file does not block.
func TestPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.NamedPipe(t, filepath.Join(dir, "a.go"))
	a, _ := newInspection(t, dir, `{"links":[{"from":"a.go","to":"a.go"}],"tasks":[{"id":"a","subject":"a","files":["a.go"]}]}`)
	if doc, err := a.Run(t.Context(), nil); err != nil || len(doc.Gaps) != 1 {
		t.Errorf("%q, %v", gapLines(doc), err)
	}
}
