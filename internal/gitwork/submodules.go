package gitwork

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// This file finds submodules. A worktree has none of those that are checked out in the user's checkout, and no commit
// of the run could hold a change in one.

// submodules returns the paths of the submodules that are checked out in g's directory, with slashes.
func (g git) submodules(ctx context.Context) (paths []string, err error) {
	if _, err := os.Stat(filepath.Join(g.dir, ".gitmodules")); err != nil {
		return nil, nil
	}
	out, err := g.output(ctx, "ls-files", "-s", "-z")
	for _, line := range splitNUL(out) {
		mode, path, _ := strings.Cut(line, "\t")
		_, empty := os.Lstat(filepath.Join(g.dir, filepath.FromSlash(path), ".git"))
		if strings.HasPrefix(mode, nestedMode) && empty == nil {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// hasModules reports whether an agent has checked out submodules in a worktree. They know its path.
func (t *tree) hasModules() bool {
	_, err := os.Lstat(filepath.Join(t.Admin, "modules"))
	return t.Admin != "" && err == nil
}
