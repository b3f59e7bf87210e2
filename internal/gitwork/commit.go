package gitwork

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"wavex/runner"
)

// This file makes the work in a worktree one commit, including the commits of the agent. It knows
// the task's declared files and not its checks.

// hookTimeout limits one commit. Most of that time goes to the repository's hooks.
const hookTimeout = 10 * time.Minute

var errHookTimeout = errors.New("the repository's hooks took too long")

// noWork is the value of Done for a success without changes.
const noWork = "none"

// rejection says why work that passed its checks cannot be accepted.
type rejection struct{ reason, detail string }

func (e *rejection) Error() string { return e.reason }

// commit makes one commit of the difference between the files in a worktree and the commit that the
// task began on. The new commit's parent is that commit, and the task's branch and ref point to it.
// Changes that the agent made to HEAD, index and branches have no effect.
func (m *Manager) commit(ctx context.Context, t *tree, req runner.Request, changed []string) (string, error) {
	if err := m.repairTree(ctx, t); errors.Is(err, errTreeGone) {
		return "", &rejection{reason: "the directory that it worked in is gone: " + m.treePathOf(t)}
	} else if err != nil {
		return "", err
	}
	if err := m.preserveStashes(ctx, req.Task); err != nil {
		return "", err
	}
	if _, err := m.preserveHead(ctx, t); err != nil {
		return "", err
	}
	if err := clearOperations(t); err != nil {
		return "", err
	}
	g := m.gitIn(t)
	branch := taskBranch(m.opts.Run, req.Task)
	diff, err := m.stageAll(ctx, t)
	if err != nil {
		return "", err
	}
	if nested := nestedRepos(diff); len(nested) > 0 {
		return "", &rejection{reason: fmt.Sprintf("%s is a git repository of its own, and its commits would be lost: "+
			"make it plain files (remove its .git), or leave it as it was", firstFew(nested))}
	}
	if err := m.checkIgnoredFiles(ctx, g, req, changed); err != nil {
		return "", err
	}
	if err := g.run(ctx, "symbolic-ref", "HEAD", branch); err != nil {
		return "", err
	}
	if err := g.updateRefs(ctx, branch, t.Base); err != nil {
		return "", err
	}
	if len(diff) == 0 {
		return noWork, m.g.updateRefs(ctx, taskRef(m.opts.Run, req.Task), t.Base)
	}
	id, err := m.commitIndex(ctx, g, req)
	if err != nil {
		return "", err
	}
	if err := m.preserveTaskCommit(ctx, req.Task); err != nil {
		return "", err
	}
	return id, m.g.updateRefs(ctx, taskRef(m.opts.Run, req.Task), id)
}

// commitIndex runs git commit, which runs the repository's hooks.
func (m *Manager) commitIndex(ctx context.Context, g git, req runner.Request) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, hookTimeout, errHookTimeout)
	defer cancel()
	args := append(m.hookArgs(), "commit", "-q", "--allow-empty", "--cleanup=whitespace", "-F", "-")
	g.mark = fmt.Sprintf("%s/%s/%d", req.Run, req.Task, req.Attempt)
	_, err := g.outputOf(ctx, m.taskMessage(req.Task), args...)
	var failed *gitError
	switch {
	case errors.As(err, &failed) && failed.code == 1:
		return "", &rejection{"the repository's hooks refused the commit: " + failed.Error(), failed.stderr + failed.stdout}
	case errors.Is(err, errHookTimeout):
		return "", &rejection{reason: fmt.Sprintf("the repository's hooks did not end within %s", hookTimeout)}
	case err != nil:
		return "", err
	}
	return g.resolve(ctx, "HEAD")
}

// taskMessage returns the commit message of a task.
func (m *Manager) taskMessage(task string) string {
	subject := ""
	if m.opts.Subject != nil {
		subject = strings.TrimSpace(m.opts.Subject(task))
	}
	return commitMessage(cmp.Or(subject, "Task "+task), m.opts.Run, task)
}

// checkIgnoredFiles refuses declared files that were written and that git ignores: the commit, and
// therefore the delivery, would lack them.
func (m *Manager) checkIgnoredFiles(ctx context.Context, g git, req runner.Request, changed []string) error {
	var lost []string
	for _, path := range changed {
		abs := filepath.Join(req.Dir, filepath.FromSlash(path))
		rel, err := filepath.Rel(g.dir, abs)
		if err != nil || !filepath.IsLocal(rel) || m.inShare(filepath.ToSlash(rel)) {
			continue
		}
		if info, err := os.Lstat(abs); err != nil || info.IsDir() {
			continue
		}
		known, err := g.output(ctx, "ls-files", "-z", "--", ":(top,literal)"+filepath.ToSlash(rel))
		if err != nil {
			return err
		}
		if known == "" {
			lost = append(lost, path)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return &rejection{reason: fmt.Sprintf("git ignores %s, so the work would not be delivered: "+
		"take it out of .gitignore, add it with git add -f, or run with --isolation shared", firstFew(lost))}
}
