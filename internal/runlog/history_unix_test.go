//go:build unix

package runlog

import (
	"path/filepath"
	"testing"

	"wavex/internal/event"
	"wavex/internal/testrepo"
)

// A named pipe in the place of the plan does not block the commands that show its run.
func TestPipeInPlaceOfThePlan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plan := filepath.Join(dir, "plan.json")
	testrepo.NamedPipe(t, plan)
	folder, _ := written(t, event.RunStarted{Config: event.Config{Run: "r-1"}, Plan: plan, Digest: "d"})
	for _, path := range []string{"", plan} {
		if past, err := Load(folder, path, ""); err == nil {
			t.Errorf("found %+v", past)
		}
		if past, err := LoadForDisplay(folder, path, ""); err == nil {
			t.Errorf("shown %+v", past)
		}
		if _, err := Follow(folder, path).Poll(nil); err == nil {
			t.Error("followed")
		}
	}
}
