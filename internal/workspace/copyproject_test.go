package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/loop"
	"wavex/internal/testrepo"
	"wavex/internal/usererr"
)

// A copy that fails leaves nothing behind.
func TestUnfinishedCopyIsRemoved(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	testrepo.Files{"CLAUDE.md": "", "large": ""}.Write(t, project)
	testrepo.Must(t, os.Truncate(filepath.Join(project, "large"), maxCopy+1)) // it has no blocks
	in := loop.In(project)
	testrepo.Must(t, os.MkdirAll(in.Run("r"), 0o700))
	err := CopyProject(t.Context(), in.Run("r", loop.MadeUp), project)
	if blocked := (*usererr.BlockedError)(nil); !errors.As(err, &blocked) {
		t.Errorf("a large project: %v", err)
	}
	if left, err := os.ReadDir(in.Run("r")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
