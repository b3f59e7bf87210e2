package gitwork

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/internal/loop"
)

// carrying returns the checkpoints of a run that are saved in .loop.
func (r *repo) carrying(base string) *Checkpoints {
	r.t.Helper()
	p := r.checkpoints("r1")
	must(r.t, os.MkdirAll(string(loop.In(r.dir)), 0o755))
	must(r.t, p.OpenBundles(loop.In(r.dir), base))
	return p
}

// noise returns n bytes that do not compress.
func noise(n int) string {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b) // it never fails
	return string(b)
}

// carriedRun returns a repository whose run carried two states, and a fresh clone with its .loop.
func carriedRun(t *testing.T, clone ...string) (from, to *repo, base string) {
	t.Helper()
	from = newRepo(t, files{"a": "1\n", "gone": "1\n", "theirs": "1\n", "plan.json": "{}\n",
		".gitignore": "ignored\n.loop\n"})
	base = from.git("rev-parse", "HEAD")
	from.write(from.dir, files{"mine": "not committed\n"})
	p := from.carrying(base)
	from.write(from.dir, files{"a": "2\n", "ignored": "1\n", "big": noise(20 << 10)})
	must(t, p.Carry(t.Context()))
	from.git("add", "big")
	from.git("commit", "-qm", "of an agent")
	from.write(from.dir, files{"a": "3\n", "sub/b": "1\n", "gone": "", "theirs": "2\n", "plan.json": "changed\n"})
	must(t, p.Carry(t.Context()))
	to = &repo{t: t, dir: filepath.Join(t.TempDir(), "clone"), env: from.env}
	from.git("update-ref", "refs/heads/main", base)
	from.git(append(append([]string{"clone", "-q", "--no-local"}, clone...), "file://"+from.dir, to.dir)...)
	copyAll(t, string(loop.In(to.dir)), string(loop.In(from.dir)))
	return from, to, base
}

// The files of the run are restored in a fresh clone; files that others have changed there stay.
func TestCarry(t *testing.T) {
	t.Parallel()
	from, to, base := carriedRun(t)
	var sizes []int64
	for _, b := range from.carrying(base).bundles.files {
		info, err := os.Stat(b.path)
		must(t, err)
		sizes = append(sizes, info.Size())
	}
	if len(sizes) != 2 || sizes[1] > sizes[0] {
		t.Errorf("the bundles have %d bytes", sizes)
	}
	to.write(to.dir, files{"theirs": "others\n", "other": "1\n"})
	status := to.git("status", "--porcelain", "--", "other")
	got, err := to.carrying(base).RestoreCarried(t.Context(), filepath.Join(to.dir, "plan.json"), false)
	must(t, err)
	if got.Files != 5 || !got.Plan || !slices.Equal(got.Differ, []string{"theirs"}) {
		t.Errorf("%+v", got)
	}
	want := files{"a": "3\n", "sub/b": "1\n", "theirs": "others\n", "other": "1\n", "mine": "not committed\n",
		"plan.json": "{}\n"}
	for name, text := range want {
		if b, err := os.ReadFile(filepath.Join(to.dir, name)); string(b) != text {
			t.Errorf("%s is %q, %v", name, b, err)
		}
	}
	for _, name := range []string{"gone", "ignored"} {
		if _, err := os.Stat(filepath.Join(to.dir, name)); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	equal(t, "HEAD", to.git("rev-parse", "HEAD"), base)
	equal(t, "the index", to.git("diff", "--cached", "--name-only"), "")
	equal(t, "another file", to.git("status", "--porcelain", "--", "other"), status)
	// The next session saves on top of that.
	must(t, to.carrying(base).Carry(t.Context()))
	equal(t, "bundles", len(to.carrying(base).bundles.files), 3)
}

// A run that comes back to an earlier clone brings its files there. Until then they are not replaced in .loop.
func TestCarryBack(t *testing.T) {
	t.Parallel()
	from, to, base := carriedRun(t)
	p := to.carrying(base)
	_, err := p.RestoreCarried(t.Context(), "", false)
	must(t, err)
	to.write(to.dir, files{"second": "1\n"})
	must(t, p.Carry(t.Context()))
	must(t, os.RemoveAll(string(loop.In(from.dir))))
	copyAll(t, string(loop.In(from.dir)), string(loop.In(to.dir)))
	if err := from.carrying(base).Carry(t.Context()); err == nil || !strings.Contains(err.Error(), "no longer saved") {
		t.Errorf("before they are restored: %v", err)
	}
	p = from.carrying(base)
	got, err := p.RestoreCarried(t.Context(), "", true)
	must(t, err)
	text, err := os.ReadFile(filepath.Join(from.dir, "second"))
	if err != nil || string(text) != "1\n" || got == nil {
		t.Errorf("%+v, %q, %v", got, text, err)
	}
	must(t, p.Carry(t.Context()))
	got, err = from.carrying(base).RestoreCarried(t.Context(), "", true)
	if got != nil || err != nil {
		t.Errorf("in the clone that has it: %+v, %v", got, err)
	}
}

// If the commit that the run began on is missing, nothing is restored, and the error says so.
func TestCarryWithoutTheBase(t *testing.T) {
	t.Parallel()
	from, _, base := carriedRun(t)
	from.git("commit", "-q", "--allow-empty", "-m", "later")
	to := &repo{t: t, dir: filepath.Join(t.TempDir(), "clone"), env: from.env}
	from.git("clone", "-q", "--depth", "1", "file://"+from.dir, to.dir)
	copyAll(t, string(loop.In(to.dir)), string(loop.In(from.dir)))
	_, err := to.carrying(base).RestoreCarried(t.Context(), "", false)
	problem(t, err, NoCommits)
	if err == nil || !strings.Contains(err.Error(), "fetch-depth: 0") {
		t.Errorf("it says %v", err)
	}
	p := newRepo(t, files{"a": "1\n"}).carrying(base)
	if got, err := p.RestoreCarried(t.Context(), "", false); got != nil || err != nil {
		t.Errorf("without bundles: %+v, %v", got, err)
	}
}

// A file with a secret is not saved in .loop, which leaves the machine: a tracked one is saved as it was.
func TestCarryLeavesSecrets(t *testing.T) {
	t.Parallel()
	from := newRepo(t, files{"a": "1\n", "tracked.env": "KEY=\n", "staged": "1\n", ".gitignore": ".loop\n"})
	base := from.git("rev-parse", "HEAD")
	p := from.carrying(base)
	var said []string
	p.HasSecret = func(b []byte) bool { return strings.Contains(string(b), "token") }
	p.Warn = func(err error) { said = append(said, strings.Fields(err.Error())[0]) }
	from.write(from.dir, files{"a": "2\n", ".env": "KEY=token\n", "tracked.env": "KEY=token\n", "staged": "token\n"})
	from.git("add", "staged")
	must(t, p.Carry(t.Context()))
	from.git("commit", "-q", "-am", "of an agent")
	must(t, p.Carry(t.Context()))
	equal(t, "said", strings.Join(said, " "), ".env staged tracked.env")
	equal(t, "saved", from.git("diff", "--name-status", base, carryRef("r1")), "M\ta")
	to := newRepo(t, nil)
	to.git("fetch", "-q", from.dir, base)
	for _, b := range from.carrying(base).bundles.files {
		to.git("bundle", "unbundle", b.path)
	}
	for line := range strings.Lines(to.git("cat-file", "--batch-check", "--batch-all-objects")) {
		if id, about, _ := strings.Cut(line, " "); strings.HasPrefix(about, "blob") {
			if text := to.git("cat-file", "blob", id); strings.Contains(text, "token") {
				t.Errorf("a bundle has %q", text)
			}
		}
	}
}

// A state that is too large is shown once.
func TestCarryTooLarge(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n", ".gitignore": ".loop\n"})
	p := r.carrying(r.git("rev-parse", "HEAD"))
	p.bundles.size = maxBundles - 10
	r.write(r.dir, files{"b": "1\n"})
	if err := p.Carry(t.Context()); err == nil || !strings.Contains(err.Error(), "larger than 128 MB") {
		t.Errorf("it says %v", err)
	}
	must(t, p.Carry(t.Context()))
	p = r.carrying(r.git("rev-parse", "HEAD"))
	p.MaxNew = 1
	if err := p.Carry(t.Context()); err == nil || !strings.Contains(err.Error(), "more than 0 MB") {
		t.Errorf("it says %v", err)
	}
	must(t, p.Carry(t.Context()))
}

// An interrupted save is cut, and made up for by the next one.
func TestCarryIsCut(t *testing.T) {
	t.Parallel()
	r := newRepo(t, files{"a": "1\n", ".gitignore": ".loop\n"})
	p := r.carrying(r.git("rev-parse", "HEAD"))
	r.write(r.dir, files{"b": "1\n"})
	before := p.g
	ctx, hanging := hangingBundle(t, p.g)
	p.g = hanging
	if err := p.Carry(ctx); !errors.Is(err, errStopped) {
		t.Fatalf("it ended with %v", err)
	}
	p.g = before
	must(t, p.Carry(t.Context()))
	if b := r.carrying(p.base).bundles; len(b.files) != 1 {
		t.Errorf("there are %d bundles", len(b.files))
	}
}
