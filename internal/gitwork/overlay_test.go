package gitwork

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/wall"
	"wavex/runner"
)

// changeKinds are shell scripts that change a worktree with the files of changedRepo. Those with an error leave the
// work to git as it is.
var changeKinds = []string{
	`echo x >new`,
	`echo more >>d/one`,
	`echo x >d/one`,
	`: >d/one`,
	`chmod +x d/one`,
	`chmod -x run.sh`,
	`chmod 600 d/one`,
	`rm d/one`,
	`rm -r d`,
	`rm -r d && mkdir d`,
	`rm -r d && mkdir d && echo x >d/other`,
	`rm -r d && mkdir d && echo x >d/one`,
	`rm -r d && echo x >d`,
	`rm -r d && ln -s e d`,
	`rm a && mkdir a && echo x >a/b`,
	`rm link && mkdir link && echo x >link/b`,
	`rm link && echo x >link`,
	`ln -sf other link`,
	`ln -s a new`,
	`ln -s /nowhere new`,
	`rm a && ln -s d/one a`,
	`ln a new`,
	`ln a new && echo more >>new`,
	`echo more >>same1`,
	`mv a b`,
	`mv a d/one`,
	`mv d/one d/two`,
	`mv d new`,
	`mv d e/`,
	`mv d new && echo x >new/one`,
	`mv d new && mkdir d && echo x >d/one`,
	`mv d new && mv e d && mv new e`,
	`mv d/sub sub && mv sub d/deep`,
	`mv d new && rm new/one && mv new d`,
	`git mv d new`,
	`git rm -q -r d`,
	`mv a A`,
	`mv d D && echo x >D/One`,
	`mv a tmp && mv tmp A && echo x >a`,
	`echo x >"ü ö" && mkdir "s p" && echo x >"s p/n"`,
	`printf 'a\r\nb\000\n' >a`,
	`mkdir empty`,
	`mkdir -p n/e/s/t && echo x >n/e/s/t/f`,
	`echo x >ignored/new && echo x >new.log`,
	`rm -rf ignored && mkdir ignored && echo x >ignored/f`,
	`dd if=/dev/zero of=large bs=1M count=8 2>/dev/null`,
	`dd if=/dev/zero of=a bs=1M count=8 2>/dev/null && echo x >>a`,
	`truncate -s 1G sparse && rm sparse && truncate -s 1M sparse`,
	`touch a d/one`,
	`cp -p a tmp && mv tmp a`,
	`sed -i s/1/2/ a d/one`,
	`echo 2 >a && touch -r d/one a`,
	`for i in 1 2 3 4 5 6 7 8 9; do echo $i >d/$i; done && rm d/[1-8]`,
	`git checkout -q -b side && echo x >new && git add new && git commit -q -m side`,
	`git stash -q 2>/dev/null; echo x >a && git stash -q && git stash pop -q`,
	`mkfifo d/pipe`,
	`rm .gitignore`,
	`echo '*.bin binary' >.gitattributes && echo x >x.bin`,
}

// changedRepo makes the repository of TestTreesGiveTheSameCommit.
func changedRepo(t *testing.T) *repo {
	r := newRepo(t, files{"a": "1\n", "d/one": "1\n", "d/sub/f": "1\n", "d/sub/g": "1\n", "e/f": "1\n", "run.sh": "1\n",
		"same1": "1\n", ".gitignore": "/.loop/\n/ignored/\n*.log\n"})
	must(t, os.Chmod(filepath.Join(r.dir, "run.sh"), 0o755))
	must(t, os.Symlink("a", filepath.Join(r.dir, "link")))
	r.git("add", "-A")
	r.git("commit", "-q", "-m", "links")
	return r
}

// Each kind of change gives the same commit in both kinds of worktrees, also after another task's work in the same one.
func TestTreesGiveTheSameCommit(t *testing.T) {
	t.Parallel()
	openOverlays(t)
	var managers []*Manager
	var repos []*repo
	for _, trees := range []string{TreesPool, TreesOverlay} {
		r := changedRepo(t)
		o := r.options("r1")
		o.Trees, o.MaxDeletes, o.NoVerify = trees, 1000, true
		managers, repos = append(managers, r.open(o)), append(repos, r)
	}
	for i, script := range changeKinds {
		var got []string
		for k, m := range managers {
			r := repos[k]
			act := agent(func(dir string, _ runner.Request) error {
				must(t, os.MkdirAll(filepath.Join(dir, "ignored"), 0o755))
				cmd := exec.Command("sh", "-ec", script)
				cmd.Dir, cmd.Env = dir, r.env
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%s: %v: %s", script, err, out)
				}
				return nil
			})
			task := fmt.Sprintf("t%d", i)
			res := r.ask(m, runner.Request{Task: task, Attempt: 1}, act)
			listed := ""
			if res.Commit != "" {
				listed = r.git("ls-tree", "-r", "-t", res.Commit)
			}
			got = append(got, fmt.Sprint(res.Outcome, " ", res.Reason, "\n", listed))
			must(t, m.Release(t.Context(), task)) // the next change is made in the same worktree
		}
		if got[0] != got[1] {
			t.Errorf("%s gives %s, in an overlay %s", script, got[0], got[1])
		}
	}
	if len(changeKinds) < 40 {
		t.Error(len(changeKinds), "kinds")
	}
}

// After an orderly end no overlay is left, and the next session finds the work of a task that has not ended. After a
// kill, which leaves no mount, it finds also what git ignores.
func TestOverlaysBetweenSessions(t *testing.T) {
	t.Parallel()
	openOverlays(t)
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprint("killed ", killed), func(t *testing.T) {
			t.Parallel()
			r := newRepoAt(t, filepath.Join(t.TempDir(), `a:b,c\d`), files{"a": "1\n", "d/f": "1\n",
				".gitignore": "/.loop/\n*.o\n"})
			o := r.options("r1")
			o.Trees = TreesOverlay
			m, err := Open(t.Context(), o)
			must(t, err)
			half := func(dir string, _ runner.Request) error {
				must(t, os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "e")))
				r.write(dir, files{"half": "1\n", "x.o": "1\n"})
				return os.ErrInvalid
			}
			r.ask(m, runner.Request{Task: "x", Attempt: 1}, half)
			path := m.treePathOf(m.state.Trees[len(m.state.Trees)-1])
			if killed { // the kernel unmounts
				for _, tr := range m.state.Trees {
					must(t, unmount(m.treePathOf(tr)))
				}
				m.g.co.close()
				m.trash.close()
				must(t, m.slots.close())
				must(t, m.lock.Unlock())
			} else {
				must(t, m.Close(t.Context()))
				left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "r1.[0-9]*"))
				equal(t, "left", len(left), 0)
			}
			if isMountPoint(path) {
				t.Error("the mount stays")
			}
			m = r.open(o)
			r.ask(m, runner.Request{Task: "x", Attempt: 2, Resume: true}, func(dir string, _ runner.Request) error {
				equal(t, "the directory", dir, path)
				want := files{"a": "1\n", "e/f": "1\n", "half": "1\n", ".gitignore": "/.loop/\n*.o\n"}
				if killed {
					want["x.o"] = "1\n"
				}
				equal(t, "its files", r.content(dir), want)
				return nil
			})
			equal(t, "integrated", r.integrate(m, 1, "x: test -e half && test ! -e d").Integrated, []string{"x"})
		})
	}
}

// Behind the wall an agent writes into its worktree and into nothing else of .loop, as into the folder of an overlay
// with its changes. Where bubblewrap is missing it gets through.
func TestWallWithOverlay(t *testing.T) {
	t.Parallel()
	m, r := openOverlays(t)
	w, none := wall.Try(t.Context(), r.dir, r.env)
	r.ask(m, runner.Request{Task: "x", Attempt: 1}, func(dir string, _ runner.Request) error {
		const script = `echo 2 >a; mv d e; echo x >new; mkdir n; if echo x >../seen || echo x >"$1"; then exit 1; fi`
		argv := []string{"sh", "-ec", script, "sh", filepath.Join(overlayDir(dir), "upper", "evil")}
		if none == nil {
			argv = append(w.Wrapper([]string{string(loop.In(r.dir))}, dir), argv...)
		}
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = dir, r.env
		if out, err := cmd.CombinedOutput(); (err == nil) != (none == nil) {
			t.Errorf("%v: %s; no wall: %v", err, out, none)
		}
		return nil
	})
	r.integrate(m, 1, "x: test -e new")
	equal(t, "integrated", r.tree("wavex/r1"), files{"a": "2\n", "e/f": "1\n", "new": "x\n"})
}

// openOverlays opens a run whose worktrees are overlays. As root on Linux the test fails if that is not possible.
func openOverlays(t *testing.T) (*Manager, *repo) {
	t.Helper()
	if !proc.OwnMounts() {
		if runtime.GOOS == "linux" && os.Getuid() == 0 && os.Getenv("CI") != "" {
			t.Fatal("root has no mount namespace of its own here")
		}
		t.Skip("only root on Linux can mount overlays")
	}
	r := newRepo(t, files{"a": "1\n", "d/f": "1\n"})
	o := r.options("r1")
	o.Trees = TreesOverlay
	m := r.open(o)
	if !m.state.Overlay {
		t.Skip("this kernel or file system mounts no overlays: ", m.Notices())
	}
	return m, r
}

// All worktrees that are overlays need the space of one checkout.
func TestRoomOfOverlays(t *testing.T) {
	t.Parallel()
	_, r := openOverlays(t)
	for free, want := range map[uint64]string{2*block - 1: NoRoom, 2 * block: ""} {
		o := r.options(fmt.Sprint("of-", free))
		o.Trees = TreesOverlay
		o.DiskFree = func(string) (bytes, files uint64, known bool) { return free, 1, true }
		m, err := Open(t.Context(), o)
		var refused *Error
		if errors.As(err, &refused) {
			equal(t, fmt.Sprint(free), refused.Problem, want)
			continue
		}
		must(t, err)
		must(t, m.Close(t.Context()))
		equal(t, fmt.Sprint(free), "", want)
	}
}

// The files of an overlay that was copied are not used: the copy lacks the attributes of its folders.
func TestCopiedOverlay(t *testing.T) {
	t.Parallel()
	m, r := openOverlays(t)
	r.ask(m, runner.Request{Task: "x", Attempt: 1}, func(string, runner.Request) error { return os.ErrInvalid })
	i := slices.IndexFunc(m.state.Trees, func(t *tree) bool { return t.Task == "x" })
	path := m.treePathOf(m.state.Trees[i])
	must(t, unmount(path))
	upper := filepath.Join(overlayDir(path), "upper")
	must(t, os.Rename(upper, upper+".old"))
	copyAll(t, upper, upper+".old")
	if err := m.repairTree(t.Context(), m.state.Trees[i]); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("the worktree is usable: %v", err)
	}
}

// A worktree has none of the files that a move to its path left, which a kill cut off.
func TestOverlayOfInterruptedMove(t *testing.T) {
	t.Parallel()
	m, r := openOverlays(t)
	upper := filepath.Join(overlayDir(m.treePathOf(&tree{ID: 1})), "upper")
	must(t, os.MkdirAll(upper, 0o777))
	r.write(upper, files{"left": "1\n"})
	r.ask(m, runner.Request{Task: "x", Attempt: 1}, func(dir string, _ runner.Request) error {
		equal(t, "its path", dir, m.treePathOf(&tree{ID: 1}))
		equal(t, "its files", r.content(dir), files{"a": "1\n", "d/f": "1\n"})
		return nil
	})
}
