package site

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/renameio/v2/maybe"

	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/record"
	"wavex/internal/refuse"
	"wavex/internal/report"
	"wavex/internal/secret"
	"wavex/internal/workspace"
	"wavex/runner"
	"wavex/scheduler"
)

// Site is the workspace of a run as the scheduler sees it: its Runner, its Integrator,
// and a View that is told which tasks are given up.
type Site struct {
	plan   *plan.Plan
	config scheduler.Config
	space  *workspace.Manager
	inner  scheduler.Runner

	mu     sync.Mutex
	now    *plan.Plan // with the tasks that joined it
	failed []string   // given up, and not released yet
}

// Open opens the workspace of a run of p. Where attempts work is settled by it, see Mode,
// and told to say when that is not as ever. The error is a *refuse.BlockedError.
func Open(ctx context.Context, p *plan.Plan, c scheduler.Config, say func(string)) (*Site, error) {
	t := &Site{plan: p, config: c, now: p}
	o := options(p, c)
	o.Subject = t.subject
	space, err := workspace.Open(ctx, o)
	if err != nil {
		return nil, refuse.Blocked(err)
	}
	t.space, t.config.Isolation = space, space.Mode()
	// That one task at a time works in the directory as ever needs no words.
	if o.Mode != workspace.Shared && (space.Mode() != workspace.Shared || o.Width > 1) {
		say(fmt.Sprintf("isolation %s: %s", space.Mode(), space.Why()))
	}
	return t, nil
}

// Mode is where attempts work: workspace.Shared or workspace.Worktree.
func (t *Site) Mode() string { return t.space.Mode() }

// Head is the commit that the project's checkout was at when Open looked at it, "" where it
// has none or there is no checkout. known is false where Open had no reason to look.
func (t *Site) Head() (commit string, known bool) { return t.space.Head() }

// Place is where an attempt at a task works or has worked, and the commit that its work
// is told against; dir and "" where tasks share dir.
func (t *Site) Place(task, dir string) (at, base string) { return t.space.Place(task, dir) }

// Standing calls use with a directory that holds the work as it stands together: the
// project's own, or, where tasks work in trees, one of the integrated tree.
func (t *Site) Standing(ctx context.Context, use func(dir string) error) error {
	return t.space.Standing(ctx, use)
}

// Slot is what everything that runs in a slot finds in its environment; leave gives up what
// was left in its folder for temporary files.
func (t *Site) Slot(n int) (env map[string]string, leave func()) { return t.space.Slot(n) }

// Span is what a wave, or with 0 the run, has integrated: from one commit to another.
func (t *Site) Span(ctx context.Context, wave int) (from, to string, err error) {
	return t.space.Span(ctx, wave)
}

// Close gives the worktrees back. Nothing of a task is lost by a failure here: its work is
// on its branch.
func (t *Site) Close(ctx context.Context) error {
	return errors.Join(t.release(ctx), t.space.Close(ctx))
}

// subject is what a task's commit is called, also of a task that joined the plan.
func (t *Site) subject(id string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return subject(t.now, id)
}

// subject is what the commit of a task of p is called. Others will read it.
func subject(p *plan.Plan, id string) string {
	if i, ok := p.Lookup(id); ok && p.Tasks[i].Subject != "" {
		return clean(p.Tasks[i].Subject)
	}
	return "Task " + id
}

// clean takes the secrets of wavex's environment out of a text that leaves the machine.
func clean(text string) string { return secret.New(os.Environ()).String(text) }

// options are those of a run's workspace.
func options(p *plan.Plan, c scheduler.Config) workspace.Options {
	width := 0
	waves, of := p.Waves()
	sizes := make([]int, of+1)
	for _, w := range waves {
		sizes[w]++
		width = max(width, sizes[w])
	}
	if c.Isolation == "" {
		c.Isolation = workspace.Shared // a run of a wavex that knew no other
	}
	return workspace.Options{
		Project: c.Dir, Loop: c.Loop, Run: c.Run, Mode: c.Isolation, Width: width,
		Share: p.Share, Writes: promised(p), Setup: p.Setup, Protect: p.ProtectBranches, NoVerify: c.NoVerify,
		Env: os.Environ(), Now: time.Now, Own: []string{planfile.Path(p)},
		Subject: func(id string) string { return subject(p, id) },
		Title:   clean(p.Name), Body: filepath.Join(c.Loop, "runs", c.Run, "pull-request.md"),
	}
}

// promised lists what tasks are to write, relative to the project.
func promised(p *plan.Plan) []string {
	var out []string
	for i := range p.Tasks {
		for _, f := range p.Tasks[i].Files {
			if f.Writes() && f.Action != "delete" {
				out = append(out, filepath.ToSlash(filepath.Join(p.Tasks[i].WorkDir(""), filepath.FromSlash(f.Path))))
			}
		}
	}
	return out
}

// Wire puts the workspace between the loop and the runner.
func (t *Site) Wire(loop *scheduler.Loop) {
	t.inner = t.space.Runner(loop.Runner)
	loop.Runner = t.inner
	if t.space.Mode() == workspace.Worktree {
		loop.Runner, loop.Trees, loop.Views = t, t, append(loop.Views, t)
	}
}

// Event notes what joins the plan and who is given up. It is called by the loop's goroutine.
func (t *Site) Event(e scheduler.Event, s *scheduler.State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = s.Plan
	switch b := e.Body.(type) {
	case scheduler.AttemptEnded:
		if b.Status == scheduler.Failed {
			t.failed = append(append(t.failed, b.Task), b.Blocked...)
		}
	case scheduler.IntegrationEnded:
		for _, r := range b.Reopened {
			if r.Status == scheduler.Failed {
				t.failed = append(append(t.failed, r.Task), r.Blocked...)
			}
		}
	}
}

// release gives the worktrees of failed tasks to others; what they left is kept below
// refs/wavex.
func (t *Site) release(ctx context.Context) error {
	t.mu.Lock()
	ids := t.failed
	t.failed = nil
	t.mu.Unlock()
	var errs []error
	var left []string // what could not be kept is tried again
	for _, id := range ids {
		if err := t.space.Release(ctx, id); err != nil {
			errs, left = append(errs, err), append(left, id)
		}
	}
	t.mu.Lock()
	t.failed = append(left, t.failed...)
	t.mu.Unlock()
	return errors.Join(errs...)
}

// Attempt makes an attempt in a worktree, which may be that of a failed task.
func (t *Site) Attempt(ctx context.Context, req runner.Request) runner.Result {
	if err := t.release(ctx); err != nil && context.Cause(ctx) == nil {
		return runner.Result{Outcome: runner.Broken, Reason: "keeping what a failed task left: " + err.Error(), Session: req.Session, Contained: true}
	}
	return t.inner.Attempt(ctx, req)
}

// Integrate brings the work of a wave's tasks together and verifies the whole.
func (t *Site) Integrate(ctx context.Context, wave int, tasks []string) (scheduler.Integrated, error) {
	t.mu.Lock()
	now := t.now
	t.mu.Unlock()
	var done []workspace.Done
	for _, id := range tasks {
		if i, ok := now.Lookup(id); ok {
			p := &now.Tasks[i]
			done = append(done, workspace.Done{Task: p.ID, Subject: p.Subject, Dir: p.WorkDir(t.config.Dir), Checks: p.Verify, Files: p.Files})
		}
	}
	t.space.Expect(expected(now, t.space.Integrated(), tasks))
	got, err := t.space.Integrate(ctx, wave, done)
	if err != nil {
		return scheduler.Integrated{}, err
	}
	out := scheduler.Integrated{Commit: got.Commit, Completed: got.Integrated, Commits: got.Commits, Note: got.Note}
	for _, c := range append(got.Culprits, got.Held...) {
		if err := t.space.Reopen(ctx, c.Task); err != nil {
			return scheduler.Integrated{}, err
		}
		out.Culprits = append(out.Culprits, scheduler.Culprit{Task: c.Task, Kind: c.Kind, Reason: c.Reason, Detail: c.Detail})
	}
	return out, nil
}

// expected is what must hold of a combined tree beyond its tasks' checks: the plan's criteria
// where no task is left that could make them true, and mustNot always.
func expected(p *plan.Plan, before map[string]bool, now []string) (criteria, mustNot []plan.Check) {
	last := true
	for i := range p.Tasks {
		id := p.Tasks[i].ID
		last = last && (before[id] || slices.Contains(now, id))
	}
	for _, c := range p.Criteria {
		if last && c.Check != nil {
			criteria = append(criteria, *c.Check)
		}
	}
	for _, c := range p.MustNot {
		if c.Check != nil {
			mustNot = append(mustNot, *c.Check)
		}
	}
	return criteria, mustNot
}

// Deliver hands the integrated tree over.
func (t *Site) Deliver(ctx context.Context, complete bool) (scheduler.DeliveryEnded, error) {
	how := t.config.Deliver
	if how == "" {
		how = workspace.Auto
	}
	if how == "pr" {
		events, err := record.Read(t.config.Loop)
		if err == nil {
			err = writeBody(t.plan, t.config, events, complete)
		}
		if err != nil {
			return scheduler.DeliveryEnded{}, err
		}
	}
	d, err := t.space.Deliver(ctx, how, complete)
	var obstacle *workspace.Error
	if errors.As(err, &obstacle) {
		// It was asked for by name, and cannot be. The work has a name all the same.
		return scheduler.DeliveryEnded{How: "none", Ref: d.Ref, Commit: d.Commit, Command: d.Command, Why: obstacle.Error(), Failed: true}, nil
	}
	if err != nil {
		return scheduler.DeliveryEnded{}, err
	}
	return scheduler.DeliveryEnded{How: d.How, Ref: d.Ref, Commit: d.Commit, Command: d.Command, Why: d.Why}, nil
}

// writeBody writes the report of a run as the body of its pull request. It reads the
// journal, because the state belongs to the loop. complete says of a run that has not ended
// that it is: with all its tasks completed it may still have been refused.
func writeBody(p *plan.Plan, c scheduler.Config, events []scheduler.Event, complete bool) error {
	s := scheduler.NewState(p)
	if err := s.Replay(events); err != nil {
		return err
	}
	sum := report.Of(s, events)
	if sum.Status == "running" { // but for this delivery it has ended
		sum.Status = "incomplete"
		if complete {
			sum.Status = "complete"
		}
	}
	path := options(p, c).Body
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return maybe.WriteFile(path, []byte(clean(sum.Markdown())), 0o644)
}

// Reattach opens the workspace of a past run of p with the configuration c, for between
// sessions. The caller closes it.
func Reattach(ctx context.Context, p *plan.Plan, c scheduler.Config) (*workspace.Manager, error) {
	return workspace.Reattach(ctx, options(p, c))
}

// Deliver hands over what a past run has integrated; complete says that the run is. It is
// for between sessions.
func Deliver(ctx context.Context, p *plan.Plan, c scheduler.Config, events []scheduler.Event, how string, complete bool) (d workspace.Delivery, err error) {
	space, err := Reattach(ctx, p, c)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, space.Close(context.WithoutCancel(ctx))) }()
	if how == "pr" {
		if err := writeBody(p, c, events, complete); err != nil {
			return d, err
		}
	}
	return space.Deliver(ctx, how, complete)
}
