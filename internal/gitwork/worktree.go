package gitwork

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"wavex/internal/safefile"
)

// This file makes, resets, repairs and removes worktrees. It knows the parts of a worktree besides
// its files (a .git file, a folder in the repository) and expects that an agent may have changed
// any of them. It does not know which task gets which worktree.

// tree is a worktree of the run.
type tree struct {
	ID   int    `json:"id"`
	Task string `json:"task,omitempty"` // its task; "": free
	Base string `json:"base,omitempty"` // the commit that the task began on
	Done string `json:"done,omitempty"` // the task's commit, "none" for a success without work; "": not verified
	// Used means that it may have been changed since its last reset.
	Used  bool   `json:"used,omitempty"`
	Stale bool   `json:"stale,omitempty"`  // the next attempt begins on the tip, even if it continues a session
	Setup string `json:"set_up,omitempty"` // the setup that ran last, see setupOf
	// Integrates means that no agent worked in it: beside what Setup made, ignored files of agents would stay.
	Integrates bool   `json:"integrates,omitempty"`
	Admin      string `json:"admin,omitempty"` // its folder in the repository
	// Commit has the contents of the worktree of a task that does without one; see park.go.
	Commit string `json:"commit,omitempty"`

	judged  string // git's id of the files with which the last attempt ended, before hooks changed them
	inUse   bool   // an attempt works in it, or wavex changes it
	settled bool   // its task was settled while another task took it over
}

// errTreeGone means that a worktree's directory does not exist any more.
var errTreeGone = errors.New("the worktree's directory is gone")

func (m *Manager) treePathOf(t *tree) string {
	return m.opts.Loop.Worktree(m.opts.Run, strconv.Itoa(t.ID))
}

func (m *Manager) gitIn(t *tree) git { return m.g.inDir(m.treePathOf(t)) }

// lockRepo takes the lock for adding and removing worktrees, which every wavex in this repository
// uses: git does not support two at once.
func lockRepo(ctx context.Context, common string) (unlock func(), err error) {
	l := flock.New(filepath.Join(common, "wavex.lock"))
	if _, err := l.TryLockContext(ctx, 3*time.Millisecond); err != nil {
		return nil, fmt.Errorf("waiting for the lock of the repository: %w", err)
	}
	return func() { _ = l.Unlock() }, nil
}

// addTree makes the worktree, still empty. It removes the remains of an interrupted add, which no task
// has used.
func (m *Manager) addTree(ctx context.Context, t *tree) error {
	path := m.treePathOf(t)
	err := m.registerAt(ctx, path)
	if err == nil {
		t.Admin, err = adminDir(path)
	}
	return err
}

// registerAt makes an empty worktree at a path, of which it removes the old contents.
func (m *Manager) registerAt(ctx context.Context, path string) error {
	unlock, err := lockRepo(ctx, m.checkout.common)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Lstat(path); err == nil {
		if err := m.removeTree(ctx, path); err != nil {
			return err
		}
	}
	if err := m.registerTree(ctx, path); err != nil {
		// The path may be registered although its folder does not exist: then it must be removed
		// first.
		if ferr := m.removeTree(ctx, path); ferr != nil {
			return errors.Join(err, ferr)
		}
		return m.registerTree(ctx, path)
	}
	return nil
}

func (m *Manager) registerTree(ctx context.Context, path string, options ...string) error {
	if err := safefile.CheckPath(path); err != nil {
		return err
	}
	return m.g.runWithoutHooks(ctx, append(append([]string{"worktree", "add", "-q", "--lock", "--detach", "--no-checkout"},
		options...), path, m.state.Base)...)
}

// removeTree removes a worktree and its registration, in any state. Its files are deleted later, see trash.
func (m *Manager) removeTree(ctx context.Context, path string) error {
	if err := safefile.CheckPath(path); err != nil {
		return err
	}
	admin := m.ownAdminDir(path)
	moved := m.trash.add(path)
	if admin != "" && moved == nil {
		if err := os.RemoveAll(admin); err != nil {
			return err
		}
		_ = os.Remove(filepath.Dir(admin)) // git has none without worktrees
		return nil
	}
	err := m.g.run(ctx, "worktree", "remove", "--force", "--force", path)
	if exitCode(err) < 0 {
		return err
	}
	return safefile.RemoveAll(path)
}

// adminDir returns a worktree's folder in the repository.
func adminDir(path string) (string, error) {
	info, err := os.Lstat(filepath.Join(path, ".git"))
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no file", filepath.Join(path, ".git"))
	}
	data, err := safefile.Read(filepath.Join(path, ".git"), maxState)
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%s names no repository", filepath.Join(path, ".git"))
	}
	return absolute(path, dir), nil
}

// ownAdminDir returns the folder in the repository of the worktree at path, or "" if the two do not name each other: an
// agent may have changed the worktree's side. The repository may also name the place from which the worktree was moved
// with its .loop, of the same name, or as another run's, in the same folder: one that is gone.
func (m *Manager) ownAdminDir(path string) string {
	admin, err := adminDir(path)
	if err != nil || resolveLinks(filepath.Dir(admin)) != resolveLinks(filepath.Join(m.checkout.common, "worktrees")) {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(admin, "gitdir"))
	if err != nil {
		return ""
	}
	back := filepath.Dir(filepath.FromSlash(strings.TrimSpace(string(text))))
	_, err = os.Lstat(back)
	moved := filepath.Base(back) == filepath.Base(path) || filepath.Dir(back) == filepath.Dir(path)
	if back != path && !(errors.Is(err, fs.ErrNotExist) && moved) {
		return ""
	}
	return admin
}

// ownsAdmin reports whether the folder of a worktree, which the state of the run names, is in this repository.
func (m *Manager) ownsAdmin(t *tree) bool {
	all := filepath.Join(m.checkout.common, "worktrees")
	return t.Admin != "" && resolveLinks(filepath.Dir(t.Admin)) == resolveLinks(all)
}

// repairTree repairs the registration of a worktree: an agent may have removed its .git file, made a
// repository of its own there, or unregistered it. The files do not change.
func (m *Manager) repairTree(ctx context.Context, t *tree) error {
	path := m.treePathOf(t)
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return errTreeGone
	}
	_, lost := os.Stat(filepath.Join(t.Admin, "HEAD"))
	if !m.ownsAdmin(t) {
		lost = errTreeGone // it belongs to the repository that .loop was copied from
	}
	admin, err := adminDir(path)
	if err == nil && admin == t.Admin && lost == nil {
		return m.namePath(t)
	}
	dot := filepath.Join(path, ".git")
	if info, err := os.Lstat(dot); err == nil {
		if info.IsDir() { // an agent's repository, perhaps the only place of its commits
			if err := safefile.Rename(dot, unusedName(path+".git")); err != nil {
				return err
			}
		} else if err := safefile.Remove(dot); err != nil {
			return err
		}
	}
	if lost == nil {
		if err := safefile.Write(dot, []byte("gitdir: "+filepath.ToSlash(t.Admin)+"\n"), 0o644); err != nil {
			return err
		}
		return m.namePath(t)
	}
	return m.reregisterTree(ctx, t)
}

// namePath makes the folder of a worktree in the repository name its path. It may name another one after a move that
// was interrupted, and git would not find the worktree to remove it.
func (m *Manager) namePath(t *tree) error {
	file, dot := filepath.Join(t.Admin, "gitdir"), filepath.Join(m.treePathOf(t), ".git")
	now, err := os.ReadFile(file)
	if err == nil && resolveLinks(absolute(t.Admin, strings.TrimSpace(string(now)))) == resolveLinks(dot) {
		return nil
	}
	return safefile.Replace(file, []byte(filepath.ToSlash(dot)+"\n"), 0o644, false)
}

// reregisterTree registers an existing directory as a worktree again. It does not do so for one without a task: that
// has no work, and may be at a commit that no ref contains.
func (m *Manager) reregisterTree(ctx context.Context, t *tree) error {
	if t.Task == "" {
		return errTreeGone
	}
	unlock, err := lockRepo(ctx, m.checkout.common)
	if err != nil {
		return err
	}
	defer unlock()
	path := m.treePathOf(t)
	empty := unusedName(path + ".new")
	if err := m.registerTree(ctx, empty, "--force"); err != nil {
		return err
	}
	if t.Admin, err = adminDir(empty); err != nil {
		return err
	}
	dot := filepath.Join(path, ".git")
	if err := os.WriteFile(filepath.Join(t.Admin, "gitdir"), []byte(filepath.ToSlash(dot)+"\n"), 0o644); err != nil {
		return err
	}
	if err := safefile.Rename(filepath.Join(empty, ".git"), dot); err != nil {
		return err
	}
	if err := safefile.RemoveAll(empty); err != nil {
		return err
	}
	return m.gitIn(t).makeIndex(ctx, t.Base)
}

// unusedName returns a path with a number appended that does not exist.
func unusedName(name string) string {
	for i := 1; ; i++ {
		n := fmt.Sprintf("%s-%d", name, i)
		if _, err := os.Lstat(n); err != nil {
			return n
		}
	}
}

// operationFiles lists the files of git operations that an agent began and did not finish.
var operationFiles = []string{"MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD",
	"SQUASH_MSG", "sequencer", "rebase-merge", "rebase-apply", "BISECT_LOG", "BISECT_START", "index.lock", "HEAD.lock"}

// clearOperations removes the traces of unfinished git operations in a worktree. It does not change index
// or files. The caller must know that no git works there.
func clearOperations(t *tree) error {
	for _, name := range operationFiles {
		if err := os.RemoveAll(filepath.Join(t.Admin, name)); err != nil {
			return err
		}
	}
	return nil
}

// resetTree resets a worktree to a commit, on a branch or, with ref "", detached. It removes all
// changes and untracked files except those that Setup made. The caller must have kept the contents.
func (m *Manager) resetTree(ctx context.Context, t *tree, ref, commit string) error {
	if t.hasModules() && m.opts.Setup.Run == "" { // an agent's, which git does not clean
		if err := m.lockAndRemoveTree(ctx, m.treePathOf(t)); err != nil {
			return err
		}
		t.Admin = ""
	}
	err := errTreeGone
	if t.Admin != "" {
		err = m.repairTree(ctx, t)
	}
	added, taken := errors.Is(err, errTreeGone), false
	if added {
		t.Setup = ""
		if taken = m.takeKept(ctx, t); taken {
			added, err = false, nil
		} else {
			err = m.addTree(ctx, t)
		}
	}
	if err != nil {
		return err
	}
	if err := clearOperations(t); err != nil {
		return err
	}
	args := []string{"-c", "checkout.workers=0", "checkout", "-q", "-f", "--ignore-other-worktrees"}
	if ref == "" {
		args = append(args, "--detach", commit)
	} else {
		args = append(args, "--no-track", "-B", branchName(ref), commit)
	}
	g := m.gitIn(t)
	if err := g.runWithoutHooks(ctx, args...); err != nil {
		return err
	}
	m.mu.Lock()
	m.endMaking(t)
	m.mu.Unlock()
	if !added {
		clean := []string{"clean", "-ffdxq"}
		if m.opts.Setup.Clean {
			t.Setup = ""
		} else if m.opts.Setup.Run != "" && !taken {
			clean[1] = "-ffdq" // keep ignored files: Setup made them
		}
		if err := g.run(ctx, clean...); err != nil {
			return err
		}
	}
	if err := m.addShares(ctx, t); err != nil {
		return err
	}
	t.Base, t.Used = commit, false
	return m.runSetup(ctx, t)
}

// stageAll adds everything in a worktree that git does not ignore to its index, and returns the
// changes since the commit that the task began on.
func (m *Manager) stageAll(ctx context.Context, t *tree) ([]change, error) {
	g := m.gitIn(t)
	add := addSparse
	if slices.Compare(m.checkout.version[:], []int{2, 34}) < 0 {
		add = add[:2]
	}
	if err := g.run(ctx, slices.Concat(add, []string{"--", "."})...); err != nil {
		return nil, err
	}
	all, err := g.rawDiff(ctx, "diff-index", "--cached", t.Base)
	if err != nil {
		return nil, err
	}
	var ours, shared []change
	for _, c := range all {
		if m.inShare(c.path) {
			shared = append(shared, c)
		} else {
			ours = append(ours, c)
		}
	}
	// A shared folder is a link here, which "folder/" in .gitignore does not match, and an agent
	// may have added it with force.
	for _, c := range shared {
		if err := g.run(ctx, "rm", "-q", "-f", "-r", "--cached", "--ignore-unmatch", "--", c.path); err != nil {
			return nil, err
		}
	}
	return ours, nil
}

// change is a path that differs between two trees.
type change struct {
	path          string
	status        byte   // A, M, D, T
	oldMode, mode string // noMode: the path is not in that tree
	oldID, id     string
}

const (
	noMode     = "000000" // the mode of a file that a tree does not have
	nestedMode = "160000" // the mode of a commit of another repository
)

// repoPath converts a path of the project to a path of the repository, with slashes.
func (m *Manager) repoPath(path string) string {
	return filepath.ToSlash(filepath.Join(filepath.FromSlash(m.checkout.prefix), filepath.FromSlash(path)))
}
