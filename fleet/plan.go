package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"wavex/fleet/ferry"
	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/usererr"
)

// This file looks whether a plan and its repository can be carried to other machines.

// refusePlan returns an error about the first part of a plan that workers cannot carry out: they get only commits.
func refusePlan(ctx context.Context, p *plan.Plan, c *event.Config) error {
	dir := c.Dir
	if p == nil {
		return nil
	}
	if planfile.IsList(p.Path) || c.TaskList != "" {
		return usage("%s: workers cannot share a task list of Claude Code; run a plan file without share-task-list", p.Path)
	}
	if len(p.Share) > 0 {
		return usage("%s:%d: share: workers have only the files in git, without %s; let setup make it there", p.Path,
			p.SharePos.Line, strings.TrimPrefix(p.Share[0], "copy:"))
	}
	top, err := gitwork.NewGit(ctx, dir, os.Environ()).Output(ctx, "", "rev-parse", "--show-toplevel")
	if err != nil {
		return usererr.Blocked(fmt.Errorf("workers need a git repository: %w", err))
	}
	for t := range p.AllTasks() {
		where := t.WorkDir(dir)
		if path := outsideOf(top, where, t, p.SettingsOf(t).MCPConfig); path != "" {
			return usage("%s:%d: task %s: %s is not in the repository, so workers do not have it", p.Path, t.Pos.Line,
				t.ID, path)
		}
	}
	return nil
}

// outsideOf returns the first path of a task that is not in the repository, or "".
func outsideOf(top, where string, t *plan.Task, mcp string) string {
	paths := []string{"."}
	if t.Command == "" && mcp != "inherit" {
		paths = append(paths, cmp.Or(mcp, "."))
	}
	for _, f := range t.Files {
		paths = append(paths, f.Path)
	}
	for _, c := range t.Verify {
		paths = append(paths, cmp.Or(c.File, "."))
	}
	for _, p := range paths {
		if !inside(top, where, p) {
			return p
		}
	}
	return ""
}

// inside reports whether a path, relative to the directory where, is in the directory top.
func inside(top, where, path string) bool {
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(where, path)
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(real, filepath.Base(path))
	}
	if real, err := filepath.EvalSymlinks(top); err == nil {
		top = real
	}
	rel, err := filepath.Rel(top, path)
	return err == nil && filepath.IsLocal(rel)
}

// gitRemote returns the git remote of a run on workers: as this machine names it, and its URL.
func gitRemote(ctx context.Context, dir, name, flag string) (remote, address string, err error) {
	remote = cmp.Or(name, "origin")
	if strings.HasPrefix(remote, "-") {
		return "", "", usage("%s takes the name or the URL of a git remote, not %q", flag, remote)
	}
	address, err = gitwork.NewGit(ctx, dir, os.Environ()).Output(ctx, "", "ls-remote", "--get-url", remote)
	if err != nil {
		return "", "", usererr.Blocked(err)
	}
	if name == "" && address == remote {
		return "", "", usage("%s is needed: the repository has no remote origin, by which workers could get the work", flag)
	}
	if u, err := url.Parse(address); err == nil && u.User != nil && strings.HasPrefix(u.Scheme, "http") {
		return "", "", usage("%s: the URL of the git remote at %s has a user or a password, which do not go to workers; "+
			"let a credential helper of git hold them", flag, u.Host)
	}
	switch {
	case strings.Contains(address, ":"): // a URL
	case filepath.IsAbs(address):
		address = filepath.Clean(address)
	default: // git takes it from the top
		top, err := gitwork.NewGit(ctx, dir, os.Environ()).Output(ctx, "", "rev-parse", "--show-toplevel")
		if err != nil {
			return "", "", usererr.Blocked(err)
		}
		address = filepath.Join(filepath.FromSlash(top), address)
	}
	return remote, address, nil
}

// errNoCommit says that there is nothing that workers could begin on.
var errNoCommit = errors.New("the repository has no commit yet, and attempts on workers begin on one")

// probeRemote looks whether a git remote takes refs of a run.
func probeRemote(ctx context.Context, dir, remote, name string) error {
	head, err := gitwork.NewGit(ctx, dir, os.Environ()).Output(ctx, "", "rev-parse", "--verify", "-q", "HEAD")
	if err != nil {
		return usererr.Blocked(errNoCommit)
	}
	if err := ferry.New(ctx, dir, remote, os.Environ()).Probe(ctx, head, name); err != nil {
		return usererr.Blocked(fmt.Errorf("the git remote %s does not take the refs below refs/wavex by which the work goes "+
			"to workers and back: %w", remote, err))
	}
	return nil
}
