package gitwork

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// changedSince returns the output of git against the record: changed files, then new ones.
func (r *repo) changedSince(at string) string {
	r.t.Helper()
	b, ok := LoadBaseline(at)
	if !ok {
		r.t.Fatal("nothing is remembered")
	}
	s := &repo{t: r.t, dir: r.dir, env: slices.Clone(r.env)}
	for k, v := range b.Env {
		s.env = append(s.env, k+"="+v)
	}
	changed := strings.Fields(s.git("--no-optional-locks", "diff", "--name-only"))
	for _, f := range splitNUL(s.git("--no-optional-locks", "ls-files", "-z", "--others", "--exclude-standard")) {
		if !slices.Contains(b.Large, f) {
			changed = append(changed, "new:"+f)
		}
	}
	return strings.Join(changed, " ")
}

// Uncommitted files of every kind (staged, unstaged, untracked, conflicted, deleted) count as
// before the run; later changes are reported; and the repository holds no trace of the record.
func TestSaveBaseline(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]files{
		"a repository":  {"a.txt": "a\n", "b.txt": "b\n", "gone.txt": "g\n", ".gitignore": "ignored/\n"},
		"no commit yet": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepoAt(t, filepath.Join(t.TempDir(), "with: a blank"), content)
			if content != nil {
				r.write(r.dir, files{"a.txt": "a2\n", "gone.txt": ""})
			}
			r.write(r.dir, files{"staged.txt": "s\n", "sub/odd *[x].txt": "n\n", "ignored/x": "x\n",
				"big.bin": strings.Repeat("x", maxUntrackedSize+1)})
			r.git("add", "staged.txt")
			r.git("init", "-q", "nested")
			r.write(r.dir, files{"nested/x": "x\n"})
			before := r.userFingerprint()
			at := filepath.Join(t.TempDir(), "before")
			if _, ok := LoadBaseline(at); ok {
				t.Error("something is remembered before anything was")
			}
			must(t, SaveBaseline(t.Context(), r.dir, at, r.env))
			if after := r.userFingerprint(); !maps.Equal(after, before) {
				t.Errorf("remembering changed the repository: %v, before: %v", after, before)
			}
			if got := r.changedSince(at); got != "" {
				t.Errorf("changed at once: %s", got)
			}
			r.write(r.dir, files{"staged.txt": "s2\n", "sub/odd *[x].txt": "n2\n", "new.txt": "n\n"})
			r.git("add", "new.txt")
			if got, want := r.changedSince(at), "staged.txt sub/odd *[x].txt new:new.txt"; got != want {
				t.Errorf("changed: %s\nwant:    %s", got, want)
			}
		})
	}
}

// A folder whose filling was interrupted holds no record. Without a repository the error says so.
func TestSaveBaselineErrors(t *testing.T) {
	t.Parallel()
	at := t.TempDir()
	must(t, os.WriteFile(filepath.Join(at, "new"), nil, 0o600))
	if _, ok := LoadBaseline(at); ok {
		t.Error("half an index was taken for a whole one")
	}
	dir := t.TempDir()
	if err := SaveBaseline(t.Context(), dir, at, testEnv(t.TempDir())); err == nil || !strings.Contains(err.Error(),
		"no git checkout") {
		t.Errorf("without a repository: %v", err)
	}
}
