//go:build unix

package filetree_test

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"wavex/internal/filetree"
	"wavex/internal/proc/proctest"
	"wavex/internal/testrepo"
)

// first lists a project, and keeps the contents that git does not have.
func first(t *testing.T, l *filetree.Lister, s filetree.Store, dir string) filetree.Tree {
	t.Helper()
	was, inGit, err := l.First(t.Context(), dir, os.Environ())
	testrepo.Must(t, err)
	checkClosed(t, dir)
	s.Keep(dir, was, inGit, func([]byte) bool { return false })
	return was
}

// checkClosed checks that no file in dir is open.
func checkClosed(t *testing.T, dir string) {
	t.Helper()
	open, _ := filepath.Glob("/proc/self/fd/*") // on Linux
	for _, fd := range open {
		if at, err := os.Readlink(fd); err == nil && strings.HasPrefix(at, dir) {
			t.Errorf("%s is open", at)
		}
	}
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

// A tree has the changes that it is given, and stays as it is.
func TestChangesOfATree(t *testing.T) {
	t.Parallel()
	tree := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c/d"}),
		rapid.SampledFrom([]filetree.State{"", "file 1", "exec 1", "link x"}))
	rapid.Check(t, func(r *rapid.T) {
		was, now := filetree.Tree(tree.Draw(r, "was")), filetree.Tree(tree.Draw(r, "now"))
		id, changes := was.ID(), was.Changes(now)
		if was.With(changes).ID() != now.ID() || was.ID() != id {
			r.Errorf("%v with %v is %v", was, changes, was.With(changes))
		}
		for name, is := range changes {
			if is != now[name] || is == was[name] {
				r.Errorf("%s is no change", name)
			}
		}
	})
}

// Without a change a second list is as the first one, whatever git's index says.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	dir, l, s := project(t, true, testrepo.Files{"folder/a": "1", "gone": "1", "out/deep/kept": "1", ".loop/x": "1",
		".gitignore": "out\n*.o\n"}), &filetree.Lister{}, store(t)
	out, err := shell(dir, "git add -f out/deep/kept; git commit -qm second; rm -r folder gone; echo > folder; "+
		"echo > out/new; echo > x.o; mkdir deep; echo > deep/x.o; echo > deep/y; ln -s /nowhere link; ln -s deep linked; "+
		"echo > 'a b c'; echo > 'a b	x'; git init -q inner")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	was := first(t, l, s, dir)
	if got := changes(t, l, s, dir, was); got != "" {
		t.Errorf("changed %q", got)
	}
	testrepo.Files{"out/deep/kept": "2", "out/other": "2", "deep/x.o": "2"}.Write(t, dir)
	if got := changes(t, l, s, dir, was); got != "~out/deep/kept" {
		t.Errorf("changed %q, want the file that git has in an ignored folder", got)
	}
}

// A tree that differs little from the one before takes no space of its own.
func TestSpaceOfTrees(t *testing.T) {
	t.Parallel()
	l, s := &filetree.Lister{}, store(t)
	tree := filetree.Tree{"a": "file 1", "b": "file 1", "c": "file 1"}
	for i, c := range []struct {
		tree     filetree.Tree
		listings int
	}{{filetree.Tree{}, 1}, {tree, 2}, {tree.With(filetree.Tree{"a": "file 2"}), 2}, {filetree.Tree{"a": "file 1"}, 3},
		{tree, 3}, {filetree.Tree{"a": "file 1", "b": "file 1"}, 4}, {nil, 4}} {
		kept, err := l.Put(s, c.tree)
		testrepo.Must(t, err)
		entries, err := os.ReadDir(s.Dir)
		testrepo.Must(t, err)
		got, err := s.Get(kept)
		if err != nil || got.ID() != c.tree.ID() || len(entries) != c.listings {
			t.Errorf("%d: %v, %v; %d listings, want %d", i, got, err, len(entries), c.listings)
		}
	}
}

// The kept contents are bounded in all.
func TestSpaceOfContents(t *testing.T) {
	t.Parallel()
	dir, l, s := t.TempDir(), &filetree.Lister{}, store(t)
	for i := range 19 { // of other sizes, or they would be one content
		testrepo.Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), make([]byte, 8<<20-i), 0o600))
	}
	first(t, l, s, dir)
	entries, err := os.ReadDir(s.Dir)
	testrepo.Must(t, err)
	if n := len(entries); n != 17 { // 128 MB, and the one that exceeds them
		t.Errorf("%d contents are kept", n)
	}
}

// A file that cannot be read, or has another size than it says, has no content.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	const dir = "/proc/sys/vm" // of Linux
	tree, _, err := new(filetree.Lister).First(t.Context(), dir, os.Environ())
	testrepo.Must(t, err)
	for _, name := range []string{"compact_memory", "swappiness"} {
		if state, there := tree[name]; there && state != "unreadable" {
			t.Errorf("%s is %q", name, state)
		}
	}
}

// The content of a large file is not read: its size and time stand for it.
func TestLargeFile(t *testing.T) {
	t.Parallel()
	dir, l, s := t.TempDir(), &filetree.Lister{}, store(t)
	at := filepath.Join(dir, "a")
	testrepo.Must(t, os.WriteFile(at, nil, 0o600))
	testrepo.Must(t, os.Truncate(at, 512<<20+1)) // it has no blocks
	was := first(t, l, s, dir)
	if got := changes(t, l, s, dir, was); got != "" || !strings.HasPrefix(string(was["a"]), "large 536870913 ") {
		t.Errorf("%q changed %q", was["a"], got)
	}
}

// A change is seen however soon after a list it comes.
func TestChangeAfterList(t *testing.T) {
	t.Parallel()
	dir, l := t.TempDir(), &filetree.Lister{}
	for i := range 300 {
		text := []byte{byte('a' + i%2)}
		testrepo.Must(t, os.WriteFile(filepath.Join(dir, "a"), text, 0o600))
		tree, _, err := l.First(t.Context(), dir, nil)
		if want := fmt.Sprintf("%x", sha1.Sum([]byte("blob 1\x00"+string(text)))); err != nil || tree["a"].Digest() != want {
			t.Fatalf("%d: %v, %v", i, tree, err)
		}
	}
}

// A stop ends a git that hangs.
func TestStopOfGit(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	dir, bin := project(t, true, testrepo.Files{"a": "1"}), t.TempDir()
	started := filepath.Join(bin, "started")
	testrepo.NamedPipe(t, started)
	proctest.Script(t, filepath.Join(bin, "git"), "#!/bin/sh\n: > "+started+"\nexec sleep 600\n")
	go func() {
		_, _ = os.ReadFile(started) // returns when git runs
		cancel()
	}()
	env := []string{"PATH=" + bin + ":" + os.Getenv("PATH")}
	if _, _, err := new(filetree.Lister).First(ctx, dir, env); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A pipe has no content, and the files of a repository in the project do not count.
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
	testrepo.Must(t, os.WriteFile(filepath.Join(s.Dir, was[".gitignore"].Digest()), []byte("damaged"), 0o600))
	for name, want := range map[string]string{"a": "1", ".gitignore": "*.log\n"} {
		if text, err := s.Content(t.Context(), dir, was[name]); err != nil || string(text) != want {
			t.Errorf("git has %q, %v", text, err)
		}
	}
}

// The rules are in no temporary folder for longer than git needs them.
func TestRulesAreRemoved(t *testing.T) {
	t.Parallel()
	name := filepath.Base(t.TempDir()) + fmt.Sprint(os.Getpid())
	dir, l, s := project(t, true, testrepo.Files{name + "/.gitignore": "x\n"}), &filetree.Lister{}, store(t)
	was := first(t, l, s, dir)
	testrepo.Files{name + "/x": "1", "new": "1"}.Write(t, dir)
	if got := changes(t, l, s, dir, was); got != "+new" {
		t.Errorf("changed %q", got)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "wavex-rules-*", "tree", name))
	if len(left) > 0 || err != nil {
		t.Error(left, err)
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

// A copy leaves the project and all else alone, and is refused if the project is too large.
func TestEdgesOfCopies(t *testing.T) {
	t.Parallel()
	dir, l, s := project(t, true, testrepo.Files{"a": "1", "sub/b": "1", "x/c": "1"}), &filetree.Lister{}, store(t)
	was, outside := first(t, l, s, dir), t.TempDir()
	out, err := shell(dir, "rm -r sub x; ln -s "+outside+" sub; echo > x; mkdir -p inner .loop; echo > .loop/y")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"sub/b", "x/c"} { // below a link, and below a file
		if s.Copy(t.Context(), dir, filepath.Join(t.TempDir(), "c"), filetree.Tree{name: was[name]}) == nil {
			t.Errorf("%s is written", name)
		}
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("a copy has written outside: %v, %v", entries, err)
	}
	to := filepath.Join(dir, "inner", "copy")
	testrepo.Must(t, s.Copy(t.Context(), dir, to, nil))
	checkClosed(t, to)
	got, err := shell(to, "ls -A")
	if string(got) != ".git\na\nsub\nx\n" {
		t.Errorf("a copy within the project has %q, %v", got, err)
	}
	err = s.Copy(t.Context(), dir, filepath.Join(t.TempDir(), "c"), filetree.Tree{"a": "file 12"})
	if err == nil || !strings.Contains(err.Error(), "version of a was not kept") {
		t.Errorf("a content that was not kept: %v", err)
	}
	if s.Copy(t.Context(), filepath.Join(dir, "a"), filepath.Join(t.TempDir(), "c"), nil) == nil {
		t.Error("a file is a project")
	}
	testrepo.Must(t, os.Truncate(filepath.Join(dir, "a"), 2<<30+1)) // it has no blocks
	err = s.Copy(t.Context(), dir, filepath.Join(t.TempDir(), "c"), nil)
	if err == nil || !strings.Contains(err.Error(), "more than 2 GB") {
		t.Errorf("a large project: %v", err)
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
			testrepo.Must(t, errors.Join(os.MkdirAll(filepath.Join(dir, "x", "deep"), 0o755),
				os.Mkdir(filepath.Join(dir, "y"), 0o755)))
			for _, name := range strings.Fields(names) {
				at := filepath.Join(dir, name)
				if strings.HasSuffix(name, "/") {
					testrepo.Must(t, os.MkdirAll(at, 0o755))
					continue
				}
				testrepo.Must(t, os.MkdirAll(filepath.Dir(at), 0o755))
				testrepo.Must(t, os.WriteFile(at, nil, 0o600))
			}
			testrepo.Must(t, os.Symlink(filepath.Join(dir, "x"), filepath.Join(dir, "y", "link")))
			for _, at := range []string{"x/deep", "y/link", "x/none"} {
				if got := filetree.HasRepository(filepath.Join(dir, at)); got != want {
					t.Errorf("with %q in %s: %v", names, at, got)
				}
			}
		}
	}
}

// A damaged listing, a store that cannot be written, and a stop are errors.
func TestErrorsOfTrees(t *testing.T) {
	t.Parallel()
	dir, l, s := project(t, true, testrepo.Files{"a": "1", ".gitignore": "x\n"}), &filetree.Lister{}, store(t)
	was := first(t, l, s, dir)
	kept, err := l.Put(s, was)
	testrepo.Must(t, err)
	other, err := (&filetree.Lister{}).Put(s, filetree.Tree{"b": "file 1"})
	testrepo.Must(t, err)
	testrepo.Must(t, os.Rename(filepath.Join(s.Dir, "tree-"+other.From), filepath.Join(s.Dir, "tree-"+kept.From)))
	for _, k := range []filetree.Kept{kept, other, {}, {From: "gone"}} {
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
	testrepo.Files{"new": "1"}.Write(t, dir)
	fails := t.TempDir()
	proctest.Script(t, filepath.Join(fails, "git"), "#!/bin/sh\nexit 3\n")
	for _, path := range []string{"/none", fails} {
		if _, err := l.Again(t.Context(), dir, []string{"PATH=" + path}, was, nil, content); err == nil {
			t.Errorf("with git in %s: its rules do not hold", path)
		}
		if tree, inGit, err := l.First(t.Context(), dir, []string{"PATH=" + path}); err != nil || inGit != nil ||
			tree["new"] == "" || tree["."] != "" {
			t.Errorf("with git in %s: %v, %v, %v", path, tree, inGit, err)
		}
	}
	broken := func(filetree.State) ([]byte, error) { return nil, os.ErrPermission }
	if _, err := l.Again(t.Context(), dir, s.Env, was, nil, broken); !errors.Is(err, os.ErrPermission) {
		t.Errorf("rules that cannot be read: %v", err)
	}
}
