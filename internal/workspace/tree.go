package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// This file makes, resets, repairs and removes worktrees. It knows what a worktree
// has besides its files (a .git file, a folder in the repository) and that an agent
// may have done anything to them; it does not know which task gets which.

// tree is a worktree of the run. ID 0 is the one that integrations are made in.
type tree struct {
	ID   int    `json:"id"`
	Task string `json:"task,omitempty"` // whose it is; "": anybody's
	Base string `json:"base,omitempty"` // the commit that the task began on
	Done string `json:"done,omitempty"` // the task's commit, "none" for a success without work; "": not verified
	// Used says that somebody may have worked in it since it was reset.
	Used  bool   `json:"used,omitempty"`
	Stale bool   `json:"stale,omitempty"`  // the next attempt begins on the tip, whatever it continues
	Setup string `json:"set_up,omitempty"` // the commit that Setup last ran for
	Admin string `json:"admin,omitempty"`  // its folder in the repository
}

// errGone says that a worktree's directory is not there any more.
var errGone = errors.New("the worktree's directory is gone")

func treePath(loop, run string, id int) string {
	return filepath.Join(worktrees(loop), run+"."+strconv.Itoa(id))
}

func (m *Manager) path(t *tree) string { return treePath(m.o.Loop, m.o.Run, t.ID) }

func (m *Manager) in(t *tree) git { return m.g.at(m.path(t)) }

// structural holds the lock under which worktrees are added and removed, by any wavex
// in this repository: git itself does not expect two at once.
func structural(ctx context.Context, common string) (unlock func(), err error) {
	l := flock.New(filepath.Join(common, "wavex.lock"))
	if _, err := l.TryLockContext(ctx, 3*time.Millisecond); err != nil {
		return nil, fmt.Errorf("waiting for the lock of the repository: %w", err)
	}
	return func() { _ = l.Unlock() }, nil
}

// add makes the worktree, still empty. What an add that was cut off left at its place
// was never anybody's.
func (m *Manager) add(ctx context.Context, t *tree) error {
	unlock, err := structural(ctx, m.c.common)
	if err != nil {
		return err
	}
	defer unlock()
	path := m.path(t)
	if _, err := os.Lstat(path); err == nil {
		if err := m.forget(ctx, path); err != nil {
			return err
		}
	}
	if err := m.g.quiet(ctx, "worktree", "add", "-q", "--lock", "--detach", "--no-checkout", path, m.s.Base); err != nil {
		// The path may be registered and its folder gone: only a removal helps then.
		if ferr := m.forget(ctx, path); ferr != nil {
			return errors.Join(err, ferr)
		}
		if err := m.g.quiet(ctx, "worktree", "add", "-q", "--lock", "--detach", "--no-checkout", path, m.s.Base); err != nil {
			return err
		}
	}
	t.Admin, err = adminOf(path)
	return err
}

// forget removes a worktree and its registration, whatever state they are in.
func (m *Manager) forget(ctx context.Context, path string) error {
	err := m.g.run(ctx, "worktree", "remove", "--force", "--force", path)
	if exitCode(err) < 0 {
		return err
	}
	return os.RemoveAll(path)
}

// adminOf reads where a worktree's folder in the repository is.
func adminOf(path string) (string, error) {
	info, err := os.Lstat(filepath.Join(path, ".git"))
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no file", filepath.Join(path, ".git"))
	}
	data, err := os.ReadFile(filepath.Join(path, ".git"))
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%s names no repository", filepath.Join(path, ".git"))
	}
	return filepath.FromSlash(dir), nil
}

// heal makes a worktree one of ours again: an agent may have removed its .git file,
// made a repository of its own there, or unregistered it. The files stay as they are.
func (m *Manager) heal(ctx context.Context, t *tree) error {
	path := m.path(t)
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return errGone
	}
	_, lost := os.Stat(filepath.Join(t.Admin, "HEAD"))
	admin, err := adminOf(path)
	if err == nil && admin == t.Admin && lost == nil {
		return nil
	}
	dot := filepath.Join(path, ".git")
	if info, err := os.Lstat(dot); err == nil {
		if info.IsDir() { // somebody's repository: it may be the only place of its commits
			if err := os.Rename(dot, freeName(path+".git")); err != nil {
				return err
			}
		} else if err := os.Remove(dot); err != nil {
			return err
		}
	}
	if lost == nil {
		return os.WriteFile(dot, []byte("gitdir: "+filepath.ToSlash(t.Admin)+"\n"), 0o644)
	}
	return m.register(ctx, t)
}

// register enters a directory that is there as a worktree again.
func (m *Manager) register(ctx context.Context, t *tree) error {
	unlock, err := structural(ctx, m.c.common)
	if err != nil {
		return err
	}
	defer unlock()
	path := m.path(t)
	empty := freeName(path + ".new")
	if err := m.g.quiet(ctx, "worktree", "add", "-q", "--force", "--lock", "--detach", "--no-checkout", empty, m.s.Base); err != nil {
		return err
	}
	if t.Admin, err = adminOf(empty); err != nil {
		return err
	}
	dot := filepath.Join(path, ".git")
	if err := os.WriteFile(filepath.Join(t.Admin, "gitdir"), []byte(filepath.ToSlash(dot)+"\n"), 0o644); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(empty, ".git"), dot); err != nil {
		return err
	}
	if err := os.RemoveAll(empty); err != nil {
		return err
	}
	return m.in(t).run(ctx, "read-tree", t.Base)
}

// freeName is a name beside others of its kind that is not taken.
func freeName(name string) string {
	for i := 1; ; i++ {
		n := fmt.Sprintf("%s-%d", name, i)
		if _, err := os.Lstat(n); err != nil {
			return n
		}
	}
}

// halfDone are the files of operations that an agent began and did not end.
var halfDone = []string{"MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD",
	"SQUASH_MSG", "sequencer", "rebase-merge", "rebase-apply", "BISECT_LOG", "BISECT_START", "index.lock", "HEAD.lock"}

// abandon ends what is half done in a worktree, without touching index or files. The
// caller knows that no git works there.
func abandon(t *tree) error {
	for _, name := range halfDone {
		if err := os.RemoveAll(filepath.Join(t.Admin, name)); err != nil {
			return err
		}
	}
	return nil
}

// reset brings a worktree to a commit, on a branch or (ref "") on none: no change and
// no untracked file of before stays, but for what Setup made. What was in it must have
// been kept.
func (m *Manager) reset(ctx context.Context, t *tree, ref, commit string) error {
	err := errGone
	if t.Admin != "" {
		err = m.heal(ctx, t)
	}
	if errors.Is(err, errGone) {
		t.Setup = ""
		err = m.add(ctx, t)
	}
	if err != nil {
		return err
	}
	if err := abandon(t); err != nil {
		return err
	}
	args := []string{"checkout", "-q", "-f", "--ignore-other-worktrees"}
	if ref == "" {
		args = append(args, "--detach", commit)
	} else {
		args = append(args, "--no-track", "-B", branchName(ref), commit)
	}
	g := m.in(t)
	if err := g.quiet(ctx, args...); err != nil {
		return err
	}
	clean := []string{"clean", "-ffdxq"}
	if m.o.Setup != "" {
		clean[1] = "-ffdq" // what git ignores is what Setup made
	}
	if err := g.run(ctx, clean...); err != nil {
		return err
	}
	if err := m.bring(ctx, t); err != nil {
		return err
	}
	t.Base, t.Used = commit, false
	return m.setUp(ctx, t)
}

// stage puts everything in a worktree that git does not ignore into its index, and
// says how that differs from the commit that the task began on.
func (m *Manager) stage(ctx context.Context, t *tree) ([]change, error) {
	g := m.in(t)
	args := []string{"add", "-A"}
	if m.c.version[0] > 2 || m.c.version[1] >= 34 {
		args = append(args, "--sparse")
	}
	args = append(args, "--", ".")
	if err := g.run(ctx, args...); err != nil {
		return nil, err
	}
	all, err := changes(ctx, g, "--cached", t.Base)
	if err != nil {
		return nil, err
	}
	var ours, shared []change
	for _, c := range all {
		if m.isShare(c.path) {
			shared = append(shared, c)
		} else {
			ours = append(ours, c)
		}
	}
	// A link is not what "folder/" in .gitignore means, and an agent may have forced it in.
	for _, c := range shared {
		if err := g.run(ctx, "rm", "-q", "-f", "-r", "--cached", "--ignore-unmatch", "--", c.path); err != nil {
			return nil, err
		}
	}
	return ours, nil
}

// change is a path that differs between two trees.
type change struct {
	path   string
	status byte // A, M, D, T
	module bool // it is now a commit of another repository
}

// changes compares trees, or the index with one.
func changes(ctx context.Context, g git, args ...string) ([]change, error) {
	cmd := "diff-tree"
	if args[0] == "--cached" {
		cmd = "diff-index"
	} else {
		args = append([]string{"-r"}, args...)
	}
	out, err := g.out(ctx, append([]string{cmd, "--raw", "-z", "--no-renames"}, args...)...)
	if err != nil {
		return nil, err
	}
	var all []change
	f := fields(out)
	for i := 0; i+1 < len(f); i += 2 {
		facts := strings.Fields(f[i])
		if len(facts) != 5 {
			return nil, fmt.Errorf("git %s printed %q", cmd, f[i])
		}
		all = append(all, change{path: f[i+1], status: facts[4][0], module: facts[1] == "160000"})
	}
	return all, nil
}

// inTop makes a path of the project one of the repository, with slashes.
func (m *Manager) inTop(path string) string {
	return filepath.ToSlash(filepath.Join(filepath.FromSlash(m.c.prefix), filepath.FromSlash(path)))
}
