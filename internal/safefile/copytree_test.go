package safefile

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestCopyTree(t *testing.T) {
	t.Parallel()
	from, to, errStop := t.TempDir(), filepath.Join(t.TempDir(), "copy"), errors.New("stop")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	old := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	must(os.MkdirAll(filepath.Join(from, "sub", "skipped"), 0o755))
	must(os.WriteFile(filepath.Join(from, "sub", "tool"), []byte("tool"), 0o755))
	must(os.WriteFile(filepath.Join(from, "sub", "left"), nil, 0o644))
	must(os.Chtimes(filepath.Join(from, "sub", "tool"), old, old))
	must(os.Symlink("tool", filepath.Join(from, "sub", "link")))
	must(CopyTree(t.Context(), from, to, func(rel string, _ fs.DirEntry) (bool, error) {
		return rel == filepath.Join("sub", "skipped") || rel == filepath.Join("sub", "left"), nil
	}))
	st, err := os.Stat(filepath.Join(to, "sub", "tool"))
	must(err)
	if !st.ModTime().Equal(old) || st.Size() != 4 {
		t.Errorf("%v of %d bytes", st.ModTime(), st.Size())
	}
	if link, err := os.Readlink(filepath.Join(to, "sub", "link")); link != "tool" {
		t.Errorf("the link leads to %q, %v", link, err)
	}
	if all, err := os.ReadDir(filepath.Join(to, "sub")); len(all) != 2 {
		t.Errorf("the copy has %v, %v", all, err)
	}
	stop := func(string, fs.DirEntry) (bool, error) { return false, errStop }
	if err := CopyTree(t.Context(), from, to+"2", stop); !errors.Is(err, errStop) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStop)
	if err := CopyTree(ctx, from, to+"2", nil); !errors.Is(err, errStop) {
		t.Error(err)
	}
}
