package gitwork

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"wavex/internal/loop"
	"wavex/internal/proc/proctest"
)

// lines returns the number of lines of a file, 0 if there is none.
func (r *repo) lines(path string) int {
	r.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// touch changes the times of files, as cp and the restore of a cache do.
func (r *repo) touch(names ...string) {
	r.t.Helper()
	for _, name := range names {
		past := time.Now().Add(-time.Hour)
		must(r.t, os.Chtimes(filepath.Join(r.dir, name), past, past))
	}
}

// A checkpoint after the first reads no file that did not change, although the user's index is out of date.
func TestCheckpointsReadNoFileTwice(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*Checkpoints){
		"bounded": func(p *Checkpoints) { p.MaxNew = 1 << 20 },
		"named":   func(p *Checkpoints) { p.Warn = func(error) {} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			readNoFileTwice(t, set)
		})
	}
}

func readNoFileTwice(t *testing.T, set func(*Checkpoints)) {
	all := files{".gitattributes": "*.txt filter=count\n"}
	for i := range 9 {
		all[fmt.Sprintf("%d.txt", i)] = fmt.Sprintln(i)
	}
	r := newRepo(t, all)
	read := filepath.Join(t.TempDir(), "read")
	r.git("config", "filter.count.clean", "echo >> '"+read+"'; cat")
	for name := range all {
		r.touch(name)
	}
	p := r.checkpoints("run-1")
	p.IndexDir = t.TempDir()
	set(p)
	must(t, p.BeforeWave(t.Context(), 1))
	if n := r.lines(read); n != 9 {
		t.Fatalf("the first checkpoint read %d files, want 9", n)
	}
	must(t, p.BeforeWave(t.Context(), 2))
	if n := r.lines(read) - 9; n != 0 {
		t.Errorf("the second checkpoint read %d files, want 0", n)
	}
	r.write(r.dir, files{"3.txt": "changed\n"})
	r.touch("3.txt")
	must(t, p.BeforeWave(t.Context(), 3))
	if n := r.lines(read) - 9; n > 2 { // git status reads a file that differs, and git add again
		t.Errorf("the third checkpoint read %d files, want one at most twice", n)
	}
	all["3.txt"] = "changed\n"
	for name := range all {
		past := time.Now().Add(-30 * time.Minute)
		must(t, os.Chtimes(filepath.Join(r.dir, name), past, past))
	}
	for i, want := range []int{8, 0} {
		before := r.lines(read)
		must(t, p.BeforeWave(t.Context(), 4+i))
		// The file that differs from the index of the user is read by each checkpoint, by git status and by git add.
		if n := r.lines(read) - before - 2; n > want {
			t.Errorf("checkpoint %d after every file was touched read %d files, want %d", i, n, want)
		}
	}
	if got := r.tree(waveStartRef("run-1", 3)); !reflect.DeepEqual(got, all) {
		t.Errorf("it has %v", got)
	}
}

// A checkpoint has changes that the user's index got meanwhile, such as an ignored file that an agent has committed.
func TestCheckpointsFollowTheIndex(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a.txt": "a\n", ".gitignore": "*.log\n"})
	p := r.checkpoints("run-1")
	must(t, p.BeforeTask(t.Context(), "a"))
	r.write(r.dir, files{"x.log": "x\n"})
	r.git("add", "-f", "x.log")
	r.git("commit", "-qm", "of an agent")
	must(t, p.AfterTask(t.Context(), "a"))
	want := files{"a.txt": "a\n", ".gitignore": "*.log\n", "x.log": "x\n"}
	if got := r.tree(afterRef("run-1", "a")); !reflect.DeepEqual(got, want) {
		t.Errorf("it has %v", got)
	}
}

// A checkpoint that fails does not stop the next one.
func TestCheckpointAfterAFailedOne(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a.txt": "a\n"})
	p := r.checkpoints("run-1")
	p.MaxNew = 10
	must(t, p.BeforeWave(t.Context(), 1))
	r.write(r.dir, files{"large": strings.Repeat("x", 11)})
	var large *Error
	if err := p.BeforeWave(t.Context(), 2); !errors.As(err, &large) || large.Problem != TooLarge {
		t.Errorf("a large file: %v", err)
	}
	r.write(r.dir, files{"large": "", "b.txt": "b\n"})
	must(t, p.BeforeWave(t.Context(), 3))
	if got := r.tree(waveStartRef("run-1", 3)); !reflect.DeepEqual(got, files{"a.txt": "a\n", "b.txt": "b\n"}) {
		t.Errorf("it has %v", got)
	}
}

// A checkpoint after the first starts at most seven git processes.
func TestProcessesOfACheckpoint(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a.txt": "a\n"})
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	p := r.checkpoints("run-1")
	p.g.program = filepath.Join(dir, "git")
	proctest.Script(t, p.g.program, "#!/bin/sh\necho >> '"+started+"'\nexec git \"$@\"\n")
	p.MaxNew, p.Own = 1<<20, []string{filepath.Join(r.dir, "report.json")}
	p.Warn = func(error) {}
	must(t, p.BeforeWave(t.Context(), 1))
	for n, name := range []string{"before", "after", "wave"} {
		r.write(r.dir, files{"a.txt": fmt.Sprintln(n)})
		before := r.lines(started)
		must(t, map[string]func() error{
			"before": func() error { return p.BeforeTask(t.Context(), "a") },
			"after":  func() error { return p.AfterTask(t.Context(), "a") },
			"wave":   func() error { return p.BeforeWave(t.Context(), 2) },
		}[name]())
		if n := r.lines(started) - before; n < 1 || n > 7 {
			t.Errorf("%s: %d git processes, want at most 7", name, n)
		}
	}
}

// A large file that checkpoints store is named once. Files that git ignores are not.
func TestLargeFilesOfCheckpointsAreNamed(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a.txt": "a\n", ".gitignore": "*.log\n"})
	p := r.checkpoints("run-1")
	var named []string
	p.Warn = func(err error) { named = append(named, err.Error()) }
	for _, name := range []string{"d/large.bin", "large.log"} {
		r.write(r.dir, files{name: "x"})
		must(t, os.Truncate(filepath.Join(r.dir, name), largeFile+1))
	}
	for _, task := range []string{"a", "b"} {
		must(t, p.BeforeTask(t.Context(), task))
		must(t, p.AfterTask(t.Context(), task))
	}
	if len(named) != 1 || !strings.Contains(named[0], `"d/large.bin" in the repository, 64 MB`) {
		t.Errorf("named: %q", named)
	}
}

// A checkpoint whose new files are looked for first has all files that another one has.
func TestCheckpointsAreWhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before files
		then   func(*repo, *Checkpoints)
	}{
		"ignored since": {files{"new.log": "1\n"}, func(r *repo, _ *Checkpoints) {
			r.write(r.dir, files{".gitignore": "*.log\n"})
		}},
		"ignored, and made again": {files{"forced.env": ""}, func(r *repo, _ *Checkpoints) {
			r.write(r.dir, files{"forced.env": "2\n"})
		}},
		"with a secret": {nil, func(r *repo, p *Checkpoints) {
			must(t, os.MkdirAll(string(loop.In(r.dir)), 0o755))
			must(t, p.OpenBundles(loop.In(r.dir), r.git("rev-parse", "HEAD^")))
			p.HasSecret = func(b []byte) bool { return string(b) == "1\n" }
			must(t, p.Carry(t.Context()))
		}},
		"outside a sparse checkout": {nil, func(r *repo, p *Checkpoints) {
			r.git("sparse-checkout", "set", "in")
			r.write(r.dir, files{"out/new": "1\n"})
		}},
		"with a conflict whose file did not change": {nil, func(r *repo, _ *Checkpoints) {
			id := r.git("hash-object", "a.txt")
			r.git("update-index", "--force-remove", "a.txt")
			cmd := "printf '100644 " + id + " 2\\ta.txt\\n' | git update-index --index-info"
			r.git("-c", "alias.conflict=!"+cmd, "conflict")
		}},
		"with odd names": {nil, func(r *repo, _ *Checkpoints) {
			r.write(r.dir, files{":(top)": "1\n", "*": "1\n", "[a].txt": "1\n", "a\nb": "1\n", " lead": "1\n", "ü\"\t": "1\n"})
		}},
		"a file in the place of a folder, and the other way around": {nil, func(r *repo, _ *Checkpoints) {
			r.commit(files{"folder/x": "1\n", "file": "1\n"})
			must(r.t, errors.Join(os.RemoveAll(filepath.Join(r.dir, "folder")), os.Remove(filepath.Join(r.dir, "file"))))
			r.write(r.dir, files{"folder": "2\n", "file/x": "2\n"})
		}},
		"a link in the place of a folder": {nil, func(r *repo, _ *Checkpoints) {
			r.commit(files{"folder/x": "1\n"})
			must(r.t, os.Rename(filepath.Join(r.dir, "folder"), filepath.Join(r.dir, "moved")))
			must(r.t, os.Symlink("moved", filepath.Join(r.dir, "folder")))
		}},
		"executable": {nil, func(r *repo, _ *Checkpoints) { must(r.t, os.Chmod(filepath.Join(r.dir, "a.txt"), 0o755)) }},
		"in an ignored folder": {nil, func(r *repo, _ *Checkpoints) {
			r.write(r.dir, files{".loop/x": "1\n", ".loop/y": "1\n"})
			r.git("add", "-f", ".loop")
			must(r.t, os.Remove(filepath.Join(r.dir, ".loop/x")))
			r.write(r.dir, files{".loop/y": "2\n", ".loop/z": "2\n"})
		}},
		"to be added": {files{"new": "1\n"}, func(r *repo, _ *Checkpoints) { r.git("add", "-N", "new") }},
		"told to git as unchanged": {nil, func(r *repo, _ *Checkpoints) {
			r.commit(files{"assumed": "1\n", "skipped": "1\n"})
			r.git("update-index", "--assume-unchanged", "assumed")
			r.git("update-index", "--skip-worktree", "skipped")
			r.write(r.dir, files{"assumed": "2\n", "skipped": "2\n"})
		}},
		"nested repositories": {nil, func(r *repo, _ *Checkpoints) {
			lib := newRepo(r.t, files{"l": "1\n"})
			for _, name := range []string{"moved", "gone", "unlinked"} {
				r.git("submodule", "add", "-q", lib.dir, name)
			}
			r.commit(nil)
			r.git("clone", "-q", lib.dir, "nested")
			r.gitIn(filepath.Join(r.dir, "moved"), "commit", "-q", "--allow-empty", "-m", "of an agent")
			must(r.t, os.RemoveAll(filepath.Join(r.dir, "gone")))
			must(r.t, os.Remove(filepath.Join(r.dir, "unlinked", ".git")))
		}},
		"with a file that disappears before it is added": {files{"new": "1\n"}, func(r *repo, p *Checkpoints) {
			r.write(r.dir, files{"short": "1\n", "new": "2\n"})
			p.g.program = filepath.Join(r.t.TempDir(), "git")
			proctest.Script(r.t, p.g.program, "#!/bin/sh\n[ $1 = add ] && rm -f short\nexec git \"$@\"\n")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, files{"a.txt": "a\n", ".gitignore": "*.env\n.loop\n"})
			r.write(r.dir, files{"forced.env": "1\n"})
			r.git("add", "-f", "forced.env")
			r.git("commit", "-qm", "forced")
			p := r.checkpoints("r1")
			p.Warn = func(error) {}
			r.write(r.dir, c.before)
			must(t, p.AfterTask(t.Context(), "a"))
			c.then(r, p)
			must(t, p.AfterTask(t.Context(), "looked"))
			must(t, r.checkpoints("r1").AfterTask(t.Context(), "all"))
			looked, all := afterRef("r1", "looked"), afterRef("r1", "all")
			equal(t, "differences", r.git("diff-tree", "-r", all, looked), "")
			equal(t, "a.txt", r.git("show", looked+":a.txt"), "a")
			equal(t, "forced.env", r.git("ls-tree", "--name-only", looked, "forced.env"), "forced.env")
		})
	}
}
