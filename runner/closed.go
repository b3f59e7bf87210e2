package runner

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/safefile"
)

// This file lists the paths that a wall closes to the agent of an attempt.

// closedPaths returns the paths that the agent must not write, the most important first. Some do not exist.
// The working tree may be in one of them, .loop.
func (r *Request) closedPaths() (closed []string) {
	closed = slices.Clone(r.Closed)
	for _, g := range r.Guards {
		closed = append(closed, filepath.Join(r.Dir, filepath.FromSlash(g.Path)))
	}
	root, git := gitPaths(r.Dir)
	closed = append(closed, git...)
	for _, dir := range slices.Compact([]string{r.Dir, root}) {
		closed = append(closed, filepath.Join(dir, ".mcp.json"))
		list, _ := os.ReadDir(filepath.Join(dir, claudeDir)) // without one there is nothing to close
		for _, e := range list {
			// The CLI itself makes the trees of its own agents in the last one.
			if strings.HasPrefix(e.Name(), "settings") || !r.writesIn(claudeDir) && e.Name() != "worktrees" {
				closed = append(closed, filepath.Join(dir, claudeDir, e.Name()))
			}
		}
	}
	return append(closed, r.Protect.paths(r.Dir)...)
}

// claudeDir is the CLI's directory in a project.
const claudeDir = ".claude"

// writesIn reports whether the task declares that it writes a directory, or files in it.
func (r *Request) writesIn(dir string) bool {
	return slices.ContainsFunc(plan.Written(r.Files), func(p string) bool {
		return declares([]string{dir}, filepath.ToSlash(filepath.Clean(p)))
	})
}

// paths returns the protected files and folders of the project of which dir is a part.
func (p *Protect) paths(dir string) (out []string) {
	if p == nil || len(p.Patterns) == 0 {
		return nil
	}
	root := p.root(dir)
	_ = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		rel, rerr := filepath.Rel(root, at)
		rel = filepath.ToSlash(rel)
		switch {
		case err != nil || rerr != nil || rel == ".":
			return nil
		case d.IsDir() && (d.Name() == ".git" || rel == loop.Name):
			return fs.SkipDir
		case !p.matches(rel):
			return nil
		}
		if out = append(out, at); d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	return out
}

// maxGitFile bounds the files that name a directory of git, in bytes.
const maxGitFile = 1 << 16

// gitPaths returns the working tree that dir is in, or dir if it is in none, and the paths in which git finds programs
// to run: its hooks and configuration.
func gitPaths(dir string) (root string, closed []string) {
	for root = dir; ; root = filepath.Dir(root) {
		at := filepath.Join(root, ".git")
		text, err := safefile.Read(at, maxGitFile)
		gitDir := at
		if err == nil { // a working tree of its own
			rest, is := bytes.CutPrefix(text, []byte("gitdir:"))
			if !is {
				return root, nil
			}
			gitDir = absolute(root, string(rest))
			closed = append(closed, at)
		}
		if _, err := safefile.Read(filepath.Join(gitDir, "HEAD"), maxGitFile); err == nil {
			common := gitDir
			if text, err := safefile.Read(filepath.Join(gitDir, "commondir"), maxGitFile); err == nil {
				common = absolute(gitDir, string(text))
			}
			return root, append(closed, filepath.Join(common, "hooks"), filepath.Join(common, "config"),
				filepath.Join(common, "config.worktree"), filepath.Join(gitDir, "config.worktree"))
		}
		if filepath.Dir(root) == root {
			return dir, nil
		}
	}
}

// absolute returns a path that a file of git names, which may be relative to dir.
func absolute(dir, path string) string {
	path = filepath.FromSlash(strings.TrimSpace(path))
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
