package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/plan"
)

func TestProtected(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	for _, f := range []string{"go.mod", "sub/a.go", "golden/x/y.txt", ".git/golden", ".loop/go.mod"} {
		put(f, "as it was")
	}
	dir := filepath.Join(root, "sub")
	req := Request{Dir: dir, Settings: plan.Settings{Dir: "sub"}, Protect: []string{"go.mod", "golden", "*.lock"}}
	b := baseline{Protected: req.protected()}
	if len(b.Protected) != 2 {
		t.Fatalf("protected are %v", b.Protected)
	}
	missing := req
	missing.Dir = filepath.Join(root, "missing", "sub")
	if got := missing.protected(); len(got) > 0 {
		t.Errorf("protected in a missing folder are %v", got)
	}
	if got := b.changedProtected(&req); got != nil {
		t.Errorf("nothing changed, and %v is broken", got)
	}
	put("sub/a.go", "changed")
	put("golden/x/y.txt", "changed")
	put("new.lock", "new")
	must(t, os.Remove(filepath.Join(root, "go.mod")))
	if got, want := b.changedProtected(&req), []string{"go.mod", "golden/x/y.txt", "new.lock"}; !slices.Equal(got,
		want) {
		t.Errorf("broken are %v, want %v", got, want)
	}
	for i := range 10 {
		put(fmt.Sprintf("%d.lock", i), "new")
	}
	if got := b.changedProtected(&req); len(got) != 10 || got[0] != "0.lock" {
		t.Errorf("of many, %v are named", got)
	}
	if got := b.changedProtected(&Request{Dir: root}); got != nil { // the plan protects nothing any more
		t.Errorf("not protected any more, %v is broken", got)
	}
	all := Request{Dir: root, Settings: plan.Settings{Dir: "."}, Protect: []string{"*"}}
	if got := all.protected(); len(got) != 13 { // no file of git or wavex
		t.Errorf("protected are %v", got)
	}
}

// If very many files are protected, the first ones are watched.
func TestManyProtectedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for n := range maxProtected + 3 {
		must(t, os.Symlink("gone", filepath.Join(dir, fmt.Sprintf("%05d", n))))
	}
	got := (&Request{Dir: dir, Protect: []string{"*"}}).protected()
	if _, over := got["20000"]; over || len(got) != maxProtected || got["19999"] != "link gone" {
		t.Errorf("%d files are watched", len(got))
	}
}

// The digest of a directory is that of its names and contents, without git's.
func TestFileDigest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	seen := map[string]string{}
	differs := func(step string) {
		t.Helper()
		d := FileDigest(dir, "sub")
		if d != FileDigest("/elsewhere", sub) {
			t.Errorf("%s: the absolute path has another digest", step)
		}
		if other, taken := seen[d]; taken {
			t.Errorf("%s: the digest %q is that of %s", step, d, other)
		}
		seen[d] = step
	}
	differs("missing")
	if _, is := seen[""]; !is {
		t.Errorf("a missing file has a digest: %v", seen)
	}
	must(t, os.Symlink("nowhere", sub))
	differs("a broken link")
	must(t, os.Remove(sub))
	must(t, os.WriteFile(sub, []byte("x"), 0o600))
	differs("a file")
	must(t, os.Remove(sub))
	must(t, os.MkdirAll(filepath.Join(sub, ".git"), 0o700))
	differs("a directory")
	git := FileDigest(dir, "sub")
	must(t, os.WriteFile(filepath.Join(sub, ".git", "index"), []byte("x"), 0o600))
	if FileDigest(dir, "sub") != git {
		t.Error("git's files count")
	}
	must(t, os.WriteFile(filepath.Join(sub, "a"), []byte("x"), 0o600))
	differs("with a file")
	must(t, os.WriteFile(filepath.Join(sub, "a"), []byte("y"), 0o600))
	differs("with another content")
	must(t, os.Rename(filepath.Join(sub, "a"), filepath.Join(sub, "b")))
	differs("with another name")
	if open := openIn(dir); open != nil {
		t.Errorf("open are %q", open)
	}
	if d := treeDigest(filepath.Join(dir, "missing")); seen[d] != "" || d == "" {
		t.Errorf("the digest of an unreadable directory is %q", d)
	}
	if d := FileDigest("", os.DevNull); !strings.HasPrefix(d, "special ") {
		t.Errorf("the digest of a device is %q", d)
	}
}

// A directory is unreadable if something in it is, such as a path that is longer than the system allows.
func TestFileDigestOfLongPaths(t *testing.T) {
	t.Parallel()
	for _, isDir := range []bool{false, true} {
		dir := t.TempDir()
		deep := strings.Repeat(strings.Repeat("d", 99)+"/", (4090-len(dir))/100) // the path of a folder that can be read
		root, err := os.OpenRoot(dir)                                            // it opens one folder after the other
		must(t, err)
		must(t, root.MkdirAll(deep, 0o700))
		if leaf := deep + strings.Repeat("f", 200); isDir {
			must(t, root.Mkdir(leaf, 0o700))
		} else {
			must(t, root.WriteFile(leaf, nil, 0o600))
		}
		must(t, root.Close())
		if d := FileDigest("", dir); d != "unreadable" {
			t.Errorf("directory %v: %s", isDir, d)
		}
	}
}

func TestTampered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "check.sh"), []byte("exit 1"), 0o644))
	guards := []Guard{{Path: "check.sh"}, {Path: "gone.sh"}}
	b := baseline{Guards: guardDigests(dir, guards)}
	if got := b.tampered(dir, guards); got != nil {
		t.Errorf("nothing changed, and %v is", got)
	}
	must(t, os.WriteFile(filepath.Join(dir, "check.sh"), []byte("exit 0"), 0o644))
	if got := b.tampered(dir, guards); len(got) != 1 || got[0].Path != "check.sh" {
		t.Errorf("the check: %v", got)
	}
}

// Tampers of two sources are each named once; the plan has more than one path.
func TestMergeTampers(t *testing.T) {
	t.Parallel()
	a := []Tamper{{Path: "plan.json", Why: WhyPlan}, {Path: "a.sh", Why: "a check runs it"}}
	b := []Tamper{{Path: "a.sh", Why: "another check"}, {Path: "copy/plan.json", Why: WhyPlan},
		{Path: "b.sh", Why: "a check runs it"}}
	var got []string
	for _, m := range MergeTampers(a, b) {
		got = append(got, m.String())
	}
	want := []string{"plan.json: it is the plan", "a.sh: a check runs it", "b.sh: a check runs it"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := MergeTampers(a[1:], a[:1]); len(got) != 2 {
		t.Errorf("%v", got)
	}
	r := Refusal{Tool: "Bash", Target: "git push", Reason: "leave it"}
	if r.String() != "Bash git push: leave it" || (Refusal{Tool: "Bash", Reason: "no"}).String() != "Bash: no" {
		t.Errorf("%s", r)
	}
}
