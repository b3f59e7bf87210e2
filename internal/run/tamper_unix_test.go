//go:build unix

package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/loop"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// A named pipe, a device or a huge file in the place of a file is reported, and does not block; a
// pipe that existed before is ignored.
func TestTamperDetectorReadsRegularFilesOnly(t *testing.T) {
	t.Parallel()
	const plan, base, projection, other = "plan.json", ".loop/runs/r/tasks/a/base.json", ".loop/state.json",
		".loop/SHAPE.md"
	all := []string{plan, base, projection, other}
	for name, put := range map[string]func(t *testing.T, path string){
		"a pipe":   func(t *testing.T, path string) { testrepo.NamedPipe(t, path) },
		"a device": func(t *testing.T, path string) { testrepo.Must(t, os.Symlink("/dev/zero", path)) },
		"very long": func(t *testing.T, path string) {
			testrepo.Must(t, errors.Join(os.WriteFile(path, []byte("old"), 0o600), os.Truncate(path, 1<<33)))
		},
	} {
		for i, file := range all {
			t.Run(fmt.Sprint(name, i), func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				testrepo.Files{plan: "old", base: "old", projection: "old", other: "old"}.Write(t, dir)
				s := tamperDetector{loop: loop.In(dir), plan: filepath.Join(dir, plan),
					isOwnWrite: func(string, []byte) bool { return false }, moved: func() error { return nil }}
				req := runner.Request{Dir: dir, Baseline: filepath.Join(dir, base)}
				got := s.tampers(t, req, func() error {
					path := filepath.Join(dir, file)
					testrepo.Must(t, os.Remove(path))
					put(t, path)
					return nil
				})
				want := file
				if file == base {
					want = ".loop/runs"
				}
				if len(got) != 1 || got[0].Path != want {
					t.Errorf("told %v, want %s", got, want)
				}
				if again := s.tampers(t, req, func() error { return nil }); len(again) > 0 {
					t.Errorf("told again: %v", again)
				}
			})
		}
	}
}
