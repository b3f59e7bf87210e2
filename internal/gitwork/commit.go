package gitwork

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	g := m.gitIn(t)
	branch, ref := taskBranch(m.opts.Run, req.Task), taskRef(m.opts.Run, req.Task)
	head, onBranch, err := m.headOf(ctx, t, branch)
	if err == nil && !m.isOwnCommit(t, head) { // an agent has moved it, maybe to a commit that does not exist
		head, err = g.resolve(ctx, "HEAD")
	}
	if err != nil {
		return "", err
	}
	if _, err := m.preserveHead(ctx, t, head); err != nil {
		return "", err
	}
	if err := clearOperations(t); err != nil {
		return "", err
	}
	t.judged = "" // the worktree may have been that of another attempt
	diff, err := m.stageAll(ctx, t)
	if err != nil {
		return "", err
	}
	if nested := nestedRepos(diff); len(nested) > 0 {
		return "", &rejection{reason: fmt.Sprintf("%s is a git repository of its own, and its commits would be lost: "+
			"make it plain files (remove its .git), or leave it as it was", firstFew(nested))}
	}
	if err := m.checkIgnoredFiles(ctx, g, req, changed, diff); err != nil {
		return "", err
	}
	if !onBranch || head != t.Base {
		if err := g.putOnBranch(ctx, onBranch, branch, t.Base); err != nil {
			return "", err
		}
	}
	if len(diff) == 0 {
		return noWork, m.g.updateRefs(ctx, ref, t.Base)
	}
	hooks := len(m.liveHooks(g.dir)) > 0 || m.hooksChanged(g.dir)
	if hooks { // they may change the files
		if t.judged, err = g.output(ctx, "write-tree"); err != nil {
			return "", err
		}
	}
	if err := m.commitIndex(ctx, g, req); err != nil {
		return "", err
	}
	id, err := m.setTaskRef(ctx, t, req.Task)
	if !hooks {
		m.diffs.Store(id, diff)
	}
	return id, err
}

// setTaskRef makes the ref of a task refer to the commit of HEAD, and keeps the commit that it referred to before. It
// returns the new one.
func (m *Manager) setTaskRef(ctx context.Context, t *tree, task string) (string, error) {
	branch, ref := taskBranch(m.opts.Run, task), taskRef(m.opts.Run, task)
	id, _, err := m.headOf(ctx, t, branch)
	if err != nil {
		return "", err
	}
	if err = m.g.refTransaction(ctx, "create "+ref+" "+id); exitCode(err) <= 0 {
		return id, err
	}
	if err := m.preserveTaskCommit(ctx, task); err != nil {
		return "", err
	}
	return id, m.g.updateRefs(ctx, ref, id)
}

// headOf returns the commit of a worktree's HEAD, and reports whether HEAD is on a branch. It asks git only if HEAD
// is not, or the branch is not a file with a commit: an agent or a hook has moved it.
func (m *Manager) headOf(ctx context.Context, t *tree, branch string) (head string, onBranch bool, err error) {
	if symbolicRef(filepath.Join(t.Admin, "HEAD")) == branch {
		text, _ := os.ReadFile(filepath.Join(m.checkout.common, filepath.FromSlash(branch)))
		if head = strings.TrimSpace(string(text)); isObjectID(head) {
			return head, true, nil
		}
	}
	head, err = m.gitIn(t).resolve(ctx, "HEAD")
	return head, false, err
}

// symbolicRef returns the ref that the file of a symbolic ref names, or "".
func symbolicRef(path string) string {
	data, _ := os.ReadFile(path) // a packed ref has no file, and is not symbolic
	to, symbolic := strings.CutPrefix(strings.TrimSpace(string(data)), "ref: ")
	if !symbolic {
		return ""
	}
	return to
}

// putOnBranch makes HEAD refer to a branch at a commit. The files and the index do not change.
func (g git) putOnBranch(ctx context.Context, onBranch bool, branch, commit string) error {
	if !onBranch {
		if err := g.run(ctx, "symbolic-ref", "HEAD", branch); err != nil {
			return err
		}
	}
	return g.updateRefs(ctx, branch, commit) // also if it was a symbolic ref
}

// commitIndex runs git commit, which runs the repository's hooks.
func (m *Manager) commitIndex(ctx context.Context, g git, req runner.Request) error {
	ctx, cancel := context.WithTimeoutCause(ctx, hookTimeout, errHookTimeout)
	defer cancel()
	g, err := m.forHooks(g)
	if err != nil {
		return err
	}
	args := append(m.hookArgs(), "commit", "-q", "--allow-empty", "--cleanup=whitespace", "-F", "-")
	g.mark = fmt.Sprintf("%s/%s/%d", req.Run, req.Task, req.Attempt)
	_, err = g.outputOf(ctx, m.taskMessage(req.Task), args...)
	var failed *gitError
	switch {
	case errors.As(err, &failed) && failed.code == 1:
		return &rejection{"the repository's hooks refused the commit: " + failed.Error(), failed.stderr + failed.stdout}
	case errors.Is(err, errHookTimeout):
		return &rejection{reason: fmt.Sprintf("the repository's hooks did not end within %s", hookTimeout)}
	}
	return err
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
// therefore the delivery, would lack them. diff has the files that the commit changes.
func (m *Manager) checkIgnoredFiles(ctx context.Context, g git, req runner.Request, changed []string,
	diff []change) error {
	there := map[string]string{} // by path in the repository
	query := []string{"ls-files", "-z", "--"}
	for _, path := range changed {
		abs := filepath.Join(req.Dir, filepath.FromSlash(path))
		rel, err := filepath.Rel(g.dir, abs)
		if err != nil || !filepath.IsLocal(rel) || m.inShare(filepath.ToSlash(rel)) {
			continue
		}
		rel = filepath.ToSlash(rel)
		if slices.ContainsFunc(diff, func(c change) bool { return c.path == rel && c.status != 'D' }) {
			continue
		}
		if info, err := os.Lstat(abs); err == nil && !info.IsDir() {
			there[rel] = path
			query = append(query, ":(top,literal)"+rel)
		}
	}
	if len(there) == 0 {
		return nil
	}
	known, err := g.output(ctx, query...)
	if err != nil {
		return err
	}
	for _, rel := range splitNUL(known) {
		delete(there, rel)
	}
	if len(there) == 0 {
		return nil
	}
	lost := slices.Sorted(maps.Values(there))
	return &rejection{reason: fmt.Sprintf("git ignores %s, so the work would not be delivered: "+
		"take it out of .gitignore, add it with git add -f, or run with --isolation shared", firstFew(lost))}
}

// commitMessage returns a commit message.
func commitMessage(subject, run, task string) string {
	subject = strings.Join(strings.Fields(subject), " ")
	return fmt.Sprintf("%s\n\nWavex-Run: %s\nWavex-Task: %s\n", subject, run, task)
}
