package journal

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// A journal whose project is moved is written on at its new place, and nothing is created at the old path.
func TestProjectMovedByOthers(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not move directories with open files")
	}
	for name, c := range map[string]struct {
		harm  func(from, to string) error
		moved bool
		names bool // the error names the new path, on Linux
		at    func(from, to string) string
	}{
		"unchanged": {func(string, string) error { return nil }, false, false, func(from, _ string) string { return from }},
		"moved":     {os.Rename, true, true, func(_, to string) string { return to }},
		"cut, moved and back": {func(from, to string) error {
			return errors.Join(os.Truncate(filepath.Join(from, "loop", "j"), 0), os.Rename(from, to),
				os.Rename(to, from))
		}, false, false, func(from, _ string) string { return from }},
		"replaced": {func(from, to string) error {
			return errors.Join(os.Rename(from, to), os.MkdirAll(filepath.Join(from, "loop"), 0o700))
		}, true, true, func(_, to string) string { return to }},
		"replaced by a file": {func(from, to string) error {
			return errors.Join(os.Rename(from, to), os.WriteFile(from, nil, 0o600))
		}, true, true, func(_, to string) string { return to }},
		"moved and back": {func(from, to string) error { return errors.Join(os.Rename(from, to), os.Rename(to, from)) },
			false, false, func(from, _ string) string { return from }},
		"its parent moved": {func(from, to string) error { return os.Rename(filepath.Dir(from), to) },
			true, true, func(_, to string) string { return filepath.Join(to, "project") }},
		// Its records are only here.
		"removed": {func(from, _ string) error { return os.RemoveAll(from) }, true, false,
			func(from, _ string) string { return from }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			from, to := filepath.Join(top, "parent", "project"), filepath.Join(top, "new")
			must(t, os.MkdirAll(filepath.Join(from, "loop"), 0o700))
			l, _, err := Open(filepath.Join(from, "loop", "j"))
			must(t, err)
			err = errors.Join(l.Append([]byte(`{"n":1}`)), l.Sync(), c.harm(from, to), l.Append([]byte(`{"n":2}`)), l.Sync())
			must(t, err)
			at := c.at(from, to)
			switch e := l.Moved(); {
			case (e != nil) != c.moved:
				t.Errorf("moved: %v", e)
			case e != nil && (e.From != from || runtime.GOOS == "linux" && c.names != (e.To == at)):
				t.Errorf("moved from %s to %q", e.From, e.To)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if records, err := Read(filepath.Join(at, "loop", "j")); err != nil || len(records) != 2 {
				t.Errorf("%q at %s, %v", records, at, err)
			}
			if _, err := os.Stat(filepath.Join(from, "loop", "j")); at != from && err == nil {
				t.Error("there is a journal at the old path")
			}
			if open := openIn(top); len(open) > 0 {
				t.Errorf("still open: %q", open)
			}
		})
	}
}
