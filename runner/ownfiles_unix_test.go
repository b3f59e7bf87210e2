//go:build unix

package runner

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"wavex/internal/filetree"
	"wavex/internal/loop"
	"wavex/internal/safefile"
)

// Named pipes that an agent leaves in place of wavex's own files do not block an attempt.
func TestPipesForOwnFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"base.json", "left.json"} {
		must(t, unix.Mkfifo(filepath.Join(dir, name), 0o600))
	}
	req := Request{Dir: dir, Baseline: filepath.Join(dir, "base.json")}
	at := attemptOf(req)
	at.req.Guards = []Guard{{Path: "a"}}
	if _, err := at.openBaseline(t.Context()); !errors.Is(err, safefile.ErrNotRegular) {
		t.Errorf("the base: %v", err)
	}
	if d := FileDigest(dir, "left.json"); d == "" || d == FileDigest(dir, "missing") {
		t.Errorf("the digest of a pipe is %q", d)
	}
	if d := FileDigest("/proc/self", "mem"); runtime.GOOS == "linux" && d == "" { // its start cannot be read
		t.Error("a file that cannot be read counts as missing")
	}
	was := baseline{Guards: filetree.Tree{"a": "1"}}
	if now := was.withOutsideChanges(t.Context(), at); now.Guards["a"] != "1" {
		t.Errorf("what was left: %+v", now)
	}
	was.saveFinalState(was, at)
	if text, err := safefile.Read(finalStatePath(req.Baseline), 1<<10); err != nil || len(text) == 0 {
		t.Errorf("what is left is not kept: %q, %v", text, err)
	}
}

// If links and pipes were planted in the log folder of a later attempt, records replace them
// instead of following them.
func TestLogFilesFollowNoLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	theirs := filepath.Join(t.TempDir(), "theirs")
	must(t, os.WriteFile(theirs, []byte("theirs"), 0o600))
	must(t, os.Symlink(theirs, filepath.Join(dir, loop.OutputFile)))
	must(t, unix.Mkfifo(filepath.Join(dir, loop.PromptFile), 0o600))
	a := &Host{}
	r, err := a.CreateLog(dir, loop.OutputFile)
	must(t, err)
	if _, err := r.Write([]byte("ours")); err != nil {
		t.Error(err)
	}
	r.Close()
	if err := a.WriteFile(dir, loop.PromptFile, []byte("ours")); err != nil {
		t.Error(err)
	}
	for path, want := range map[string]string{theirs: "theirs", filepath.Join(dir, loop.OutputFile): "ours",
		filepath.Join(dir, loop.PromptFile): "ours"} {
		if text, err := os.ReadFile(path); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", filepath.Base(path), text, err)
		}
	}
}
