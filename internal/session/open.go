package session

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
	"wavex/internal/hearing"
	"wavex/internal/notify"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/record"
	"wavex/internal/refuse"
	"wavex/internal/secret"
	"wavex/internal/site"
	"wavex/internal/stage"
	"wavex/internal/telemetry"
	"wavex/internal/ui"
	"wavex/scheduler"
)

// Options are all that a session is made of. What can be wrong with them was looked at
// before: Open refuses only what the journal, the folder and the repository show.
type Options struct {
	Plan   *plan.Plan
	Config scheduler.Config // Dir and Loop absolute
	Resume bool             // the newest run of the journal goes on; else a new one begins
	Fresh  bool             // the .loop of before is moved aside first
	Seen   int              // records of the journal when that was decided
	Wavex  string           // the version
	Owner  string           // the session of Claude Code that wavex was started from; "" for none

	Agent   agent.Agent
	Prices  budget.Prices
	Secrets *secret.Redactor // cleans everything that is kept and shown
	Guard   []string         // how wavex calls itself as the guard of a run; none: there is no guard

	Grace     time.Duration // before and between the steps of stopping an agent; 0: the runner's own
	Chair     bool          // one more call weighs opinions that disagree
	OverAPI   bool          // experts are asked over the Messages API instead of the CLI
	AutoLearn bool          // keep what the run proposes to learn
	Hooks     []notify.Hook // told of a breaker and of the end

	HookSecret string // signs what they are told

	Err  io.Writer // warnings, a line each
	Text bool      // Err is for people: what is no warning is told as well
}

// Session is one run or resume, wired and ready. It is for one goroutine: Open, Run
// once, Close.
type Session struct {
	opts   Options
	plan   *plan.Plan
	config scheduler.Config
	state  *scheduler.State
	open   scheduler.Body
	log    *record.Journal
	view   ui.View
	traces *telemetry.Tracer // nil: nobody asked for traces
	site   *site.Site
	last   []func(left bool) // what Close waits for, in this order

	named   []naming // files that checks name; filled once watched
	watched bool

	// responses takes the tasks whose agent's response has begun; nil: nobody asks.
	responses chan string
	// asking takes the tasks whose agent has begun to ask the API; nil: no spare is wanted.
	asking chan string

	folder bool // the folder of the attempts was made
	ran    bool // to an end of its own
	kept   bool // .loop has the outline of the plan as it is
}

// Open takes the lock, opens journal and workspace, and brings the state up to the
// journal. Who gets no error closes the session. The error is a *refuse.BlockedError, a
// *journal.LockedError or another of the journal's, or one of the file system.
func Open(ctx context.Context, o Options) (*Session, error) {
	r := &Session{opts: o, plan: o.Plan, config: o.Config}
	if err := r.openLoop(ctx); err != nil {
		r.Close(ctx)
		return nil, err
	}
	return r, nil
}

// Config is the run's configuration, with what Open has settled.
func (r *Session) Config() scheduler.Config { return r.config }

// openLoop takes the lock, opens the journal and brings the state up to it.
func (r *Session) openLoop(ctx context.Context) error {
	log, events, err := record.Open(r.config.Loop, r.config.Run, r.opts.Fresh, r.opts.Seen)
	if err != nil {
		return err
	}
	r.log = log
	if r.site, err = site.Open(ctx, r.plan, r.config, r.say); err != nil {
		return err
	}
	r.config.Isolation = r.site.Mode()
	if !r.opts.Agent.StartsAhead() {
		r.config.Spares = 0
	}
	r.state = scheduler.NewState(r.plan)
	if !r.opts.Resume {
		var known bool
		if r.config.Base, known = r.site.Head(); !known {
			r.config.Base = hearing.Base(ctx, r.config.Dir)
		}
		if err := hearing.Remember(ctx, r.plan, r.config); err != nil {
			r.warn(fmt.Errorf("reviewers will see your uncommitted changes as work of the tasks: %w", err))
		}
		r.state.Seq = int64(len(events)) // a further run in the same journal
		r.state.Learn(events)
		r.open = scheduler.RunStarted{Config: r.config, Plan: planfile.Path(r.plan), Digest: r.plan.Digest, Name: r.plan.Name,
			Tasks: len(r.plan.Tasks), Waves: r.state.Waves, Wavex: r.opts.Wavex, Owner: r.opts.Owner}
		if r.open, err = withOrigin(r.open.(scheduler.RunStarted), events); err != nil {
			return err
		}
		return nil
	}
	if err := r.state.Replay(events); err != nil {
		return err
	}
	r.open = scheduler.Resumed{Config: r.config, Plan: planfile.Path(r.plan), Digest: r.plan.Digest,
		Tasks: len(r.plan.Tasks), Waves: r.state.Waves, Owner: r.opts.Owner, Nonce: uuid.NewString(), Edit: r.edited(events)}
	return nil
}

// edited tells what became of the plan since the run's last session. nil also where that
// cannot be known, as when the run is an older wavex's.
func (r *Session) edited(events []scheduler.Event) *scheduler.Edit {
	old := record.KeptPlan(r.config.Loop, r.config.Run)
	if old == nil || planfile.IsList(r.plan.Path) {
		return nil
	}
	if old.Digest == r.plan.Digest && slices.Equal(old.Keys(), r.plan.Keys()) {
		r.kept = true
		return nil
	}
	before := scheduler.NewState(old)
	if err := before.Replay(events); err != nil {
		return nil // it is not the plan of this journal
	}
	return scheduler.Edited(before, r.state)
}

// keepPlan keeps the outline of the plan, beside the run's beginning, until it is waited for.
func (r *Session) keepPlan() (kept func()) {
	if r.kept {
		return func() {}
	}
	done := make(chan error, 1)
	go func() { done <- record.KeepPlan(r.config.Loop, r.config.Run, r.plan, r.opts.Secrets) }()
	return func() {
		if err := <-done; err != nil && !errors.Is(err, fs.ErrNotExist) { // then somebody removes .loop just now
			r.warn(fmt.Errorf("without the plan's file nobody can be shown this run: %w", err))
		}
	}
}

// withOrigin adds to the beginning of a run the request that its plan comes from: the
// last one of the journal, when it led to this plan and no run was made of it yet.
func withOrigin(b scheduler.RunStarted, events []scheduler.Event) (scheduler.RunStarted, error) {
	s, err := stage.Stand(events)
	if err != nil {
		return b, refuse.Blocked(err)
	}
	if s != nil && !s.Ran && s.Planned && !s.Split && planfile.Same(s.Opened.Config.Plan, b.Plan) {
		b.From = s.Origin
	}
	return b, nil
}

// Close proposes what the run could teach, waits for those who still tell of it, and
// gives everything back. After a run that was left at once it waits for next to nothing.
// What goes wrong is a warning. It may be called again. Worktrees are given back also where
// ctx has ended, as that of a run that was stopped has.
func (r *Session) Close(ctx context.Context) {
	for _, end := range r.last {
		end(!r.ran)
	}
	r.last = nil
	if r.site != nil {
		if err := r.site.Close(context.WithoutCancel(ctx)); err != nil {
			fmt.Fprintln(r.opts.Err, "wavex: leaving the worktrees:", err)
		}
		r.site = nil
	}
	if r.log != nil {
		r.log.Close()
	}
}

// warn tells what a person should know, however the output is.
func (r *Session) warn(err error) { fmt.Fprintln(r.opts.Err, "wavex: warning:", err) }

// say tells what is good to know, where the output is for people.
func (r *Session) say(text string) {
	if r.opts.Text {
		fmt.Fprintln(r.opts.Err, "wavex: "+text)
	}
}
