package runner

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestProtected(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"go.mod", "sub/a.go", "golden/x/y.txt", ".git/golden", ".loop/go.mod"} {
		put(f, "as it was")
	}
	p := &Protect{Patterns: []string{"go.mod", "golden", "*.lock"}, Under: "sub"}
	dir := filepath.Join(root, "sub")
	b := baseline{Protected: p.digests(dir)}
	if len(b.Protected) != 2 {
		t.Fatalf("protected are %v", b.Protected)
	}
	if got := b.changedProtected(p, dir); got != nil {
		t.Errorf("nothing changed, and %v is broken", got)
	}
	put("sub/a.go", "changed")
	put("golden/x/y.txt", "changed")
	put("new.lock", "new")
	if err := os.Remove(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	if got, want := b.changedProtected(p, dir), []string{"go.mod", "golden/x/y.txt", "new.lock"}; !slices.Equal(got,
		want) {
		t.Errorf("broken are %v, want %v", got, want)
	}
}

func TestTampered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "check.sh"), []byte("exit 1"), 0o644); err != nil {
		t.Fatal(err)
	}
	guards := []Guard{{Path: "check.sh", Own: true}, {Path: "gone.sh"}, {Path: ".loop", Tools: true}}
	b := baseline{Guards: guardDigests(dir, guards)}
	if got := b.tampered(dir, guards, []string{"other", ".loopy"}); got != nil {
		t.Errorf("nothing changed, and %v is", got)
	}
	if got := b.tampered(dir, guards, []string{".loop/journal.jsonl"}); len(got) != 1 || got[0].Path != ".loop" {
		t.Errorf("wavex's folder: %v", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "check.sh"), []byte("exit 0"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := b.tampered(dir, guards, nil); len(got) != 1 || got[0].Path != "check.sh" || !got[0].Own {
		t.Errorf("the check: %v", got)
	}
}
