package gitwork

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withCoprocesses returns a git whose requests go to two processes, which end with the test, and the changes of refs
// that it tells.
func (r *repo) withCoprocesses() (g git, changed map[string]string) {
	changed = map[string]string{}
	g = newGit(r.dir, r.env)
	g.co = newCoprocesses(g, func(ref, id string) { changed[ref] = id })
	r.t.Cleanup(g.co.close)
	return g, changed
}

// One process answers many requests. It goes on after a request that fails, after it was killed and after a lock,
// and tells only the changes that were made.
func TestCoprocesses(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	r.git("tag", "-m", "a tag", "tagged")
	starts := r.countGit()
	g, changed := r.withCoprocesses()
	ctx, head := t.Context(), r.git("rev-parse", "HEAD")
	starts.atMost(2, "many requests", func() {
		for _, name := range []string{"refs/wavex/a", "refs/wavex/b", "refs/wavex/c"} {
			must(t, g.updateRefs(ctx, name, head))
		}
		must(t, g.updateRefs(ctx, "refs/wavex/b", ""))
		for range 3 {
			ids, err := g.refIDs(ctx, "refs/wavex/a", "refs/wavex/b", "refs/wavex/c", "refs/tags/tagged", "HEAD:a")
			must(t, err)
			equal(t, "names", slices.Sorted(maps.Keys(ids)), []string{"HEAD:a", "refs/tags/tagged", "refs/wavex/a",
				"refs/wavex/c"})
			equal(t, "the commit", ids["refs/wavex/a"], head)
		}
	})
	want := map[string]string{"refs/wavex/a": head, "refs/wavex/b": "", "refs/wavex/c": head}
	equal(t, "changes", changed, want)

	failed := g.refTransaction(ctx, "delete refs/wavex/a", "verify refs/wavex/c "+strings.Repeat("1", 40))
	if exitCode(failed) <= 0 {
		t.Error("a transaction that fails gives", failed)
	}
	equal(t, "changes after a failure", changed, want)
	equal(t, "the ref after a failure", r.git("rev-parse", "refs/wavex/a"), head)

	must(t, g.updateRefs(ctx, "refs/wavex/d", head))
	for _, c := range []*coprocess{&g.co.refs, &g.co.objects} {
		must(t, c.p.Kill())
		<-c.p.Done()
	}
	must(t, g.updateRefs(ctx, "refs/wavex/e", head))
	ids, err := g.refIDs(ctx, "refs/wavex/e")
	must(t, err)
	equal(t, "a ref after the kill", ids["refs/wavex/e"], head)

	young := g.co.refs.p
	must(t, g.updateRefs(ctx, "refs/wavex/e", head))
	equal(t, "a young process is kept", g.co.refs.p == young, true)
	g.co.refs.began = g.co.refs.began.Add(-2 * maxLife)
	must(t, g.updateRefs(ctx, "refs/wavex/e", head))
	equal(t, "an old process is kept", g.co.refs.p == young, false)

	lock := filepath.Join(r.dir, ".git", "refs", "wavex", "f.lock")
	must(t, os.WriteFile(lock, nil, 0o600))
	locked := g.co.refs.ask(ctx, g, "start\nupdate refs/wavex/f "+head+"\ncommit\n", func(out *bufio.Reader) error {
		_, err := out.ReadString('x')
		return err
	})
	if !isLockError(locked) {
		t.Error("a lock gives", locked)
	}
	must(t, os.Remove(lock))
	must(t, g.updateRefs(ctx, "refs/wavex/f", head))
	equal(t, "a ref after the lock", r.git("rev-parse", "refs/wavex/f"), head)
}

// A process that is killed at its first request is started again.
func TestKilledCoprocess(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	killed := filepath.Join(r.dir, ".git", "killed")
	r.write(r.dir, files{".git/hooks/reference-transaction": "#!/bin/sh\n" +
		"[ -e '" + killed + "' ] || { touch '" + killed + "'; kill $PPID; sleep 10; }\n"})
	must(t, os.Chmod(filepath.Join(r.dir, ".git/hooks/reference-transaction"), 0o755))
	g, _ := r.withCoprocesses()
	head := r.git("rev-parse", "HEAD")
	must(t, g.updateRefs(t.Context(), "refs/wavex/a", head))
	equal(t, "the ref", r.git("rev-parse", "refs/wavex/a"), head)
}

// The processes have neither the mark nor the environment of the request that starts them: they outlive its attempt,
// and the hooks of later requests get their environment.
func TestCoprocessesHaveNoAttempt(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	said := filepath.Join(r.dir, ".git", "said")
	r.write(r.dir, files{".git/hooks/reference-transaction": "#!/bin/sh\n" +
		`echo "of '$WAVEX_ATTEMPT' with '$GIT_INDEX_FILE'" >"` + said + "\"\n"})
	must(t, os.Chmod(filepath.Join(r.dir, ".git/hooks/reference-transaction"), 0o755))
	g, _ := r.withCoprocesses()
	first := g.withEnv("GIT_INDEX_FILE=" + filepath.Join(r.dir, ".git", "other"))
	first.mark = "run/task/1"
	must(t, first.updateRefs(t.Context(), "refs/wavex/a", r.git("rev-parse", "HEAD")))
	text, err := os.ReadFile(said)
	must(t, err)
	equal(t, "the hook", string(text), "of '' with ''\n")
}

// The differences of commits that wavex finds from their trees are those of git diff-tree.
func TestChangesOfCommits(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n", "b": "1\n", "d/x": "1\n", "d/y": "1\n", "d/e/f/z": "1\n", "d.txt": "1\n",
		"gone/1": "1\n"})
	g, _ := r.withCoprocesses()
	for _, change := range []func(){
		func() {
			r.write(r.dir, files{"a": "2\n", "d/e/f/z": "2\n", "new/deep/file": "1\n", "with space": "1\n"})
		},
		func() { must(t, os.Chmod(filepath.Join(r.dir, "b"), 0o755)) },
		func() { must(t, os.RemoveAll(filepath.Join(r.dir, "gone"))) },
		func() { // a folder becomes a file, and a file a folder
			must(t, os.RemoveAll(filepath.Join(r.dir, "d", "e")))
			must(t, os.Remove(filepath.Join(r.dir, "a")))
			r.write(r.dir, files{"d/e": "1\n", "a/b": "1\n"})
		},
		func() {
			must(t, os.Remove(filepath.Join(r.dir, "b")))
			must(t, os.Symlink("d.txt", filepath.Join(r.dir, "b")))
		},
		func() {
			must(t, os.Mkdir(filepath.Join(r.dir, "other"), 0o755))
			r.git("update-index", "--add", "--cacheinfo", "160000,"+r.git("rev-parse", "HEAD")+",other")
		},
		func() {},
	} {
		change()
		r.git("add", "-A")
		r.git("commit", "-q", "--allow-empty", "-m", "a change")
		commits, err := g.readCommits(t.Context(), []string{"refs/heads/main"})
		must(t, err)
		got, err := g.changesOf(t.Context(), commits["refs/heads/main"])
		must(t, err)
		var want, said []string
		fields := splitNUL(r.git("diff-tree", "-r", "-z", "--raw", "--no-renames", "HEAD^", "HEAD"))
		for i := 0; i+1 < len(fields); i += 2 {
			f := strings.Fields(fields[i])
			want = append(want, fmt.Sprint(f[4], " ", fields[i+1], " ", f[1] == linkMode))
		}
		for _, c := range got {
			said = append(said, fmt.Sprint(string(c.status), " ", c.path, " ", c.nested))
		}
		equal(t, "the changes", said, want)
	}
}

// Modes that only old trees have are no changes, as for git.
func TestKnownMode(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{"100644": "100644", "100664": "100644", "100755": "100755",
		"100775": "100755", "120000": "120000", "040000": dirMode, dirMode: dirMode, linkMode: linkMode} {
		equal(t, "the mode "+mode, knownMode(mode), want)
	}
}

// A commit whose parent is missing has no known changes: its files are not all new.
func TestChangesWithoutParent(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n"})
	g, _ := r.withCoprocesses()
	commits, err := g.readCommits(t.Context(), []string{"refs/heads/main"})
	must(t, err)
	c := commits["refs/heads/main"]
	c.parents = strings.Repeat("1", 40)
	if changes, err := g.changesOf(t.Context(), c); err == nil {
		t.Error("no error, but the changes", changes)
	}
}
