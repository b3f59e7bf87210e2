//go:build unix

package statefiles

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/loop"
	"wavex/internal/report/reporttest"
	"wavex/internal/testrepo"
)

// A named pipe, a device or a huge file in the place of a projection is set aside: the writer does
// not block and does not read without end.
func TestProjectionsReplacedByOthers(t *testing.T) {
	t.Parallel()
	for kind, put := range map[string]func(t *testing.T, path string){
		"a pipe":   func(t *testing.T, path string) { testrepo.NamedPipe(t, path) },
		"a device": func(t *testing.T, path string) { testrepo.Must(t, os.Symlink("/dev/zero", path)) },
		"very long": func(t *testing.T, path string) {
			testrepo.Must(t, os.WriteFile(path, nil, 0o600))
			testrepo.Must(t, os.Truncate(path, 1<<33)) // sparse
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, name := range names {
				put(t, filepath.Join(dir, name))
			}
			var told string
			w := NewWriter(loop.Dir(dir), nil, func(err error) { told += err.Error() })
			reporttest.CompleteRun(t, w.Event)
			_ = w.Close() // warn has received it
			for _, name := range names {
				st, err := os.Lstat(filepath.Join(dir, name))
				if err != nil || !st.Mode().IsRegular() || st.Size() > MaxFile {
					t.Errorf("%s: %v, %v", name, st, err)
				}
			}
			for _, name := range []string{loop.WorkflowFile, loop.LinearFile} {
				st, err := os.Lstat(filepath.Join(dir, name+".bad"))
				if err != nil || kind != "very long" && st.Mode().Type() == 0 || !strings.Contains(told, name+".bad") {
					t.Errorf("%s was not set aside: %v; told %s", name, err, told)
				} else if kind == "a pipe" && st.Mode().Type() != fs.ModeNamedPipe {
					t.Errorf("%s.bad is %s", name, st.Mode())
				}
			}
		})
	}
}
