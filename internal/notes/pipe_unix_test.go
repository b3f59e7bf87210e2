//go:build unix

package notes

import (
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/testrepo"
)

// A context file that is not a regular file does not block, and is not overwritten.
func TestContextIsNotRegular(t *testing.T) {
	t.Parallel()
	entries := []Entry{{Section: Deviations, Lines: []string{"found"}}}
	for name, put := range map[string]func(path string){
		"a pipe":   func(path string) { testrepo.NamedPipe(t, path) },
		"a device": func(path string) { must(t, os.Symlink("/dev/zero", path)) },
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, ContextFile)
		put(path)
		if text, err := ReadContext(dir); text != "" || err == nil {
			t.Errorf("%s: read %q, %v", name, text, err)
		}
		if err := AppendEntries(dir, entries); err == nil {
			t.Errorf("%s: entries were added", name)
		}
		if st, err := os.Stat(path); err != nil || st.Mode().IsRegular() {
			t.Errorf("%s was replaced: %v", name, err)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, ContextFile)
	must(t, os.WriteFile(path, []byte("# long\n"), 0o600))
	must(t, os.Truncate(path, 1<<33)) // sparse
	if text, err := ReadContext(dir); len(text) != maxContext || err != nil {
		t.Errorf("of a long one %d bytes were read, %v", len(text), err)
	}
	if err := AppendEntries(dir, entries); err == nil {
		t.Error("entries were added to a long one")
	}
}
