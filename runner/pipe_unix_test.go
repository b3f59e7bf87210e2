//go:build unix

package runner

import (
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"wavex/internal/wary"
)

// Named pipes where an agent should have left wavex's own files alone keep no attempt waiting.
func TestPipesForOwnFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"base.json", "left.json", streamFile, "stderr.txt"} {
		if err := unix.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	req := Request{Dir: dir, Base: filepath.Join(dir, "base.json")}
	if _, err := openBase(req.Base, req, func() (bool, error) { return false, nil }); !errors.Is(err, wary.ErrNoFile) {
		t.Errorf("the base: %v", err)
	}
	was := base{Guards: map[string]string{"a": "1"}}
	if now := was.mended(req); now.Guards["a"] != "1" {
		t.Errorf("what was left: %+v", now)
	}
	was.keepLeft(was, req)
	if text, err := wary.Read(leftPath(req.Base), 1<<10); err != nil || len(text) == 0 {
		t.Errorf("what is left is not kept: %q, %v", text, err)
	}
	if _, err := Recall(dir, nil, 0); !errors.Is(err, wary.ErrNoFile) {
		t.Errorf("the stream: %v", err)
	}
	if words := plainWords(filepath.Join(dir, "stderr.txt"), "stray"); words != "stray" {
		t.Errorf("its words: %q", words)
	}
}
