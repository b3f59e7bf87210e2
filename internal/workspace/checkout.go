package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"wavex/internal/proc"
)

// This file reads the user's checkout and never changes it.

// oldest is the first version of git that has all of worktree add --no-track, lock and repair.
var oldest = [2]int{2, 30}

// checkout describes the repository that the project is in.
type checkout struct {
	top     string // of the checkout, links resolved
	common  string // the repository's own directory, shared by its worktrees
	prefix  string // from top to the project: "" or "sub/dir"
	version [2]int

	head     string   // commit; "" when there is none yet
	branch   string   // refs/heads/...; "" when detached
	dirty    []string // uncommitted paths, at most a few
	modules  bool     // there are checked out submodules
	underway string   // operation in progress: "merge", "rebase"
}

// look finds the repository of a project. It returns an *Error if there is none that wavex can use.
func look(ctx context.Context, g git, project string) (checkout, error) {
	var c checkout
	out, err := g.out(ctx, "rev-parse", "--is-inside-work-tree", "--show-toplevel", "--git-common-dir", "--show-prefix")
	facts := lines(out)
	var start *proc.StartError
	switch {
	case errors.As(err, &start) && errors.Is(err, proc.ErrNotFound):
		return c, &Error{NoGit, "git is not installed", "install it, or run with --isolation shared"}
	case exitCode(err) > 0 || err == nil && (len(facts) < 3 || facts[0] != "true"):
		return c, &Error{NoRepo, project + " is in no git checkout",
			"run git init and commit, or run with --isolation shared"}
	case err != nil:
		return c, err
	}
	said, err := g.out(ctx, "version")
	if err != nil {
		return c, err
	}
	c.version = parseVersion(said)
	if slices.Compare(c.version[:], oldest[:]) < 0 {
		return c, &Error{TooOld, fmt.Sprintf("git is %s", said),
			fmt.Sprintf("worktrees need %d.%d or newer; --isolation shared needs none", oldest[0], oldest[1])}
	}
	c.top, c.common = filepath.FromSlash(facts[1]), filepath.FromSlash(facts[2])
	if !filepath.IsAbs(c.common) {
		c.common = filepath.Join(project, c.common)
	}
	if len(facts) > 3 {
		c.prefix = strings.TrimSuffix(facts[3], "/")
	}
	if c.head, err = g.resolve(ctx, "HEAD"); err != nil {
		return c, err
	}
	return c, c.where(ctx, g)
}

// where finds the branch that the checkout is on, and its commit.
func (c *checkout) where(ctx context.Context, g git) error {
	out, err := g.out(ctx, "symbolic-ref", "--quiet", "HEAD")
	if exitCode(err) > 0 {
		c.branch = ""
		return nil
	}
	c.branch = out
	return err
}

// inspect collects the uncommitted changes. Paths in own do not count.
func (c *checkout) inspect(ctx context.Context, g git, own []string) error {
	g = g.at(c.top)
	out, err := g.out(ctx, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal",
		"--ignore-submodules=none")
	if err != nil {
		return err
	}
	for _, line := range fields(out) {
		if len(line) > 3 && !covers(own, filepath.Join(c.top, filepath.FromSlash(line[3:]))) {
			c.dirty = append(c.dirty, line[3:])
		}
	}
	dir, err := g.out(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return err
	}
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply",
		"BISECT_LOG"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			c.underway, _, _ = strings.Cut(strings.ToLower(strings.ReplaceAll(name, "_", "-")), "-head")
		}
	}
	c.modules, err = submodules(ctx, g)
	return err
}

// submodules reports whether the checkout has checked out submodules. Worktrees would lack them,
// and their commits are not in this repository.
func submodules(ctx context.Context, g git) (bool, error) {
	if _, err := os.Stat(filepath.Join(g.dir, ".gitmodules")); err != nil {
		return false, nil
	}
	out, err := g.out(ctx, "ls-files", "-s", "-z")
	if err != nil {
		return false, err
	}
	for _, line := range fields(out) {
		if mode, path, _ := strings.Cut(line, "\t"); strings.HasPrefix(mode, "160000 ") {
			if _, err := os.Lstat(filepath.Join(g.dir, filepath.FromSlash(path), ".git")); err == nil {
				return true, nil
			}
		}
	}
	return false, nil
}

// usual lists directories and files that projects often need and git often ignores. A worktree
// would lack them.
var usual = []string{"node_modules", ".venv", "venv", ".env"}

// beyond says which part of the project's work git ignores: the project's directory, paths that
// tasks write, or files that most checks need. It returns "" if there is none.
func (m *Manager) beyond(ctx context.Context) (why string, err error) {
	if out, err := m.ignored(ctx, []string{m.c.prefix}); err != nil || len(out) > 0 {
		return "git ignores the project's directory", err
	}
	writes := make([]string, len(m.o.Writes))
	for i, w := range m.o.Writes {
		writes[i] = m.inTop(w)
	}
	if out, err := m.ignored(ctx, writes); err != nil || len(out) > 0 {
		return "git ignores what tasks are to write: " + some(out), err
	}
	if len(m.o.Share) > 0 || m.o.Setup != "" {
		return "", nil
	}
	var there []string
	for _, name := range usual {
		for _, dir := range []string{"", m.c.prefix} {
			path := filepath.ToSlash(filepath.Join(dir, name))
			if _, err := os.Lstat(filepath.Join(m.c.top, filepath.FromSlash(path))); err == nil &&
				!slices.Contains(there, path) {
				there = append(there, path)
			}
		}
	}
	if out, err := m.ignored(ctx, there); err != nil || len(out) > 0 {
		return "worktrees would lack what git ignores: " + some(out) + " (see share and setup in the plan)", err
	}
	return "", nil
}

// ignored returns those of paths that git ignores and does not track.
func (m *Manager) ignored(ctx context.Context, paths []string) ([]string, error) {
	paths = slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == "" || p == "." })
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := m.g.feed(ctx, strings.Join(paths, "\x00"), "check-ignore", "-z", "--stdin")
	if code := exitCode(err); code == 1 || code == 128 { // 1: none; 128: a path beyond a link or outside
		return nil, nil
	}
	return fields(out), err
}

// covers reports whether path is in the list, or is a directory with nothing but a listed path: git
// shows a new directory by its name alone.
func covers(list []string, path string) bool {
	path = resolved(path)
	for _, own := range list {
		own = resolved(own)
		if own == path {
			return true
		}
		if rel, err := filepath.Rel(path, own); err == nil && filepath.IsLocal(rel) && alone(path, own) {
			return true
		}
	}
	return false
}

// alone reports whether dir contains file and nothing else.
func alone(dir, file string) bool {
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

// resolved resolves the links of the part of a path that exists.
func resolved(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(resolved(dir), filepath.Base(path))
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

// some joins the first names of a list.
func some(list []string) string {
	if len(list) <= 3 {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:3], ", "), len(list)-3)
}
