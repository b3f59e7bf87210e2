package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/verify"
	"wavex/runner"
)

// Runner returns a Runner that gives every attempt of inner a directory to work in. In shared mode
// that is the user's directory, entered by turns. In worktree mode it is a worktree, and finished
// work becomes a commit.
func (m *Manager) Runner(inner Runner) Runner {
	if m.s.Mode == Worktree {
		return &apart{m, inner}
	}
	return &together{m, inner}
}

// together runs attempts in the user's directory. Agents may run side by side; checks run only
// while no agent works.
type together struct {
	m     *Manager
	inner Runner
}

func (r *together) Attempt(ctx context.Context, req runner.Request) runner.Result {
	began := r.m.o.Now()
	leave, err := r.m.turns.enter(ctx, editing)
	if err != nil {
		return runner.Result{Outcome: runner.Interrupted, Reason: "stopped while waiting for its turn: " + err.Error(),
			Session: req.Session, Started: began.UTC(), Contained: true}
	}
	defer func() { leave() }()
	defer r.m.slots.empty(req.Slot)
	req.Env = r.m.slots.over(req.Env, req.Slot)
	req.BeforeChecks = func(ctx context.Context) (func(), error) {
		leave()
		next, err := r.m.turns.enter(ctx, checking)
		if err != nil {
			return nil, err
		}
		leave = next
		return next, nil
	}
	return r.inner.Attempt(ctx, req)
}

// apart runs attempts in worktrees.
type apart struct {
	m     *Manager
	inner Runner
}

func (r *apart) Attempt(ctx context.Context, req runner.Request) runner.Result {
	m := r.m
	began := m.o.Now()
	refuse := func(err error) runner.Result {
		res := runner.Result{Outcome: runner.Broken, Reason: verify.OneLine("no worktree for it: "+err.Error(), 400),
			Session: req.Session, Started: began.UTC(), Duration: m.o.Now().Sub(began), Contained: true}
		if cause := context.Cause(ctx); cause != nil {
			res.Outcome, res.Reason = runner.Interrupted, "stopped before it began: "+cause.Error()
			return res
		}
		res.Signature = runner.Signature(res.Reason, "")
		return res
	}
	t, err := m.take(ctx, req.Task, req.Resume)
	if err != nil {
		return refuse(err)
	}
	inside, err := m.inside(t, req)
	if err != nil {
		_ = m.putBack(t, "")
		return refuse(err)
	}
	res := r.inner.Attempt(ctx, inside)
	m.slots.empty(req.Slot)
	done := ""
	if res.Outcome == runner.Done {
		if done = m.settle(ctx, t, inside, &res); done != none {
			res.Commit = done
		}
		res.Duration = m.o.Now().Sub(began)
	}
	if err := m.putBack(t, done); err != nil && res.Outcome == runner.Done {
		res.Outcome, res.Reason = runner.Broken, verify.OneLine(err.Error(), 400)
	}
	return res
}

// inside rewrites a request for the project so that it refers to the worktree t.
func (m *Manager) inside(t *tree, req runner.Request) (runner.Request, error) {
	from := req.Dir
	dir, err := m.mapped(t, from)
	if err != nil {
		return req, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { // git has no empty folders
		return req, err
	}
	req.Dir = dir
	if req.Base != "" { // digests of another commit's files do not apply here
		req.Base = strings.TrimSuffix(req.Base, ".json") + "." + short(t.Base) + ".json"
	}
	req.Files, req.Checks = slices.Clone(req.Files), slices.Clone(req.Checks)
	for i := range req.Files {
		req.Files[i].Path = m.relative(from, req.Files[i].Path)
	}
	req.Checks = m.relativeChecks(from, req.Checks)
	req.Env = m.slots.over(req.Env, req.Slot)
	return req, nil
}

// mapped returns the directory of the worktree t that corresponds to dir in the project.
func (m *Manager) mapped(t *tree, dir string) (string, error) {
	rel, err := filepath.Rel(resolved(m.c.top), resolved(dir))
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s is not in the repository %s; run with --isolation shared", dir, m.c.top)
	}
	return filepath.Join(m.path(t), rel), nil
}

// relative makes an absolute path in the repository relative to dir, so that in a worktree it
// refers to the worktree's file.
func (m *Manager) relative(dir, path string) string {
	abs := filepath.FromSlash(path)
	if !filepath.IsAbs(abs) {
		return path
	}
	if rel, err := filepath.Rel(resolved(m.c.top), resolved(abs)); err != nil || !filepath.IsLocal(rel) {
		return path
	}
	rel, err := filepath.Rel(resolved(dir), resolved(abs))
	if err != nil {
		return path
	}
	return filepath.ToSlash(rel)
}

func (m *Manager) relativeChecks(dir string, checks []plan.Check) []plan.Check {
	checks = slices.Clone(checks)
	for i := range checks {
		if checks[i].File != "" {
			checks[i].File = m.relative(dir, checks[i].File)
		}
	}
	return checks
}

// settle commits the work of a successful attempt. If the work cannot be committed, settle changes
// the outcome in res and says why. It returns the new value of the tree's Done.
func (m *Manager) settle(ctx context.Context, t *tree, req runner.Request, res *runner.Result) string {
	id, err := m.commit(ctx, t, req, res.Changed)
	if err == nil {
		return id
	}
	var bad *refusal
	switch {
	case errors.As(err, &bad):
		res.Outcome, res.Reason, res.Detail = runner.Wrong, verify.OneLine(bad.reason, 400), verify.Shorten(bad.detail, 4<<10)
	case context.Cause(ctx) != nil:
		res.Outcome, res.Reason = runner.Interrupted, "stopped while its work was committed: "+context.Cause(ctx).Error()
	default:
		res.Outcome, res.Reason = runner.Broken, verify.OneLine("committing its work: "+err.Error(), 400)
	}
	res.Signature = runner.Signature(res.Reason, res.Detail)
	return ""
}
