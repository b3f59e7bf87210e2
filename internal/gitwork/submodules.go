package gitwork

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// This file checks out submodules in worktrees, from the repositories of the submodules that the user has checked out.
// It uses no network. Commits of the run contain no change of a submodule.

// submodule is a submodule that is checked out in a directory.
type submodule struct {
	path string // in the directory, with slashes
	repo string // its own repository
}

// submodules returns the submodules that are checked out in g's directory.
func (g git) submodules(ctx context.Context) ([]submodule, error) {
	if _, err := os.Stat(filepath.Join(g.dir, ".gitmodules")); err != nil {
		return nil, nil
	}
	paths, err := g.gitlinks(ctx)
	var all []submodule
	for _, path := range paths {
		dir := filepath.Join(g.dir, filepath.FromSlash(path))
		repo, missing := adminDir(dir)
		own := filepath.Join(dir, ".git")
		if info, err := os.Lstat(own); err == nil && info.IsDir() { // of an old git
			repo, missing = own, nil
		}
		if missing == nil {
			all = append(all, submodule{path, repo})
		}
	}
	return all, err
}

// submodulePaths names the submodules that are checked out.
func (c *checkout) submodulePaths() string {
	var paths []string
	for _, s := range c.submodules {
		paths = append(paths, s.path)
	}
	return firstFew(paths)
}

// gitlinks returns the paths of the index that are commits of other repositories.
func (g git) gitlinks(ctx context.Context) (paths []string, err error) {
	out, err := g.output(ctx, "ls-files", "-s", "-z")
	for _, line := range splitNUL(out) {
		if mode, path, _ := strings.Cut(line, "\t"); strings.HasPrefix(mode, "160000 ") {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// removeSubmodules removes the submodules of a worktree. An agent may have changed their repositories, which are
// therefore not used again.
func (m *Manager) removeSubmodules(t *tree) error {
	if len(m.checkout.submodules) == 0 {
		return nil
	}
	root, err := os.OpenRoot(m.treePathOf(t))
	if err != nil {
		return err
	}
	defer root.Close()
	for _, s := range m.checkout.submodules {
		_ = root.RemoveAll(filepath.FromSlash(s.path)) // if a link leads elsewhere, the checkout replaces it
	}
	return os.RemoveAll(filepath.Join(t.Admin, "modules"))
}

// addSubmodules checks out the submodules of a worktree whose folders are empty, at the commits that its index has.
func (m *Manager) addSubmodules(ctx context.Context, t *tree) error {
	if len(m.checkout.submodules) == 0 {
		return nil
	}
	root, err := os.OpenRoot(m.treePathOf(t))
	if err != nil {
		return err
	}
	defer root.Close()
	return addSubmodules(ctx, root, m.g.inAny(), m.gitIn(t).inAny(), m.checkout.submodules)
}

// addSubmodules is the method for the directory of to, which is below root; the submodules are checked out in that of
// from.
func addSubmodules(ctx context.Context, root *os.Root, from, to git, submodules []submodule) error {
	if len(submodules) == 0 {
		return nil
	}
	names, err := to.submoduleNames(ctx)
	if err != nil {
		return err
	}
	linked, err := to.gitlinks(ctx)
	if err != nil {
		return err
	}
	for _, s := range submodules {
		name := names[s.path]
		if name == "" || !slices.Contains(linked, s.path) {
			continue // the commit of the worktree does not have it
		}
		dir := filepath.Join(to.dir, filepath.FromSlash(s.path))
		if err := mustBeEmpty(root, dir); err != nil {
			return err
		}
		if err := to.runWithoutHooks(ctx, "-c", "protocol.file.allow=always", "-c",
			"submodule."+name+".url="+filepath.ToSlash(s.repo), "submodule", "update", "-q", "--checkout", "--",
			s.path); err != nil {
			return fmt.Errorf("checking out the submodule %s: %w", s.path, err)
		}
		below := from.inDir(filepath.Join(from.dir, filepath.FromSlash(s.path)))
		nested, err := below.submodules(ctx)
		if err == nil {
			err = addSubmodules(ctx, root, below, to.inDir(dir), nested)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mustBeEmpty returns an error unless dir is an empty directory of its own below root.
func mustBeEmpty(root *os.Root, dir string) error {
	rel, err := filepath.Rel(root.Name(), dir)
	if err != nil {
		return err
	}
	info, err := root.Lstat(rel)
	if err != nil {
		return err
	}
	if names, err := fs.ReadDir(root.FS(), filepath.ToSlash(rel)); err != nil || !info.IsDir() || len(names) > 0 {
		return errors.Join(err, fmt.Errorf("%s is to be the empty folder of a submodule", dir))
	}
	return nil
}

// submoduleNames returns the names of the submodules in .gitmodules, by path.
func (g git) submoduleNames(ctx context.Context) (map[string]string, error) {
	out, err := g.config(ctx, "-z", "--file", ".gitmodules", "--get-regexp", `^submodule\..*\.path$`)
	names := map[string]string{}
	for _, entry := range splitNUL(out) {
		key, path, _ := strings.Cut(entry, "\n")
		name := strings.TrimSuffix(strings.TrimPrefix(key, "submodule."), ".path")
		if !strings.Contains(name, "=") { // git's -c cannot have it
			names[path] = name
		}
	}
	return names, err
}

// checkSubmodules refuses work inside submodules: no commit of this repository can hold it.
func (m *Manager) checkSubmodules(ctx context.Context, g git) error {
	if len(m.checkout.submodules) == 0 {
		return nil
	}
	args := []string{"status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=none", "--"}
	for _, s := range m.checkout.submodules {
		args = append(args, ":(top,literal)"+s.path)
	}
	out, err := g.output(ctx, args...)
	var changed []string
	for _, line := range splitNUL(out) {
		// Its third field is S and letters for other commits, changed and untracked files.
		if fields := strings.Fields(line); len(fields) > 2 && strings.ContainsAny(fields[2], "CMU") {
			changed = append(changed, statusPath(line))
		}
	}
	if err != nil || len(changed) == 0 {
		return err
	}
	return &rejection{reason: fmt.Sprintf("it changed the submodule %s, which no commit of this repository can hold: "+
		"leave it as it was, or run with --isolation shared", firstFew(changed))}
}
