package ferry

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/testrepo"
)

func TestMain(m *testing.M) { testrepo.Main(m) }

// gitIn returns the output of git without its last newline.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return strings.TrimSuffix(testrepo.Git(t, dir, args...), "\n")
}

// ends returns the ferries of two repositories with a bare one between them. Only the first has a commit.
func ends(t *testing.T) (home, away *Ferry, dir, commit string) {
	t.Helper()
	bare := filepath.Join(t.TempDir(), "bare.git")
	gitIn(t, t.TempDir(), "init", "-q", "--bare", bare)
	dir = testrepo.Repo(t, testrepo.Files{"f": "1\n"})
	other := t.TempDir()
	gitIn(t, other, "init", "-q")
	return New(t.Context(), dir, bare, os.Environ()), New(t.Context(), other, bare, os.Environ()), dir,
		gitIn(t, dir, "rev-parse", "HEAD")
}

func TestPushAndFetch(t *testing.T) {
	t.Parallel()
	home, away, dir, commit := ends(t)
	ctx := t.Context()
	base, work := Base("r-1", commit), Work("r-1", "T 1/2", 3)
	testrepo.Must(t, home.Push(ctx, Ref{base, commit}, Ref{work, commit}))
	testrepo.Must(t, away.Fetch(ctx, base, work))
	if text, err := away.Show(ctx, commit+":f"); string(text) != "1\n" || err != nil {
		t.Errorf("the file is %q, %v", text, err)
	}
	// A later push of the same attempt replaces the ref.
	gitIn(t, dir, "commit", "-q", "--allow-empty", "-m", "second")
	second := gitIn(t, dir, "rev-parse", "HEAD")
	testrepo.Must(t, home.Push(ctx, Ref{work, second}))
	testrepo.Must(t, home.Push(ctx, Ref{work, commit})) // not a descendant
	none := Logs("r-1", "T 1/2", 3)
	there, err := away.Find(ctx, base, work, none)
	if err != nil || len(there) != 2 || there[work] != commit {
		t.Errorf("found %v, %v", there, err)
	}
	if err := away.Fetch(ctx, none); err == nil {
		t.Error("a ref that does not exist was fetched")
	}
	other := Base("r-2", commit)
	testrepo.Must(t, home.Push(ctx, Ref{other, commit}))
	if n, err := home.Sweep(ctx, "r-1", false); n != 2 || err != nil {
		t.Errorf("removed %d refs, %v", n, err)
	}
	if there, err = away.Find(ctx, base, work, other); err != nil || len(there) != 1 || there[other] != commit {
		t.Errorf("after the sweep: %v, %v", there, err)
	}
	if refs := gitIn(t, dir, "for-each-ref", "--format=%(refname)", "refs/wavex"); refs != other {
		t.Errorf("refs here: %s", refs)
	}
	if branches := gitIn(t, dir, "branch", "--list"); branches != "* main" && branches != "* master" {
		t.Errorf("branches %q", branches)
	}
}

// Settings of the user for pushes of branches do not apply: nothing but the refs of a run comes to the remote.
func TestPushOfNothingElse(t *testing.T) {
	t.Parallel()
	home, _, dir, commit := ends(t)
	gitIn(t, dir, "tag", "-a", "-m", "not yet", "v1")
	for key, value := range map[string]string{"push.followTags": "true", "push.gpgSign": "true",
		"push.recurseSubmodules": "on-demand"} {
		gitIn(t, dir, "config", key, value)
	}
	base := Base("r-1", commit)
	testrepo.Must(t, home.Push(t.Context(), Ref{base, commit}))
	testrepo.Must(t, home.Probe(t.Context(), commit, "r-1"))
	if refs := gitIn(t, home.remote, "for-each-ref", "--format=%(refname)"); refs != base {
		t.Errorf("the remote has %q", refs)
	}
}

func TestPushIsRefused(t *testing.T) {
	t.Parallel()
	home, _, dir, commit := ends(t)
	hook := filepath.Join(home.remote, "hooks", "pre-receive")
	testrepo.Must(t, os.WriteFile(hook, []byte("#!/bin/sh\necho not here >&2\nexit 1\n"), 0o755))
	ref := Ref{Base("r-1", commit), commit}
	if err := home.Push(t.Context(), ref); err == nil || !strings.Contains(err.Error(), "not here") {
		t.Errorf("a remote that refuses: %v", err)
	}
	gone := New(t.Context(), dir, filepath.Join(t.TempDir(), "none"), os.Environ())
	if err := gone.Push(t.Context(), ref); err == nil {
		t.Error("a remote that does not exist takes it")
	}
}

// Two attempts that start together push the same base: one of them finds that the other has just made the ref.
func TestPushesCollide(t *testing.T) {
	t.Parallel()
	home, away, _, commit := ends(t)
	base, other, files := Ref{Base("r-1", commit), commit}, Ref{Base("r-2", commit), commit}, Ref{Base("r-1", "x"), commit}
	testrepo.Must(t, home.Push(t.Context(), other)) // the commit itself is there
	hook := "#!/bin/sh\nmkdir once && unset GIT_QUARANTINE_PATH && git update-ref " + base.Name + " " + commit +
		"\nexit 0\n"
	testrepo.Must(t, os.WriteFile(filepath.Join(home.remote, "hooks", "pre-receive"), []byte(hook), 0o755))
	testrepo.Must(t, home.Push(t.Context(), base, files))
	if there, err := away.Find(t.Context(), base.Name, files.Name); len(there) != 2 || err != nil {
		t.Errorf("the remote has %v, %v", there, err)
	}
}

// A fetch at the moment in which another git makes a worktree: its HEAD becomes a commit at the second talk with the
// remote.
func TestFetchBesideANewWorktree(t *testing.T) {
	t.Parallel()
	home, away, dir, commit := ends(t)
	tree := filepath.Join(t.TempDir(), "tree")
	gitIn(t, dir, "worktree", "add", "-q", "--detach", tree)
	head := filepath.Join(dir, ".git", "worktrees", "tree", "HEAD")
	testrepo.Must(t, os.WriteFile(head, []byte(strings.Repeat("0", 40)+"\n"), 0o600))
	other := testrepo.Repo(t, testrepo.Files{"g": "1\n"})
	ref := Ref{Base("r-1", "x"), gitIn(t, other, "rev-parse", "HEAD")}
	testrepo.Must(t, New(t.Context(), other, away.remote, os.Environ()).Push(t.Context(), ref))
	script := filepath.Join(t.TempDir(), "upload-pack")
	testrepo.Must(t, os.WriteFile(script, []byte("#!/bin/sh\nmkdir '"+script+".once' 2>/dev/null || echo "+commit+" > '"+
		head+"'\nexec git-upload-pack \"$@\"\n"), 0o755))
	gitIn(t, dir, "config", "remote.bare.url", home.remote)
	gitIn(t, dir, "config", "remote.bare.uploadpack", script)
	testrepo.Must(t, New(t.Context(), dir, "bare", os.Environ()).Fetch(t.Context(), ref.Name))
	if got := gitIn(t, dir, "rev-parse", ref.Name); got != ref.Commit {
		t.Errorf("fetched %s", got)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	home, away, _, _ := ends(t)
	ctx, from, to := t.Context(), t.TempDir(), t.TempDir()
	testrepo.Files{"stream": "a\r\nb\x00\n", "empty": ""}.Write(t, from)
	large := filepath.Join(t.TempDir(), "large") // is unpacked by itself
	testrepo.Must(t, os.WriteFile(large, bytes.Repeat([]byte("l"), batchedBytes), 0o600))
	commit, err := home.Pack(ctx, "Logs", map[string]string{"attempt/stream.jsonl": filepath.Join(from, "stream"),
		"other/empty": filepath.Join(from, "empty"), "none": filepath.Join(from, "none")},
		map[string][]byte{"attempt/text": []byte("t"), "other/nothing": nil})
	testrepo.Must(t, err)
	name := Logs("r-1", "t", 1)
	testrepo.Must(t, home.Push(ctx, Ref{name, commit}))
	testrepo.Must(t, away.Fetch(ctx, name))
	testrepo.Must(t, away.Unpack(ctx, commit, map[string]string{"attempt": filepath.Join(to, "x")},
		func(text []byte) []byte { return bytes.ReplaceAll(text, []byte("a"), []byte("A")) }))
	var got []string
	testrepo.Must(t, filepath.WalkDir(to, func(path string, _ os.DirEntry, err error) error {
		got = append(got, strings.TrimPrefix(path, to))
		return err
	}))
	text, err := os.ReadFile(filepath.Join(to, "x", "stream.jsonl"))
	if string(text) != "A\r\nb\x00\n" || err != nil || len(got) != 4 {
		t.Errorf("unpacked %q, with %q, %v", got, text, err)
	}
	none, err := home.Pack(ctx, "Nothing", nil, nil)
	testrepo.Must(t, err)
	testrepo.Must(t, home.Unpack(ctx, none, nil, nil))
	alone, err := home.Pack(ctx, "Large", map[string]string{"attempt/large": large}, nil)
	testrepo.Must(t, err)
	testrepo.Must(t, home.Unpack(ctx, alone, map[string]string{"attempt": to}, nil))
	if text, err := os.ReadFile(filepath.Join(to, "large")); len(text) != batchedBytes || err != nil {
		t.Errorf("a large file has %d bytes, %v", len(text), err)
	}
}

// Commits with links or with names that lead elsewhere are refused whole.
func TestUnpackRefuses(t *testing.T) {
	t.Parallel()
	home, _, dir, _ := ends(t)
	to := t.TempDir()
	for name, make := range map[string]func(path string) error{
		"link": func(path string) error { return os.Symlink("/etc/passwd", path) },
		"run":  func(path string) error { return os.WriteFile(path, nil, 0o755) },
		"sub":  func(path string) error { return os.MkdirAll(filepath.Join(path, "a"), 0o755) },
	} {
		path := filepath.Join(dir, "attempt", name)
		testrepo.Files{"attempt/fine": "x"}.Write(t, dir)
		testrepo.Must(t, make(path))
		if name == "sub" {
			testrepo.Must(t, os.WriteFile(filepath.Join(path, "a", "f"), nil, 0o644))
		}
		gitIn(t, dir, "add", "-A")
		gitIn(t, dir, "commit", "-q", "-m", name)
		if err := home.Unpack(t.Context(), "HEAD", map[string]string{"attempt": to}, nil); err == nil {
			t.Errorf("%s is unpacked", name)
		}
		testrepo.Must(t, os.RemoveAll(path))
	}
	if list, err := os.ReadDir(to); len(list) > 0 || err != nil {
		t.Errorf("written: %v, %v", list, err)
	}
}

func TestPackRefusesLongFiles(t *testing.T) {
	t.Parallel()
	home, _, _, _ := ends(t)
	path := filepath.Join(t.TempDir(), "long")
	testrepo.Must(t, os.WriteFile(path, nil, 0o600))
	testrepo.Must(t, os.Truncate(path, MaxFile+1)) // a hole
	_, err := home.Pack(t.Context(), "Long", map[string]string{"long": path}, nil)
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("packed: %v", err)
	}
}
