//go:build unix

package proc

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
	abs := func(paths []string) (out []string) {
		for _, p := range paths {
			out = append(out, filepath.Join(dir, p))
		}
		return out
	}
	w := &Wall{bwrap: "/usr/bin/bwrap"}
	for _, c := range []struct {
		name         string
		closed, want []string
		open         string
	}{
		{"nothing", nil, nil, "a"},
		{"missing", []string{"none", "a/none"}, nil, "a"},
		{"twice", []string{"a/f", "a/f"}, []string{"a/f"}, ""},
		{"in a closed folder", []string{"a/f", "a", "a b/f"}, []string{"a", "a b/f"}, "none"},
		{"a link", []string{"link/f"}, []string{"a/f"}, "a"},
		{"all but a tree", []string{"loop/trees/1/x", "loop"}, []string{"loop", "+loop/trees/1", "loop/trees/1/x"},
			"loop/trees/1"},
		{"a closed tree", []string{"loop"}, []string{"loop"}, "loop"},
	} {
		want := []string{"/usr/bin/bwrap", "--die-with-parent", "--unshare-user", "--dev-bind", "/", "/", "--proc", "/proc"}
		for _, p := range c.want {
			if p, open := strings.CutPrefix(p, "+"); open {
				want = append(want, "--bind", filepath.Join(dir, p), filepath.Join(dir, p))
				continue
			}
			want = append(want, "--ro-bind-try", filepath.Join(dir, p), filepath.Join(dir, p))
		}
		want = append(want, "--cap-drop", "ALL")
		if got := w.Wrapper(abs(c.closed), filepath.Join(dir, c.open)); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, " "), strings.Join(want, " "))
		}
	}
	strict := &Wall{bwrap: "/usr/bin/bwrap", strict: true, open: abs([]string{"many"})}
	got := strings.Join(strict.Offline(abs([]string{"loop", "a/f"}), abs([]string{"loop/trees/1", "a"})...), " ")
	want := "/usr/bin/bwrap --die-with-parent --unshare-user --ro-bind / / --dev /dev --ro-bind /dev/null /dev/tty " +
		"--proc /proc --setenv TMPDIR /tmp"
	// loop is read-only as all else is; in a private /tmp it would have to be bound.
	binds := map[string][]string{"--bind": {"a", "loop/trees/1", "many"}, "--ro-bind-try": {"a/f"}}
	for option, paths := range binds {
		for _, p := range abs(paths) {
			if !strings.Contains(got, " "+option+" "+p+" "+p+" ") {
				t.Errorf("strict: no %s of %s in %s", option, p, got)
			}
		}
	}
	if !strings.HasPrefix(got, want) || !strings.HasSuffix(got, " --unshare-net --cap-drop ALL") ||
		!strings.Contains(got, " --tmpfs ") {
		t.Errorf("strict: %s", got)
	}
	if open := strict.Wrapper(nil, abs([]string{"a"})...); slices.Contains(open, "--unshare-net") {
		t.Errorf("with a network: %v", open)
	}
	if !strict.Strict() || w.Strict() || w.Offline(nil, dir) != nil || (*Wall)(nil).Offline(nil) != nil {
		t.Error("a wall that is not strict takes the network away")
	}
	var many []string
	for i := range maxBinds + 1 {
		many = append(many, filepath.Join(dir, "many", strconv.Itoa(i)))
		if err := os.WriteFile(many[i], nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(w.Wrapper(many, "")) - len(w.Wrapper(nil, "")); got != 3*maxBinds {
		t.Errorf("%d arguments for %d files", got, len(many))
	}
	if got := len(strict.Wrapper(many, dir)) - len(strict.Wrapper(nil, dir)); got != 3*len(many) {
		t.Errorf("strict: %d arguments for %d files", got, len(many))
	}
	if got := (*Wall)(nil).Wrapper(many, ""); got != nil {
		t.Errorf("no wall: %v", got)
	}
}

// With opens directories to the programs of a strict wall, where their links lead when it is called. What replaces one
// by a link opens nothing.
func TestWith(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"tree/git/hooks", "home", "real"} {
		must(os.MkdirAll(at(name), 0o755))
	}
	must(os.Symlink(at("real"), at("link")))
	bound := func(w *Wall, option, path string) bool {
		return strings.Contains(strings.Join(w.Wrapper(nil, at("tree")), " "), " "+option+" "+path+" ")
	}
	w := (&Wall{bwrap: "bwrap", strict: true}).With([]string{at("tree/git"), at("link"), ""},
		[]string{at("tree/git/hooks")})
	for path, option := range map[string]string{"tree": "--bind", "tree/git": "--bind", "real": "--bind",
		"tree/git/hooks": "--ro-bind-try"} {
		if !bound(w, option, at(path)) {
			t.Errorf("no %s of %s: %v", option, path, w.Wrapper(nil, at("tree")))
		}
	}
	must(os.RemoveAll(at("tree/git")))
	must(os.Symlink(at("home"), at("tree/git")))
	must(os.Remove(at("real")))
	must(os.Symlink(at("home"), at("real")))
	if bound(w, "--bind", at("home")) {
		t.Errorf("a link opens home: %v", w.Wrapper(nil, at("tree")))
	}
	home := []string{at("home")}
	if auto := (&Wall{bwrap: "bwrap"}).With(home, home); bound(auto, "--bind", at("home")) ||
		!bound(auto, "--ro-bind-try", at("home")) || (*Wall)(nil).With(nil, nil) != nil {
		t.Errorf("a wall that is not strict: %v", auto.Wrapper(nil, at("tree")))
	}
}
