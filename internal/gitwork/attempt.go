package gitwork

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/proc"
	"wavex/internal/safefile"
	"wavex/internal/textfmt"
	"wavex/runner"
)

// Enter gives an attempt a directory to work in, by changes of its request and its hooks. In shared mode that is the
// user's directory, which attempts share. In worktree mode it is a worktree, and finished work becomes a commit. The
// caller must call leave with the result. If leave is nil the attempt cannot begin, and res is its result.
func (m *Manager) Enter(ctx context.Context, req *runner.Request, hooks *runner.Hooks) (leave func(*runner.Result),
	res runner.Result) {
	began, enter, lacks := m.opts.Now(), m.enterTree, "no worktree for it: "
	if m.opts.Elsewhere {
		enter, lacks = m.enterElsewhere, "no commit for it to begin on: "
	} else if m.state.Mode == Shared {
		return m.enterShared(req, hooks), res
	}
	leave, err := enter(ctx, req, hooks)
	if err == nil {
		return leave, res
	}
	res = runner.Result{Outcome: runner.Broken, Session: req.Session, Started: began.UTC(),
		Duration: m.opts.Now().Sub(began), Contained: true}
	why := lacks + proc.ErrorText(err)
	if cause := context.Cause(ctx); cause != nil {
		res.Outcome, why = runner.Interrupted, "stopped before it began: "+cause.Error()
	} else if errors.Is(err, errTurnGone) {
		res.Outcome, why = runner.Truncated, err.Error()
	}
	if res.Reason = textfmt.OneLine(why, runner.ReasonMax); res.Outcome == runner.Broken {
		res.Signature = runner.Signature(res.Reason, "")
	}
	return nil, res
}

var errTurnGone = errors.New("the work of its last turn is gone")

// enterShared is Enter for the user's directory.
func (m *Manager) enterShared(req *runner.Request, hooks *runner.Hooks) (leave func(*runner.Result)) {
	if hooks.Directory = m.shared; len(req.Env) == 0 { // its checks see no values of its own
		hooks.Memory = &m.checks.Memory
	}
	if req.Command == "" || !m.shared.single {
		hooks.Files = m.shared.lock.since
	}
	slot := req.Slot
	req.Env = m.slots.overlay(req.Env, slot)
	return func(*runner.Result) { m.slots.emptyDir(slot) }
}

// enterTree is Enter for a worktree.
func (m *Manager) enterTree(ctx context.Context, req *runner.Request, hooks *runner.Hooks) (leave func(*runner.Result),
	err error) {
	began, asked := m.opts.Now(), *req
	t, kept, err := m.attemptTree(ctx, req)
	if err != nil {
		return nil, err
	}
	if ended := hooks.TurnEnded; ended != nil && asked.Commit != "" {
		hooks.TurnEnded = func(turn runner.Turn) error {
			turn.Result.WIP = m.contents(ctx, t)
			return ended(turn)
		}
	}
	if !kept && m.opts.Setup.Run == "" && len(asked.Env) == 0 { // else it may have ignored files of other tasks
		hooks.Memory, hooks.Files = &m.checks.Memory, m.baseFiles(ctx, t, asked.Dir)
	}
	mapped := *req
	return func(res *runner.Result) {
		if res.Outcome == "" { // a panic: a process may still work in the worktree
			return
		}
		m.slots.emptyDir(asked.Slot)
		done := ""
		if res.Outcome == runner.Done {
			if done = m.commitAttempt(ctx, t, mapped, res); done != noWork {
				res.Commit = done
			}
			if res.Outcome == runner.Done && len(asked.Env) == 0 {
				m.noteAttempt(ctx, t, cmp.Or(res.Commit, t.Base), asked.Dir, mapped.Checks, res.Checks)
			}
			res.Duration = m.opts.Now().Sub(began)
		}
		if res.WIP = ""; asked.Commit != "" && res.Outcome != runner.Done {
			res.WIP = m.contents(context.WithoutCancel(ctx), t)
		}
		if err := m.releaseTree(t, done); err != nil && res.Outcome == runner.Done {
			res.Outcome, res.Reason = runner.Broken, textfmt.OneLine(err.Error(), 400)
		}
	}, nil
}

// attemptTree is acquireTree for a request, which then refers to the worktree.
func (m *Manager) attemptTree(ctx context.Context, req *runner.Request) (t *tree, kept bool, err error) {
	if req.Commit != "" {
		if err := m.place(*req); err != nil {
			return nil, false, err
		}
	}
	t, kept, err = m.acquireTree(ctx, req.Task, req.Resume || req.Turn != nil || req.Commit != "")
	switch {
	case err != nil:
		return nil, false, err
	case !kept && req.Commit != "":
		err = errors.New("the commits on which it begins are not in this repository")
	case !kept && req.Turn != nil:
		err = fmt.Errorf("the worktree with %w", errTurnGone)
	default:
		err = m.mapRequest(t, req)
	}
	if err != nil {
		_ = m.releaseTree(t, "") // the first error counts
	}
	return t, kept, err
}

// mapRequest rewrites a request for the project so that it refers to the worktree t.
func (m *Manager) mapRequest(t *tree, req *runner.Request) error {
	from := req.Dir
	dir, err := m.treeDir(t, from)
	if err != nil {
		return err
	}
	if err := safefile.MkdirAll(dir, 0o755); err != nil { // git has no empty folders
		return err
	}
	req.Dir = dir
	if req.Baseline != "" { // digests of another commit's files do not apply here
		req.Baseline = strings.TrimSuffix(req.Baseline, ".json") + "." + shortID(t.Base) + ".json"
	}
	req.Files, req.Checks = m.relativeFiles(from, req.Files), m.relativeChecks(from, req.Checks)
	req.Env = m.slots.overlay(req.Env, req.Slot)
	req.Env["GIT_CONFIG_PARAMETERS"] = m.agentGit()
	req.Run = m.mark()
	return nil
}

// mark marks the processes of attempts.
func (m *Manager) mark() string { return cmp.Or(m.opts.Mark, m.opts.Run) }

// treeDir returns the directory of the worktree t that corresponds to dir in the project.
func (m *Manager) treeDir(t *tree, dir string) (string, error) {
	rel, err := filepath.Rel(resolveLinks(m.checkout.top), resolveLinks(dir))
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s is not in the repository %s; run with --isolation shared", dir, m.checkout.top)
	}
	return filepath.Join(m.treePathOf(t), rel), nil
}

// TreeDir returns the directory of a task's worktree that corresponds to dir in the project; "" if it has none.
func (m *Manager) TreeDir(task, dir string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.lastTree(task)
	if t == nil || t == m.parkedTree(task) {
		return ""
	}
	at, err := m.treeDir(t, dir)
	if err != nil {
		return ""
	}
	return at
}

// relativePath makes an absolute path in the repository relative to dir, so that in a worktree it
// refers to the worktree's file.
func (m *Manager) relativePath(dir, path string) string {
	abs := filepath.FromSlash(path)
	if !filepath.IsAbs(abs) {
		return path
	}
	if rel, err := filepath.Rel(resolveLinks(m.checkout.top), resolveLinks(abs)); err != nil || !filepath.IsLocal(rel) {
		return path
	}
	rel, err := filepath.Rel(resolveLinks(dir), resolveLinks(abs))
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

func (m *Manager) relativeFiles(dir string, files []plan.File) []plan.File {
	files = slices.Clone(files)
	for i := range files {
		files[i].Path = m.relativePath(dir, files[i].Path)
	}
	return files
}

func (m *Manager) relativeChecks(dir string, checks []plan.Check) []plan.Check {
	checks = slices.Clone(checks)
	for i := range checks {
		if checks[i].File != "" {
			checks[i].File = m.relativePath(dir, checks[i].File)
		}
	}
	return checks
}

// commitAttempt commits the work of a successful attempt. If the work cannot be committed, settle changes
// the outcome in res and says why. It returns the new value of the tree's Done.
func (m *Manager) commitAttempt(ctx context.Context, t *tree, req runner.Request, res *runner.Result) string {
	id, err := m.commit(ctx, t, req, res.Changed)
	if err == nil {
		err = m.saveBundle(ctx)
	}
	if err == nil {
		return id
	}
	var bad *rejection
	switch {
	case errors.As(err, &bad):
		res.Outcome, res.Reason, res.Detail = runner.Wrong, textfmt.OneLine(bad.reason, 400),
			textfmt.ExcerptOf(bad.detail, 4<<10)
	case context.Cause(ctx) != nil:
		res.Outcome, res.Reason = runner.Interrupted, "stopped while its work was committed: "+context.Cause(ctx).Error()
	default:
		res.Outcome, res.Reason = runner.Broken, textfmt.OneLine("committing its work: "+err.Error(), 400)
	}
	res.Signature = runner.Signature(res.Reason, res.Detail)
	return ""
}
