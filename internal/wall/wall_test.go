//go:build unix

package wall

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestWrapper(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"a/f", "a/g", "a b/f", "loop/journal", "loop/trees/1/x", "loop/trees/2/x", "many/0"} {
		path := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{"link", "loop/link"} {
		if err := os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	w := &Wall{bwrap: "/usr/bin/bwrap"}
	for _, c := range []struct {
		name               string
		closed, open, want []string
	}{
		{"nothing", nil, nil, nil},
		{"missing", []string{"none", "a/none"}, nil, nil},
		{"twice", []string{"a/f", "a/f"}, nil, []string{"a/f"}},
		{"in a closed folder", []string{"a/f", "a", "a b/f"}, nil, []string{"a", "a b/f"}},
		{"a link", []string{"link/f"}, nil, []string{"a/f"}},
		{"with an open tree", []string{"loop"}, []string{"loop/trees/1"}, []string{"loop/journal", "loop/trees/2"}},
		{"open itself", []string{"loop"}, []string{"loop"}, []string{"loop"}},
		{"open elsewhere", []string{"loop"}, []string{"a", "loop/none"}, []string{"loop"}},
	} {
		abs := func(paths []string) (out []string) {
			for _, p := range paths {
				out = append(out, filepath.Join(dir, p))
			}
			return out
		}
		want := []string{"/usr/bin/bwrap", "--die-with-parent", "--unshare-user", "--dev-bind", "/", "/", "--proc", "/proc"}
		for _, p := range abs(c.want) {
			want = append(want, "--ro-bind-try", p, p)
		}
		want = append(want, "--cap-drop", "ALL")
		if got := w.Wrapper(abs(c.closed), abs(c.open)); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, " "), strings.Join(want, " "))
		}
	}
	var many []string
	for i := range maxBinds + 1 {
		many = append(many, filepath.Join(dir, "many", strconv.Itoa(i)))
		if err := os.WriteFile(many[i], nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(w.Wrapper(many, nil)) - len(w.Wrapper(nil, nil)); got != 3*maxBinds {
		t.Errorf("%d arguments for %d files", got, len(many))
	}
	if got := (*Wall)(nil).Wrapper(many, nil); got != nil {
		t.Errorf("no wall: %v", got)
	}
}
