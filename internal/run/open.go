package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/google/uuid"

	"wavex/budget"
	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/proc"
	"wavex/internal/request"
	"wavex/internal/review"
	"wavex/internal/runlog"
	"wavex/internal/ui"
	"wavex/internal/usererr"
	"wavex/internal/workspace"
	"wavex/runner"
	"wavex/scheduler"
)

// Options configures a session. The caller has validated it: Open only reports problems of the
// journal, the folder and the repository.
type Options struct {
	Plan         *plan.Plan
	Config       event.Config // Dir and Loop absolute
	Resume       bool         // continue the newest run of the journal; else begin a new one
	Fresh        bool         // first move the old .loop aside
	JournalLen   int          // number of records of the journal at that decision
	Version      string       // the version of wavex
	OwnerSession string       // the session of Claude Code that wavex was started from; "" for none

	Agent    agent.Agent
	Prices   budget.Prices
	Redactor runner.Redactor // redacts everything that is stored and shown
	Watchdog []string        // the command line of the run's guard process; empty: no guard
	Wall     *proc.Wall      // around the agents' turns; nil: none
	Fleet    Fleet           // closed with the session; nil: the core of wavex, which has none

	Grace    time.Duration // time before and between the steps of stopping an agent; 0: the runner's default
	Webhooks []ui.Webhook  // informed of an open breaker and of the end

	WebhookSecret string // signs the messages to Hooks

	// AgreeToPlan asks a person about a plan that an attempt has changed; nil: there is none to ask.
	AgreeToPlan func(change string) bool

	Err     io.Writer // warnings, one per line
	Notices bool      // Err is for people: also print notices
}

// Session is one run or resume, ready to run. It must be used from one goroutine: Open, Run once,
// Close.
type Session struct {
	opts       Options
	plan       *plan.Plan
	config     event.Config
	state      *scheduler.State
	startEvent event.Body
	journal    *runlog.Journal
	view       ui.View
	workspace  *workspace.Workspace
	adopted    map[string]int    // attempts by task that an earlier session has started on other machines
	closers    []func()          // functions that Close calls, in this order
	user       *runner.UserFiles // nil: the attempts are made elsewhere, or in a project that has the home

	tasksDirMade bool   // the folder of the attempts exists
	finished     bool   // to its own end
	interrupted  bool   // a signal interrupted running work
	listOf       string // the request whose plan was put into a task list; "": none
	planSaved    bool   // .loop has the current outline of the plan
	fleetClosed  bool
}

// Open takes the lock, opens journal and workspace, and replays the journal. The caller must Close
// the Session if err is nil. The error is a *usererr.BlockedError, a *journal.LockedError or another
// error of the journal, or an error of the file system.
func Open(ctx context.Context, o Options) (*Session, error) {
	if o.Config.Workers.Engine != "" && o.Fleet == nil {
		return nil, ErrNoFleet
	}
	r := &Session{opts: o, plan: o.Plan, config: o.Config}
	if err := r.openLoop(ctx); err != nil {
		r.Close(ctx)
		return nil, err
	}
	return r, nil
}

// Config returns the run's configuration, with the values that Open has chosen.
func (r *Session) Config() event.Config { return r.config }

// openLoop takes the lock, opens the journal and replays it.
func (r *Session) openLoop(ctx context.Context) error {
	log, events, err := runlog.Open(r.config.Loop, r.config.Run, r.opts.Fresh, r.opts.JournalLen)
	if err != nil {
		return err
	}
	r.journal, r.listOf = log, requestWithList(r.plan.Path, events)
	if err := runner.RemoveUnfinished(r.config.Loop.Path(loop.Outputs)); err != nil {
		r.warn(err)
	}
	var earlier *event.EarlierWork
	base := ""
	if !r.opts.Resume {
		if earlier, base, err = r.earlierWork(ctx, events); err != nil {
			return err
		}
	}
	for copied := false; ; copied = true {
		if r.workspace, err = workspace.Open(ctx, r.plan, r.config, base, events, r.checkWrapper, r.notice,
			r.warn); err != nil {
			return err
		}
		r.config.Isolation = r.workspace.Mode()
		if copied || !r.config.MadeUp || r.config.Isolation == event.Isolated {
			break
		}
		if err := r.leaveProject(ctx); err != nil {
			return err
		}
	}
	r.state = scheduler.NewState(r.plan)
	if !r.opts.Resume {
		r.config.Base = base
		return r.openNewRun(ctx, events, earlier)
	}
	if err := r.state.Replay(events); err != nil {
		return err
	}
	if err := CheckAgreement(events, r.config, r.plan, r.opts.AgreeToPlan); err != nil {
		return err
	}
	edit := r.planEdit(events)
	moved := r.moved(ctx)
	r.startEvent = event.RunResumed{Config: r.config, Plan: r.plan.AbsPath(), Digest: r.plan.Digest,
		Tasks: len(r.plan.Tasks), Waves: r.state.Waves, Owner: r.opts.OwnerSession, Nonce: uuid.NewString(),
		Edit: edit, Earlier: r.doubtfulWork(edit, moved)}
	return nil
}

// leaveProject closes the workspace, and copies the project to the directory in which the next one opens. A resumed
// run finds its copy.
func (r *Session) leaveProject(ctx context.Context) error {
	closed := r.workspace.Close(ctx)
	r.workspace = nil
	if closed != nil {
		return closed
	}
	project := r.config.Dir
	r.config.Dir = r.config.Loop.Run(r.config.Run, loop.MadeUp)
	if err := workspace.CopyProject(ctx, r.config.Dir, project); err != nil {
		return fmt.Errorf("copying the project for the rehearsal: %w", err)
	}
	r.notice("rehearsal: files are made up in a copy of the project, " + r.config.Dir)
	return nil
}

// openNewRun makes the first event of a new run. events are those of earlier runs in the journal, and earlier is
// work of one of them.
func (r *Session) openNewRun(ctx context.Context, events []event.Event, earlier *event.EarlierWork) error {
	if r.config.Base == "" {
		var known bool
		if r.config.Base, known = r.workspace.Head(); !known {
			r.config.Base = review.HeadCommit(ctx, r.config.Dir)
		}
	}
	r.state.Seq = int64(len(events)) // another run may follow in the same journal
	r.state.Learn(events)
	var err error
	r.startEvent, err = withOrigin(event.RunStarted{Config: r.config, Plan: r.plan.AbsPath(),
		Digest: r.plan.Digest, Name: r.plan.Name,
		Tasks: len(r.plan.Tasks), Waves: r.state.Waves, Wavex: r.opts.Version, Owner: r.opts.OwnerSession,
		Earlier: earlier}, events)
	return err
}

// planEdit returns the changes of the plan since the run's last session. It returns nil if there are
// none or they are unknown, as for a run of an older wavex.
func (r *Session) planEdit(events []event.Event) *event.Edit {
	old := runlog.SavedPlan(r.config.Loop, r.config.Run)
	if old == nil || planfile.IsList(r.plan.Path) {
		return nil
	}
	if old.Digest == r.plan.Digest && slices.Equal(old.Keys(), r.plan.Keys()) {
		r.planSaved = true
		return nil
	}
	before := scheduler.NewState(old)
	if err := before.Replay(events); err != nil {
		return nil // it belongs to another plan than this journal
	}
	return scheduler.ComparePlans(before, r.state)
}

// savePlan starts to store the outline of the plan, in parallel with the start of the run. kept
// waits for it.
func (r *Session) savePlan() (kept func()) {
	if r.planSaved {
		return func() {}
	}
	done := make(chan error, 1)
	go func() { done <- runlog.SavePlan(r.config.Loop, r.config.Run, r.plan) }()
	return func() {
		if err := <-done; err != nil && !errors.Is(err, fs.ErrNotExist) { // ErrNotExist: .loop is being removed
			r.warn(fmt.Errorf("without the plan's file nobody can be shown this run: %w", err))
		}
	}
}

// withOrigin adds the request that led to the plan to the beginning of a run. That is the last
// request of the journal, if it led to this plan and no run was made of it yet.
func withOrigin(b event.RunStarted, events []event.Event) (event.RunStarted, error) {
	s, err := request.ReadProgress(events)
	if err != nil {
		return b, usererr.Blocked(err)
	}
	if s != nil && !s.RunStarted && s.Planned && !s.Split && planfile.SamePath(s.Opened.Config.Plan, b.Plan) {
		b.Origin = s.Origin
	}
	return b, nil
}

// Close proposes lessons of the run, waits for those who still report about it, and releases
// everything. If the user left at once, it waits only briefly. Errors are printed as warnings.
// Close may be called again. It releases worktrees even if ctx has ended, as after a stopped run.
func (r *Session) Close(ctx context.Context) {
	for _, end := range r.closers {
		end()
	}
	r.closers = nil
	r.closeFleet(ctx)
	if r.workspace != nil {
		if err := r.closeWorkspace(context.WithoutCancel(ctx)); err != nil {
			r.complain("leaving the worktrees:", err)
		}
		r.workspace = nil
	}
	if r.journal != nil {
		r.journal.Close()
	}
}

// workspaceCloseTimeout bounds the release of the worktrees if the run was interrupted. No work is lost: that of each
// task is on its branch, and the next session continues the release.
const workspaceCloseTimeout = 1500 * time.Millisecond

var errCloseTimeout = errors.New("the run was interrupted; the next session or `wavex clean` removes them")

func (r *Session) closeWorkspace(ctx context.Context) error {
	if r.interrupted || !r.finished {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, workspaceCloseTimeout, errCloseTimeout)
		defer cancel()
	}
	return r.workspace.Close(ctx)
}

// closeLimit returns the time for an outside party at the end: the usual one, or a moment if the run was
// interrupted, because wavex may soon be killed.
func (r *Session) closeLimit(usual time.Duration) time.Duration {
	if r.interrupted || !r.finished {
		return 500 * time.Millisecond
	}
	return usual
}

// movedError returns the error of work in a project that was moved, or nil.
func (r *Session) movedError() error {
	if r.journal == nil { // not open yet
		return nil
	}
	if e := r.journal.Moved(); e != nil {
		return e
	}
	return nil
}

// warn prints a warning in every output format.
func (r *Session) warn(err error) { r.complain("warning:", err) }

// complain prints an error of a part that the run does not depend on. In a project that was moved such parts fail for
// that reason alone.
func (r *Session) complain(what string, err error) {
	if r.movedError() == nil {
		fmt.Fprintln(r.opts.Err, "wavex:", what, err)
	}
}

// notice prints a notice if the output is for people.
func (r *Session) notice(text string) {
	if r.opts.Notices {
		fmt.Fprintln(r.opts.Err, "wavex: "+text)
	}
}
