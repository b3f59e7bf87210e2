package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/secret"
	"wavex/internal/usererr"
	"wavex/scheduler"
)

// Workspace is the workspace of a run as the scheduler sees it: its Integrator, and a View that learns which tasks have
// failed.
type Workspace struct {
	*gitwork.Manager

	plan   *plan.Plan
	config event.Config
	say    func(string)
	warn   func(error) // for any goroutine

	mu         sync.Mutex
	grownPlan  *plan.Plan // with the tasks that joined it
	unreleased []string   // failed tasks that are not released yet
	unfinished int        // tasks that are not finished
}

// Open opens the workspace of a run of p. It chooses where attempts work, see Mode, and calls say
// if that differs from the default. A new run in worktrees begins on the commit base, or for "" on HEAD. events are
// those of the journal. It calls warn, from any goroutine, for problems that do not stop the run. checkWrapper is
// gitwork's; nil: none. The error is a *usererr.BlockedError.
func Open(ctx context.Context, p *plan.Plan, c event.Config, base string, events []event.Event,
	checkWrapper func(tree string) []string, say func(string), warn func(error)) (*Workspace, error) {
	t := &Workspace{plan: p, config: c, say: say, grownPlan: p, unfinished: len(p.Tasks)}
	t.warn = func(err error) { warn(errors.New(redactSecrets(err.Error()))) }
	o := gitworkOptions(p, c)
	o.Subject = t.Subject
	o.Base, o.CutOff, o.CheckWrapper = base, CutOff(events), checkWrapper
	o.Record = record(events, c.Run)
	o.Warn = t.warn
	space, err := gitwork.Open(ctx, o)
	if err != nil {
		return nil, usererr.Blocked(err)
	}
	t.Manager = space
	t.config.Isolation = t.Mode()
	// One task at a time in the project directory is the default: print nothing.
	if o.Mode != gitwork.Shared && (space.Mode() != gitwork.Shared || o.Width > 1) {
		say(fmt.Sprintf("isolation %s: %s", space.Mode(), redactSecrets(space.ModeReason())))
	}
	for _, notice := range space.Notices() {
		say(redactSecrets(notice))
	}
	if space.Restored() {
		say("the commits of the run were not in this repository: restored from " + loop.Name)
	}
	if space.Mode() != gitwork.Shared {
		return t, nil
	}
	if err := gitwork.CheckShared(c.Deliver); err != nil && !c.MadeUp {
		return nil, errors.Join(usererr.Blocked(err), space.Close(context.WithoutCancel(ctx)))
	}
	if c.Deliver == "push" {
		warn(errors.New("nothing is pushed: tasks work in the project's directory; --isolation worktree makes commits"))
	}
	return t, nil
}

// CutOff returns the time when the last session began, if it has no end on record; else zero.
func CutOff(events []event.Event) (start time.Time) {
	for _, e := range events {
		if e.Beginning() != nil {
			start = e.Time
		} else if e.End() != nil {
			start = time.Time{}
		}
	}
	return start
}

// record returns the facts of the journal about a run, or nil if the run is new.
func record(events []event.Event, run string) (r *gitwork.Record) {
	for _, e := range events {
		if e.Begins() && e.RunID() == run {
			r = &gitwork.Record{Began: e.Time, Base: e.Beginning().Config.Base}
		}
	}
	return r
}

// Mode returns where attempts work: gitwork.Shared or gitwork.Worktree.
func (t *Workspace) Mode() event.Isolation { return event.Isolation(t.Manager.Mode()) }

// Close releases the worktrees. An error loses no work, since each task's work is on its branch.
func (t *Workspace) Close(ctx context.Context) error {
	err := errors.Join(t.releaseFailed(ctx), t.Manager.Close(ctx))
	if n := t.Undeleted(); n > 0 {
		t.say(fmt.Sprintf("%s still to be deleted in %s: the next run does it, or wavex clean --yes",
			report.Plural(n, "worktree is", "worktrees are"), t.config.Loop.Path(loop.Worktrees)))
	}
	return err
}

// Dir returns the directory in which an attempt at a task worked in an earlier session: dir of the project, or that
// directory in the task's worktree; "" if it is unknown.
func (t *Workspace) Dir(task, dir string) string {
	if t.Mode() != event.Isolated {
		return dir
	}
	return t.TreeDir(task, dir)
}

// Subject returns the subject of a task's commit, also for a task that joined the plan.
func (t *Workspace) Subject(id string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return subject(t.grownPlan, id)
}

// subject returns the subject of the commit of a task of p. It is redacted, because others will read it.
func subject(p *plan.Plan, id string) string {
	if i, ok := p.Lookup(id); ok && p.Tasks[i].Subject != "" {
		return redactSecrets(p.Tasks[i].Subject)
	}
	return "Task " + id
}

// redactSecrets removes the secrets of wavex's environment from a text that leaves the machine.
func redactSecrets(text string) string { return secret.New(os.Environ()).String(text) }

// gitworkOptions returns the options of a run's workspace.
func gitworkOptions(p *plan.Plan, c event.Config) gitwork.Options {
	width := 0
	waves, of := p.Waves()
	sizes := make([]int, of+1)
	for _, w := range waves {
		sizes[w]++
		width = max(width, sizes[w])
	}
	if c.Isolation == "" {
		c.Isolation = gitwork.Shared // a run of a wavex without isolation
	}
	tasks := make([]string, len(p.Tasks))
	for i := range p.Tasks {
		tasks[i] = p.Tasks[i].ID
	}
	return gitwork.Options{
		Project: c.Dir, Loop: c.Loop, Run: c.Run, Mode: string(c.Isolation), Width: width,
		Share: p.Share, Writes: declaredWrites(p), Tasks: tasks, Setup: p.Setup,
		Protect: p.ProtectBranches, NoVerify: c.NoVerify, SpareDisk: spareDisk,
		Push: c.Deliver == "push", Elsewhere: c.Workers.Engine != "",
		Env: os.Environ(), Now: time.Now, Own: append([]string{p.AbsPath()}, c.Outputs...),
		Subject: func(id string) string { return subject(p, id) },
		Title:   redactSecrets(p.Name), BodyFile: c.Loop.Run(c.Run, loop.PullRequest),
	}
}

// spareDisk is gitwork.Options.SpareDisk.
const spareDisk = 2 << 30

// declaredWrites returns the files that tasks will write, relative to the project.
func declaredWrites(p *plan.Plan) []string {
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

// Integrator returns the Integrator of the worktrees, or nil if tasks share the directory.
func (t *Workspace) Integrator() scheduler.Integrator {
	if t.Manager.Mode() == gitwork.Worktree {
		return t
	}
	return nil
}

// Event records tasks that join the plan and tasks that fail, for worktrees. The loop's goroutine calls it.
func (t *Workspace) Event(e event.Event, s *scheduler.State) {
	if t.Manager.Mode() != gitwork.Worktree {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.grownPlan, t.unfinished = s.Plan, s.Tally(0).Unfinished()
	t.unreleased = append(t.unreleased, e.Failed()...)
}

// releaseFailed releases the worktrees of failed tasks for others; their contents are kept below refs/wavex.
func (t *Workspace) releaseFailed(ctx context.Context) error {
	t.mu.Lock()
	ids := t.unreleased
	t.unreleased = nil
	t.mu.Unlock()
	var errs []error
	var left []string // failed ones are tried again
	for _, id := range ids {
		if err := t.Manager.Release(ctx, id); err != nil {
			errs, left = append(errs, err), append(left, id)
		}
	}
	t.mu.Lock()
	t.unreleased = append(left, t.unreleased...)
	t.mu.Unlock()
	return errors.Join(errs...)
}

// Integrate integrates the work of a wave's tasks and checks the combined tree.
func (t *Workspace) Integrate(ctx context.Context, wave int, tasks []string) (scheduler.Integrated, error) {
	t.mu.Lock()
	now, unfinished := t.grownPlan, t.unfinished
	t.mu.Unlock()
	var done []gitwork.VerifiedTask
	for _, id := range tasks {
		if i, ok := now.Lookup(id); ok {
			done = append(done, verifiedTask(&now.Tasks[i], t.config.Dir))
		}
	}
	t.Manager.SetPlanChecks(conditionChecks(now, t.Manager.IntegratedTasks(), tasks))
	got, err := t.Manager.Integrate(ctx, wave, done)
	if err != nil {
		return scheduler.Integrated{}, err
	}
	if err := t.RemoveSurplus(ctx, unfinished-len(got.Integrated)); err != nil {
		t.warn(fmt.Errorf("removing worktrees: %w", err)) // the end removes them
	}
	out := scheduler.Integrated{Commit: got.Commit, Completed: got.Integrated, Commits: got.Commits, Note: got.Note}
	for _, c := range append(got.Culprits, got.Withheld...) {
		if err := t.Manager.Reopen(ctx, c.Task); err != nil {
			return scheduler.Integrated{}, err
		}
		out.Culprits = append(out.Culprits, scheduler.Culprit{Task: c.Task, Kind: c.Kind, Reason: c.Reason, Detail: c.Detail})
	}
	if t.config.Deliver == "push" {
		t.Manager.Push(ctx)
	}
	return out, nil
}

// verifiedTask returns a task of a project in dir for an integration.
func verifiedTask(p *plan.Task, dir string) gitwork.VerifiedTask {
	return gitwork.VerifiedTask{Task: p.ID, Subject: p.Subject, Dir: p.WorkDir(dir), Checks: p.Verify, Files: p.Files}
}

// conditionChecks returns the conditions of a combined tree beyond its tasks' checks: mustNot always, and
// the plan's criteria if no task remains that could make them true.
func conditionChecks(p *plan.Plan, before map[string]bool, now []string) (criteria, mustNot []plan.Check) {
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

// Deliver delivers the integrated tree.
func (t *Workspace) Deliver(ctx context.Context, complete bool) (event.DeliveryEnded, error) {
	how := t.config.Deliver
	if how == "" {
		how = gitwork.Auto
	}
	if how == "pr" {
		events, err := runlog.Read(t.config.Loop)
		if err == nil {
			err = writePullRequestBody(t.plan, t.config, events, complete)
		}
		if err != nil {
			return event.DeliveryEnded{}, err
		}
	}
	d, err := t.Manager.Deliver(ctx, how, complete)
	var obstacle *gitwork.Error
	if errors.As(err, &obstacle) {
		// The requested delivery is not possible. The work still has a ref.
		return event.DeliveryEnded{How: "none", Ref: d.Ref, Commit: d.Commit, Command: d.Command, Why: obstacle.Error(),
			Failed: true}, nil
	}
	if err != nil {
		return event.DeliveryEnded{}, err
	}
	return event.DeliveryEnded{How: d.How, Ref: d.Ref, Commit: d.Commit, Command: d.Command, Why: d.Why}, nil
}

// Contains reports whether HEAD of a project's checkout has the work of a commit, see gitwork.Contains.
func Contains(ctx context.Context, project, commit string) (bool, error) {
	return gitwork.Contains(ctx, project, commit, os.Environ())
}

// Follows reports whether a commit is in the repository of a project's checkout and follows its HEAD.
func Follows(ctx context.Context, project, commit string) (bool, error) {
	return gitwork.Follows(ctx, project, commit, os.Environ())
}

// Reattach opens the workspace of a past run of p with the configuration c, between sessions, or returns nil if the run
// has none. The caller must close it. It calls warn as Open does.
func Reattach(ctx context.Context, p *plan.Plan, c event.Config, warn func(error)) (*gitwork.Manager, error) {
	if c.Isolation != event.Isolated || !gitwork.Exists(c.Loop, c.Run) {
		return nil, nil
	}
	o := gitworkOptions(p, c)
	o.Warn = warn
	return gitwork.Reattach(ctx, o)
}

// Deliver delivers the integrated work of a past run, between sessions; complete says that the run
// is complete. It calls warn, from any goroutine, for problems that do not prevent the delivery.
func Deliver(ctx context.Context, p *plan.Plan, c event.Config, events []event.Event, how string,
	complete bool, warn func(error)) (d gitwork.Delivery, err error) {
	o := gitworkOptions(p, c)
	o.CutOff, o.Warn = CutOff(events), warn
	space, err := gitwork.Reattach(ctx, o)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, space.Close(context.WithoutCancel(ctx))) }()
	if how == "pr" {
		if err := writePullRequestBody(p, c, events, complete); err != nil {
			return d, err
		}
	}
	return space.Deliver(ctx, how, complete)
}
