//go:build unix

package runner

import (
	"errors"
	"io/fs"
	"os"
	"testing"
)

// A file that another program has written, made or removed since it was looked at is left alone.
func TestReplaceChanging(t *testing.T) {
	t.Parallel()
	root, err := os.OpenRoot(t.TempDir())
	must(t, err)
	defer func() { _ = root.Close() }() // a directory
	write := func(text string) fs.FileInfo {
		_ = root.Remove("f")
		st, err := os.FileInfo(nil), root.WriteFile("f", []byte(text), 0o600)
		if err == nil {
			st, err = root.Lstat("f")
		}
		must(t, err)
		return st
	}
	was := write("first")
	write("saved by the user")
	for _, st := range []fs.FileInfo{was, nil} {
		err := replaceIfSame(root, "f", st, []byte("old"), 0o600)
		if text, _ := root.ReadFile("f"); !errors.Is(err, errChanging) || string(text) != "saved by the user" {
			t.Errorf("%v, and the file has %q", err, text)
		}
	}
	if err := replaceIfSame(root, "f", write("evil"), []byte("old"), 0o640); err != nil {
		t.Error(err)
	}
	if text, err := root.ReadFile("f"); string(text) != "old" {
		t.Errorf("%q %v", text, err)
	}
	if _, err := root.Lstat(nextUserFile); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", nextUserFile, err)
	}
}
