package gitwork

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"wavex/internal/filetree"
	"wavex/internal/proc"
	"wavex/internal/textfmt"
)

// This file reads the user's checkout and never changes it.

// minGitVersion is the first version of git that has all of worktree add --no-track, lock and repair.
var minGitVersion = [2]int{2, 30}

// checkout describes the repository that the project is in.
type checkout struct {
	top     string // of the checkout, links resolved
	common  string // the repository's own directory, shared by its worktrees
	dir     string // the part of common that belongs to this checkout; common itself unless it is a worktree
	objects string // the folder of the objects
	index   string // the file of the index
	prefix  string // from top to the project: "" or "sub/dir"
	version [2]int

	// readStatus reads the rest.
	head       string   // commit; "" when there is none yet
	branch     string   // refs/heads/...; "" when detached
	dirty      []string // uncommitted paths
	untracked  []string // those that git does not track
	inProgress string   // operation in progress: "merge", "rebase"
}

// findCheckout finds the repository of a project. It returns an *Error if there is none that wavex can use.
func findCheckout(ctx context.Context, g git, project string) (checkout, error) {
	var c checkout
	none := &Error{NoRepo, project + " is in no git checkout", "run git init and commit, or run with --isolation shared"}
	if !HasRepository(project) {
		return c, none
	}
	out, err := g.output(ctx, "rev-parse", "--is-inside-work-tree", "--show-toplevel", "--git-common-dir",
		"--absolute-git-dir", "--git-path", "objects", "--git-path", "index", "--show-prefix")
	facts := splitLines(out)
	var start *proc.StartError
	var failed *gitError
	other := "" // the repository of another user as git names it, of which the project may be a part
	if errors.As(err, &failed) {
		_, other, _ = strings.Cut(failed.stderr, "safe.directory ")
	}
	switch {
	case errors.As(err, &start) && errors.Is(err, proc.ErrNotFound):
		return c, &Error{NoGit, "git is not installed", "install it, or run with --isolation shared"}
	case other != "":
		return c, &Error{BadOwner, "git refuses the repository of another user in " + project +
			", until: git config --global --add safe.directory " + textfmt.FirstLine(other), "or run with --isolation shared"}
	case exitCode(err) > 0 || err == nil && (len(facts) < 6 || facts[0] != "true"):
		return c, none
	case err != nil:
		return c, err
	}
	c.top, c.common = filepath.FromSlash(facts[1]), absolute(project, facts[2])
	c.dir = filepath.FromSlash(facts[3])
	c.objects, c.index = absolute(project, facts[4]), absolute(project, facts[5])
	if len(facts) > 6 {
		c.prefix = strings.TrimSuffix(facts[6], "/")
	}
	return c, nil
}

// HasRepository is filetree.HasRepository. It is exact for the git of this package, whose environment names no
// repository.
func HasRepository(dir string) bool { return filetree.HasRepository(dir) }

// Init makes a directory a repository without commits.
func Init(ctx context.Context, dir string, env []string) error {
	return newGit(dir, env).run(ctx, "init", "-q")
}

// findCheckout finds the repository of the run's project and reads its settings. It returns an *Error if worktrees are
// not possible in it.
func (m *Manager) findCheckout(ctx context.Context) (err error) {
	if m.checkout, err = findCheckout(ctx, m.g, m.opts.Project); err != nil {
		return err
	}
	if err = m.checkout.readVersion(ctx, m.g); err != nil {
		return err
	}
	m.useFrozenSettings()
	if m.settings, err = m.g.readSettings(ctx); err != nil {
		return err
	}
	m.g = m.g.withSync(m.settings, m.checkout.version)
	return nil
}

// readVersion reads the version of git. It returns an *Error if worktrees need a newer one.
func (c *checkout) readVersion(ctx context.Context, g git) error {
	version, err := g.output(ctx, "version")
	if err != nil {
		return err
	}
	c.version = parseVersion(version)
	if slices.Compare(c.version[:], minGitVersion[:]) < 0 {
		return &Error{TooOld, fmt.Sprintf("git is %s", version),
			fmt.Sprintf("worktrees need %d.%d or newer; --isolation shared needs none", minGitVersion[0], minGitVersion[1])}
	}
	return nil
}

// addSparse has the arguments of git that add all files, also those outside a sparse checkout. A git before 2.34 does
// so without the last one, which it does not know.
var addSparse = []string{"add", "-A", "--sparse"}

// usageError is the exit code of a git that does not know an option.
const usageError = 129

// status is the result of git status in a worktree.
type status struct {
	head      string   // the commit of HEAD; "": there is none yet
	branch    string   // refs/heads/...; "": detached
	changes   []string // paths of changed and untracked files; an untracked folder with a slash at its end
	untracked []string // those that git does not track
}

// status reads HEAD and the changes of g's worktree.
func (g git) status(ctx context.Context) (s status, err error) {
	args := []string{"status", "--porcelain=v2", "--branch", "-z", "--no-ahead-behind", "--no-renames",
		"--untracked-files=normal", "--ignore-submodules=none"}
	out, err := g.output(ctx, args...)
	if exitCode(err) > 0 { // a submodule is a link now, or its repository is broken
		args[len(args)-1] = "--ignore-submodules=all"
		out, err = g.output(ctx, args...)
		s.changes = []string{"a submodule"}
	}
	for _, line := range splitNUL(out) {
		kind, rest, _ := strings.Cut(line, " ")
		switch name, value, _ := strings.Cut(rest, " "); {
		case kind == "#" && name == "branch.oid" && isObjectID(value):
			s.head = value
		case kind == "#" && name == "branch.head" && value != "(detached)":
			s.branch = "refs/heads/" + value
		default:
			path := statusPath(line)
			if path != "" {
				s.changes = append(s.changes, path)
			}
			if kind == "?" {
				s.untracked = append(s.untracked, path)
			}
		}
	}
	return s, err
}

// statusPath returns the path of a line of git status, or "" if it has none.
func statusPath(line string) string {
	kind, _, _ := strings.Cut(line, " ")
	// The fields before the path: codes, submodule, three modes and two ids; one mode and one id more.
	fields := map[string]int{"1": 8, "u": 10, "?": 1}[kind]
	if parts := strings.SplitN(line, " ", fields+1); fields > 0 && len(parts) > fields {
		return parts[fields]
	}
	return ""
}

// readStatus reads HEAD, the branch and the uncommitted changes. Paths in own do not count.
func (c *checkout) readStatus(ctx context.Context, g git, own []string) error {
	g = g.inDir(c.top)
	now, err := g.status(ctx)
	if err != nil {
		return err
	}
	c.head, c.branch, c.untracked = now.head, now.branch, now.untracked
	for _, path := range now.changes {
		if !coversPath(own, filepath.Join(c.top, filepath.FromSlash(path))) {
			c.dirty = append(c.dirty, path)
		}
	}
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply",
		"BISECT_LOG"} {
		if _, err := os.Lstat(filepath.Join(c.dir, name)); err == nil {
			c.inProgress, _, _ = strings.Cut(strings.ToLower(strings.ReplaceAll(name, "_", "-")), "-head")
		}
	}
	return nil
}

// commonIgnored lists directories and files that projects often need and git often ignores. A worktree
// would lack them.
var commonIgnored = []string{"node_modules", ".venv", "venv", ".env"}

// findIgnoredWork says which part of the project's work git ignores: the project's directory, paths that
// tasks write, or files that most checks need. It returns "" if there is none.
func (m *Manager) findIgnoredWork(ctx context.Context) (why string, err error) {
	if out, err := m.g.filterIgnored(ctx, []string{m.checkout.prefix}); err != nil || len(out) > 0 {
		return "git ignores the project's directory", err
	}
	writes := make([]string, len(m.opts.Writes))
	for i, w := range m.opts.Writes {
		writes[i] = m.repoPath(w)
	}
	if out, err := m.g.filterIgnored(ctx, writes); err != nil || len(out) > 0 {
		return "git ignores what tasks are to write: " + firstFew(out), err
	}
	if len(m.opts.Share) > 0 || m.opts.Setup.Run != "" {
		return "", nil
	}
	var there []string
	for _, name := range commonIgnored {
		for _, dir := range []string{"", m.checkout.prefix} {
			path := filepath.ToSlash(filepath.Join(dir, name))
			if _, err := os.Lstat(filepath.Join(m.checkout.top, filepath.FromSlash(path))); err == nil &&
				!slices.Contains(there, path) {
				there = append(there, path)
			}
		}
	}
	if out, err := m.g.filterIgnored(ctx, there); err != nil || len(out) > 0 {
		return "worktrees would lack what git ignores: " + firstFew(out) + " (see share and setup in the plan)", err
	}
	return "", nil
}

// filterIgnored returns those of paths that git ignores and does not track.
func (g git) filterIgnored(ctx context.Context, paths []string) ([]string, error) {
	paths = slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == "" || p == "." })
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := g.outputOf(ctx, strings.Join(paths, "\x00"), "check-ignore", "-z", "--stdin")
	if code := exitCode(err); code == 1 || code == 128 { // 1: none; 128: a path beyond a link or outside
		return nil, nil
	}
	return splitNUL(out), err
}

// coversPath reports whether path is in the list, or is a directory with nothing but a listed path: git
// shows a new directory by its name alone.
func coversPath(list []string, path string) bool {
	path = resolveLinks(path)
	for _, own := range list {
		own = resolveLinks(own)
		if own == path {
			return true
		}
		if rel, err := filepath.Rel(path, own); err == nil && filepath.IsLocal(rel) && holdsOnly(path, own) {
			return true
		}
	}
	return false
}

// holdsOnly reports whether dir contains file and nothing else.
func holdsOnly(dir, file string) bool {
	for d := filepath.Dir(file); ; d = filepath.Dir(d) {
		names, err := os.ReadDir(d)
		if err != nil || len(names) != 1 {
			return false
		}
		if d == dir {
			return true
		}
	}
}

// resolveLinks resolves the links of the part of a path that exists.
func resolveLinks(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(resolveLinks(dir), filepath.Base(path))
	}
	return path
}

func parseVersion(said string) (v [2]int) {
	for _, word := range strings.Fields(said) {
		parts := strings.Split(word, ".")
		if len(parts) < 2 {
			continue
		}
		major, err1 := strconv.Atoi(parts[0])
		minor, err2 := strconv.Atoi(parts[1])
		if err1 == nil && err2 == nil {
			return [2]int{major, minor}
		}
	}
	return v
}

// firstFew joins the first names of a list.
func firstFew(list []string) string { return textfmt.FirstOf(list, 3, 0) }
