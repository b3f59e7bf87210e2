//go:build unix

package filetree_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/filetree"
	"wavex/internal/testrepo"
)

// first lists a project, and keeps the contents that git does not have.
func first(t *testing.T, l *filetree.Lister, s filetree.Store, dir string) filetree.Tree {
	t.Helper()
	was, inGit, err := l.First(t.Context(), dir, os.Environ())
	testrepo.Must(t, err)
	s.Keep(dir, was, inGit, func([]byte) bool { return false })
	return was
}

// Trees have one id if they have the same files; a missing file has no part in it.
func TestID(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, tree := range []filetree.Tree{nil, {"a": "file 1"}, {"b": "file 1"}, {"a": "file 2"},
		{"a": "file 1", "b": "x"}} {
		ids[tree.ID()] = true
	}
	if len(ids) != 5 || ids[""] || (filetree.Tree{"a": "file 1", "z": ""}).ID() != (filetree.Tree{"a": "file 1"}).ID() {
		t.Errorf("the ids are %v", ids)
	}
}

// A pipe is no file with a content, and the files of a repository in the project do not count.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	for _, git := range []bool{true, false} {
		dir, l, s := project(t, git, testrepo.Files{"a": "1", "sub/b": "1"}), &filetree.Lister{}, store(t)
		testrepo.Files{".loop/x": "1"}.Write(t, dir)
		testrepo.Git(t, dir, "init", "-q", "inner")
		testrepo.Files{"inner/x": "1"}.Write(t, dir)
		was := first(t, l, s, dir)
		testrepo.Must(t, os.Remove(filepath.Join(dir, "a")))
		testrepo.NamedPipe(t, filepath.Join(dir, "a"))
		testrepo.Files{".loop/x": "2", "inner/x": "2"}.Write(t, dir)
		want := "~a"
		if !git { // a folder with a repository of its own is like any other
			want = "~a ~inner/x"
		}
		if got := changes(t, l, s, dir, was); got != want || was[".loop/x"] != "" {
			t.Errorf("git %v: changed %q, want %q", git, got, want)
		}
	}
}

// A store has the contents that git lacks, and the rules of git, which are read after a change of the repository.
func TestKeptBesideGit(t *testing.T) {
	t.Parallel()
	dir, l, s := project(t, true, testrepo.Files{"a": "1", ".gitignore": "*.log\n"}), &filetree.Lister{}, store(t)
	testrepo.Files{"new": "2", "same": "2"}.Write(t, dir)
	was := first(t, l, s, dir)
	entries, err := os.ReadDir(s.Dir)
	testrepo.Must(t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	want := []string{was["new"].Digest(), was[".gitignore"].Digest()}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the store has %q, want %q", got, want)
	}
	text, err := s.Content(t.Context(), dir, was["a"])
	if err != nil || string(text) != "1" {
		t.Errorf("git has %q, %v", text, err)
	}
}

// A copy of a worktree has a repository with the commits of its branch.
func TestCopyOfAWorktree(t *testing.T) {
	t.Parallel()
	dir, s := project(t, true, testrepo.Files{"a": "1"}), store(t)
	tree, to := filepath.Join(t.TempDir(), "tree"), filepath.Join(t.TempDir(), "copy")
	testrepo.Git(t, dir, "worktree", "add", "-q", "-b", "other", tree)
	testrepo.Files{"b": "1"}.Write(t, tree)
	testrepo.Git(t, tree, "add", "-A")
	testrepo.Git(t, tree, "commit", "-qm", "second")
	testrepo.Must(t, s.Copy(t.Context(), tree, to, nil))
	got := testrepo.Git(t, to, "log", "--format=%s") + testrepo.Git(t, to, "status", "--porcelain", "--branch")
	if got != "second\nfirst\n## other\n" {
		t.Errorf("the copy has %q", got)
	}
}

// A folder is in a repository if it or a folder above has a .git that git takes for one.
func TestHasRepository(t *testing.T) {
	t.Parallel()
	for want, dirs := range map[bool][]string{
		true:  {"x/.git/HEAD x/.git/objects/ x/.git/refs/", "x/.git/HEAD x/.git/commondir", "x/.git", ".git"},
		false: {"", "x/.git/", "x/.git/HEAD x/.git/objects/", "x/.git/objects/ x/.git/refs/", "y/.git"},
	} {
		for _, names := range dirs {
			dir := t.TempDir()
			testrepo.Must(t, os.MkdirAll(filepath.Join(dir, "x", "deep"), 0o755))
			for _, name := range strings.Fields(names) {
				at := filepath.Join(dir, name)
				if strings.HasSuffix(name, "/") {
					testrepo.Must(t, os.MkdirAll(at, 0o755))
					continue
				}
				testrepo.Must(t, os.MkdirAll(filepath.Dir(at), 0o755))
				testrepo.Must(t, os.WriteFile(at, nil, 0o600))
			}
			if got := filetree.HasRepository(filepath.Join(dir, "x", "deep")); got != want {
				t.Errorf("with %q: %v", names, got)
			}
		}
	}
}

// A listing that was damaged is an error, as is a store that cannot be written, and a stop.
func TestErrorsOfTrees(t *testing.T) {
	t.Parallel()
	dir, l, s := project(t, true, testrepo.Files{"a": "1", ".gitignore": "x\n"}), &filetree.Lister{}, store(t)
	was := first(t, l, s, dir)
	kept, err := l.Put(s, was)
	testrepo.Must(t, err)
	other, err := (&filetree.Lister{}).Put(s, filetree.Tree{"b": "file 1"})
	testrepo.Must(t, err)
	testrepo.Must(t, os.Rename(filepath.Join(s.Dir, "tree-"+other.From), filepath.Join(s.Dir, "tree-"+kept.From)))
	for _, k := range []filetree.Kept{kept, other, {}} {
		if tree, err := s.Get(k); err == nil {
			t.Errorf("%+v is %v", k, tree)
		}
	}
	file := filetree.Store{Dir: filepath.Join(dir, "a", "store")}
	if kept, err := (&filetree.Lister{}).Put(file, was); err == nil {
		t.Errorf("a store in a file has %+v", kept)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := l.First(ctx, dir, s.Env); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped listing: %v", err)
	}
	content := func(state filetree.State) ([]byte, error) { return s.Content(t.Context(), dir, state) }
	if _, err := l.Again(ctx, dir, s.Env, was, nil, content); !errors.Is(err, context.Canceled) {
		t.Errorf("a second stopped listing: %v", err)
	}
	if err := s.Copy(ctx, dir, filepath.Join(t.TempDir(), "c"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a stopped copy: %v", err)
	}
	broken := func(filetree.State) ([]byte, error) { return nil, os.ErrPermission }
	if _, err := l.Again(t.Context(), dir, s.Env, was, nil, broken); !errors.Is(err, os.ErrPermission) {
		t.Errorf("rules that cannot be read: %v", err)
	}
}
