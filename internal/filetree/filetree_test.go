package filetree_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"wavex/internal/filetree"
	"wavex/internal/testrepo"
)

func TestMain(m *testing.M) { testrepo.Main(m) }

// project writes files, and makes a repository of them.
func project(t *testing.T, git bool, files testrepo.Files) string {
	t.Helper()
	if git {
		return testrepo.Repo(t, files)
	}
	dir := t.TempDir()
	files.Write(t, dir)
	return dir
}

// changes returns the changes since was, as "+new ~changed -gone".
func changes(t *testing.T, l *filetree.Lister, s filetree.Store, dir string, was filetree.Tree) string {
	t.Helper()
	now, err := l.Again(t.Context(), dir, os.Environ(), was, nil, func(state filetree.State) ([]byte, error) {
		return s.Content(t.Context(), dir, state)
	})
	testrepo.Must(t, err)
	var out []string
	for name, is := range was.Edits(now) {
		switch {
		case was[name] == "":
			out = append(out, "+"+name)
		case is == "":
			out = append(out, "-"+name)
		default:
			out = append(out, "~"+name)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func shell(dir, command string) ([]byte, error) {
	cmd := exec.Command("sh", "-ec", command)
	cmd.Dir = dir
	return cmd.CombinedOutput()
}

func store(t *testing.T) filetree.Store { return filetree.Store{Dir: t.TempDir(), Env: os.Environ()} }

// Only a difference of bytes, of the type or of the right to execute is a change, whatever git's index and its rules
// say. Files that were ignored before do not count.
func TestChanges(t *testing.T) {
	t.Parallel()
	files := testrepo.Files{".gitignore": "*.log\n/out/\n", "a": "1", "sub/b": "2", "sub/.gitignore": "c*\n",
		"env/CACHEDIR.TAG": "", "env/x": "1", "sub/venv/x": "1"}
	for step, c := range map[string]struct{ do, git, plain string }{
		"nothing":        {"true", "", ""},
		"the same bytes": {"printf 1 > a; touch sub/b", "", ""},
		"other bytes":    {"printf 3 > a", "~a", "~a"},
		"executable":     {"chmod +x a", "~a", "~a"},
		"a link":         {"ln -sf sub/b a", "~a", "~a"},
		"a folder":       {"rm a; mkdir a", "-a", "-a"},
		"gone":           {"rm sub/b", "-sub/b", "-sub/b"},
		"new":            {"mkdir -p new/deep; echo > new/deep/x; echo > y", "+new/deep/x +y", "+new/deep/x +y"},
		"ignored":        {"echo > x.log; mkdir out; echo > out/x; echo > sub/c1", "", "+out/x +sub/c1 +x.log"},
		"ignored later": {"printf 'a\nz\n' >> .gitignore; printf 3 > a; echo > z", "+z ~.gitignore ~a",
			"+z ~.gitignore ~a"},
		"excluded": {"mkdir -p .git/info; echo z > .git/info/exclude; echo > z", "+z", "+z"},
		"no rules any more": {"rm sub/.gitignore .gitignore; echo > x.log; echo > sub/c1", "-.gitignore -sub/.gitignore",
			"+sub/c1 +x.log -.gitignore -sub/.gitignore"},
		"assumed unchanged":   {"git update-index --assume-unchanged a 2>/dev/null || true; printf 3 > a", "~a", "~a"},
		"out of the index":    {"git rm -q --cached a 2>/dev/null || true", "", ""},
		"a cache":             {"mkdir -p node_modules/x; echo > node_modules/x/y", "+node_modules/x/y", ""},
		"a cache of before":   {"printf 2 > env/x; printf 2 > sub/venv/x", "~env/x ~sub/venv/x", ""},
		"called a cache":      {"mkdir venv; echo > venv/CACHEDIR.TAG", "+venv/CACHEDIR.TAG", "+venv/CACHEDIR.TAG"},
		"wavex's own":         {"mkdir .loop .loop.old; echo > .loop/x; echo > .loop.old/x", "", ""},
		"a folder for a link": {"ln -s /tmp linked", "+linked", "+linked"},
	} {
		for _, git := range []bool{true, false} {
			t.Run(fmt.Sprint(step, "/git ", git), func(t *testing.T) {
				t.Parallel()
				dir, l, s := project(t, git, files), &filetree.Lister{}, store(t)
				was, inGit, err := l.First(t.Context(), dir, os.Environ())
				testrepo.Must(t, err)
				s.Keep(dir, was, inGit, func([]byte) bool { return false })
				out, err := shell(dir, c.do)
				if err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				want := c.plain
				if git {
					want = c.git
				}
				if got := changes(t, l, s, dir, was); got != want {
					t.Errorf("changed %q, want %q", got, want)
				}
			})
		}
	}
}

// A copy has the files as they are, and those that are put back as they were.
func TestCopy(t *testing.T) {
	t.Parallel()
	for _, git := range []bool{true, false} {
		dir := project(t, git, testrepo.Files{"a": "1", "run.sh": "2", "gone": "3", "sub/same": "4"})
		testrepo.Files{"dirty": "5", "node_modules/x": "6"}.Write(t, dir)
		testrepo.Must(t, os.Chmod(filepath.Join(dir, "run.sh"), 0o755))
		testrepo.Must(t, os.Symlink("a", filepath.Join(dir, "link")))
		l, s := &filetree.Lister{}, store(t)
		was, inGit, err := l.First(t.Context(), dir, s.Env)
		testrepo.Must(t, err)
		s.Keep(dir, was, inGit, func([]byte) bool { return false })
		out, err := shell(dir, "echo x > a; echo x > run.sh; rm -r gone link sub; "+
			"echo x > link; echo x > dirty; echo x > new")
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		back := filetree.Tree{}
		for _, name := range []string{"a", "run.sh", "gone", "link", "dirty", "new", "sub/same"} {
			back[name] = was[name]
		}
		to := filepath.Join(t.TempDir(), "copy")
		testrepo.Must(t, s.Copy(t.Context(), dir, to, back))
		now, _, err := new(filetree.Lister).First(t.Context(), to, s.Env)
		testrepo.Must(t, err)
		if got := was.Edits(now); len(got) > 0 {
			t.Errorf("git %v: the copy differs in %v", git, got)
		}
		if git { // its repository is its own
			before := testrepo.Git(t, dir, "status", "--porcelain", "--branch") + testrepo.Git(t, dir, "log", "--oneline")
			testrepo.Git(t, to, "add", "-A")
			testrepo.Git(t, to, "commit", "-qm", "in the copy")
			if log := testrepo.Git(t, to, "log", "--format=%s"); log != "in the copy\nfirst\n" {
				t.Errorf("the copy has the commits %q", log)
			}
			if testrepo.Git(t, dir, "status", "--porcelain", "--branch")+testrepo.Git(t, dir, "log", "--oneline") != before {
				t.Error("a commit in the copy changed the project")
			}
		}
		if _, err := os.Lstat(filepath.Join(to, ".git")); (err == nil) != git {
			t.Errorf("git %v: a repository in the copy: %v", git, err)
		}
		if text, err := os.ReadFile(filepath.Join(to, "node_modules", "x")); string(text) != "6" {
			t.Errorf("git %v: the cache is not there: %v", git, err)
		}
		for _, name := range was.Ignored() {
			back[name] = was[name]
		}
		to = filepath.Join(t.TempDir(), "without")
		testrepo.Must(t, s.Copy(t.Context(), dir, to, back))
		if now, _, err = new(filetree.Lister).First(t.Context(), to, s.Env); err != nil || len(was.Edits(now)) > 0 {
			t.Errorf("git %v: the copy without ignored files differs in %v: %v", git, was.Edits(now), err)
		}
	}
}

// The rules above a project that is a folder of its repository hold in it, as they were before.
func TestRulesAbove(t *testing.T) {
	t.Parallel()
	top := testrepo.Repo(t, testrepo.Files{".gitignore": "/sub/deep/dist/\n*.log\nold\n", "x": "1",
		"sub/.gitignore": "*.tmp\n", "sub/deep/a": "1", "sub/deep/.gitignore": "!kept.log\n"})
	dir, l, s := filepath.Join(top, "sub", "deep"), &filetree.Lister{}, store(t)
	was, inGit, err := l.First(t.Context(), dir, os.Environ())
	testrepo.Must(t, err)
	s.Keep(dir, was, inGit, func([]byte) bool { return false })
	kept, err := l.Put(s, was)
	testrepo.Must(t, err)
	was, err = s.Get(kept)
	testrepo.Must(t, err)
	if out, err := shell(dir, "mkdir dist b; echo > dist/x; echo > b/x.log; echo > kept.log; echo > y.tmp; echo > y; "+
		"echo > old; echo y >> ../../.gitignore; rm ../.gitignore; echo > ../../x"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := changes(t, l, s, dir, was); got != "+kept.log +y" {
		t.Errorf("the changes are %q", got)
	}
}

// The tree of a symbolic link has the files of the directory that it names. A copy is never the directory itself.
func TestLinkedRoot(t *testing.T) {
	t.Parallel()
	dir, l, s := project(t, false, testrepo.Files{"a": "1"}), &filetree.Lister{}, store(t)
	link := filepath.Join(t.TempDir(), "link")
	testrepo.Must(t, os.Symlink(dir, link))
	was, inGit, err := l.First(t.Context(), link, s.Env)
	testrepo.Must(t, err)
	s.Keep(link, was, inGit, func([]byte) bool { return false })
	testrepo.Must(t, os.WriteFile(filepath.Join(dir, "a"), []byte("2"), 0o600))
	if got := changes(t, l, s, link, was); got != "~a" {
		t.Errorf("changed %q", got)
	}
	testrepo.Must(t, s.Copy(t.Context(), link, filepath.Join(t.TempDir(), "copy"), filetree.Tree{"a": was["a"]}))
	if text, err := os.ReadFile(filepath.Join(dir, "a")); string(text) != "2" {
		t.Errorf("the project has %q, %v", text, err)
	}
}

// A content with a secret is not kept, and none that was damaged is given back.
func TestKept(t *testing.T) {
	t.Parallel()
	dir, l, s := project(t, false, testrepo.Files{"a": "secret", "b": "open"}), &filetree.Lister{}, store(t)
	was, inGit, err := l.First(t.Context(), dir, s.Env)
	testrepo.Must(t, err)
	s.Keep(dir, was, inGit, func(text []byte) bool { return string(text) == "secret" })
	if _, err := s.Content(t.Context(), dir, was["a"]); err == nil {
		t.Error("a secret is kept")
	}
	text, err := s.Content(t.Context(), dir, was["b"])
	if err != nil || string(text) != "open" {
		t.Errorf("%q, %v", text, err)
	}
	testrepo.Must(t, os.WriteFile(filepath.Join(s.Dir, was["b"].Digest()), []byte("other"), 0o600))
	if _, err := s.Content(t.Context(), dir, was["b"]); err == nil {
		t.Error("a damaged content is given back")
	}
}

// A stored tree comes back as it was, also if it is stored as the changes since another.
func TestStoredTrees(t *testing.T) {
	t.Parallel()
	s, l := store(t), &filetree.Lister{}
	states := []filetree.State{"file 1", "exec 2", "link x", "ignored"}
	tree := rapid.MapOf(rapid.StringMatching(`[a-d](/[a-d])?`), rapid.SampledFrom(states))
	rapid.Check(t, func(r *rapid.T) {
		for range 3 {
			want := filetree.Tree(tree.Draw(r, "tree"))
			kept, err := l.Put(s, want)
			if err != nil {
				r.Fatal(err)
			}
			got, err := s.Get(kept)
			if err != nil || got.ID() != want.ID() {
				r.Fatalf("%v became %v, %v", want, got, err)
			}
		}
	})
}

// The time for a list is bounded.
func TestListIsBounded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	dir := project(t, false, testrepo.Files{"a": "1"})
	if _, _, err := (&filetree.Lister{}).First(ctx, dir, os.Environ()); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// The purpose of a file is told by its name.
func TestKindOf(t *testing.T) {
	t.Parallel()
	for kind, names := range map[filetree.Kind]string{
		filetree.Test: "a_test.go test_x.py tests/data.json x.spec.ts FooTest.java want.txt __snapshots__/a check.sh",
		filetree.Setup: "go.mod package.json conftest.py pytest.py .pytest.ini jest.config.js Makefile x.mk Cargo.toml " +
			"tests/conftest.py test/setup.js",
		filetree.Source: "main.go a/b.py run.sh style.css",
		filetree.Other:  "README.md data.json notes.txt",
	} {
		for _, name := range strings.Fields(names) {
			if got := filetree.KindOf(name); got != kind {
				t.Errorf("%s is of kind %d, want %d", name, got, kind)
			}
		}
	}
}

// Tasks that begin at the same time keep the same tree.
func TestPutAtOnce(t *testing.T) {
	t.Parallel()
	for range 20 {
		l, s := &filetree.Lister{}, filetree.Store{Dir: t.TempDir()}
		tree := filetree.Tree{"a": "file 1", "b": "file 2"}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if kept, err := l.Put(s, tree); err != nil {
					t.Error(err)
				} else if got, err := s.Get(kept); err != nil || got.ID() != tree.ID() {
					t.Errorf("%v, %v", got, err)
				}
			})
		}
		all.Wait()
	}
}

// A copy within the project, by a link, does not have itself.
func TestCopyWithin(t *testing.T) {
	t.Parallel()
	dir, s := project(t, false, testrepo.Files{"a": "1", "tmp/c/b": "2"}), store(t)
	testrepo.Must(t, os.Symlink("tmp", filepath.Join(dir, "link")))
	to := filepath.Join(dir, "link", "c", "copy")
	testrepo.Must(t, s.Copy(t.Context(), dir, to, nil))
	if _, err := os.Stat(filepath.Join(to, "a")); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(to, "tmp", "c")); err == nil {
		t.Error("the copy has its own folder")
	}
}

// A folder that has only ignored files is not ignored itself: a new file in it counts, and the other files are not
// reported as gone.
func TestFolderOfIgnoredFiles(t *testing.T) {
	t.Parallel()
	dir, l, s := project(t, true, testrepo.Files{".gitignore": "*.o\n", "a": "1"}), &filetree.Lister{}, store(t)
	testrepo.Files{"fix/a.o": "1"}.Write(t, dir)
	was, inGit, err := l.First(t.Context(), dir, s.Env)
	testrepo.Must(t, err)
	s.Keep(dir, was, inGit, func([]byte) bool { return false })
	if got := changes(t, l, s, dir, was); got != "" {
		t.Errorf("changed %q", got)
	}
	testrepo.Files{"fix/helper.sh": "1"}.Write(t, dir)
	if got := changes(t, l, s, dir, was); got != "+fix/helper.sh" {
		t.Errorf("changed %q", got)
	}
}
