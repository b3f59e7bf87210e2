package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/term"

	"wavex/budget"
	"wavex/internal/journal"
	"wavex/internal/loopdir"
	"wavex/internal/notify"
	"wavex/internal/plan"
	"wavex/internal/secret"
	"wavex/internal/telemetry"
	"wavex/internal/ui"
	"wavex/scheduler"
)

// session is one run or resume, wired and ready.
type session struct {
	opts   runOptions
	std    Stdio
	plan   *plan.Plan
	config scheduler.Config
	state  *scheduler.State
	open   scheduler.Body
	kept
	view   ui.View
	agent  agent
	traces *telemetry.Tracer // nil: nobody asked for traces
	trees  *trees
	prices budget.Prices
	// secrets cleans everything that is kept and shown.
	secrets *secret.Redactor

	named   []naming // files that checks name; filled once watched
	watched bool

	reports []reportFile
	hooks   []notify.Hook
	// responses takes the tasks whose agent's response has begun; nil: nobody asks.
	responses chan string

	folder bool // the folder of the attempts was made
	mute   bool // the last block is somebody else's to print
	seen   int  // records of the journal when it was decided what to do
}

// prepare reads everything, refuses what cannot run, and only then writes: a wrong
// plan or a missing CLI leaves nothing behind.
func prepare(ctx context.Context, o runOptions, std Stdio) (*session, error) {
	r := &session{opts: o, std: std, secrets: secret.New(os.Environ())}
	var err error
	if r.reports, err = parseReports(o.reports); err != nil {
		return nil, err
	}
	if r.hooks, err = parseHooks(o.webhooks); err != nil {
		return nil, err
	}
	past, err := r.load()
	if err != nil {
		return nil, err
	}
	if past == nil {
		r.config.Base = baseCommit(ctx, r.config.Dir)
	}
	if r.agent, err = findAgent(ctx, o, r.config.Agent, r.plan); err != nil {
		return nil, err
	}
	if r.prices, err = loadPrices(r.config.Prices); err != nil {
		return nil, err
	}
	if err := errors.Join(r.refuseShort(), r.refuseKeyless(), r.refuseLonely()); err != nil {
		return nil, err
	}
	if err := r.fit(ctx); err != nil {
		return nil, err
	}
	if err := r.openLoop(ctx, past); err != nil {
		r.close()
		return nil, err
	}
	r.view = r.newView()
	return r, nil
}

// load reads the plan and the journal, and decides between a new run and a resume.
func (r *session) load() (past []scheduler.Event, err error) {
	o := r.opts
	var dir string
	if o.planPath == "" {
		// resume without a plan: the journal of the current directory knows it.
		if dir, err = os.Getwd(); err != nil {
			return nil, err
		}
		if past, err = readEvents(filepath.Join(dir, ".loop")); err != nil {
			return nil, err
		}
		last := lastRun(past)
		if last == nil {
			return nil, usage("there is no run in %s to resume; start one with: wavex run PLAN", filepath.Join(dir, ".loop"))
		}
		o.planPath = last.plan
	}
	ours := ""
	if !o.fresh {
		ours = runOf(o.planPath, true)
	}
	p, diags, err := loadPlanOf(o.planPath, ours)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, &planError{diags}
	}
	for _, d := range diags {
		if o.output == "text" {
			fmt.Fprintln(r.std.Err, d.String())
		}
	}
	r.plan = p
	if dir == "" {
		if dir, err = projectDir(p); err != nil {
			return nil, err
		}
		// --fresh is the way out of a journal that cannot be read, so it must not be read.
		if !o.fresh {
			if past, err = readEvents(filepath.Join(dir, ".loop")); err != nil {
				return nil, err
			}
		}
	}
	r.seen = len(past)
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, usage("the project directory %s is not there; it is the plan's defaults.dir, relative to the plan", dir)
	}
	old, err := r.choose(past, dir)
	if err != nil {
		return nil, err
	}
	if old == nil {
		past = nil
	}
	r.config, err = resolve(o, p, dir, old)
	r.config.Attended = (r.config.Gates != "" || r.config.Mode == scheduler.Interactive) && !o.yes && o.output == "text" && mayAskAnybody(r.std)
	if err == nil && o.shareList {
		err = r.sharedList()
	}
	return past, err
}

// past run, as far as choosing needs it.
type lastSession struct {
	config scheduler.Config
	plan   string
	digest string
	ended  *scheduler.RunEnded
}

// over tells whether a run cannot be resumed: it is complete, or was cancelled.
func (l *lastSession) over() bool {
	return l.ended != nil && (l.ended.Status == "complete" || l.ended.Status == scheduler.Cancelled)
}

// lastRun finds the newest run in a journal; nil when there is none.
func lastRun(events []scheduler.Event) *lastSession {
	var last *lastSession
	for _, e := range events {
		switch b := e.Body.(type) {
		case scheduler.RunStarted:
			last = &lastSession{config: b.Config, plan: b.Plan, digest: b.Digest}
		case scheduler.Resumed:
			last.config, last.plan, last.digest, last.ended = b.Config, b.Plan, b.Digest, nil
		case scheduler.TasksAdded: // by `wavex verify`, it may be after the end
			last.ended = nil
		case scheduler.RunEnded:
			last.ended = &b
		}
	}
	return last
}

// choose gives the configuration of the run to resume, or nil for a new run.
func (r *session) choose(past []scheduler.Event, dir string) (*scheduler.Config, error) {
	o, last := r.opts, lastRun(past)
	if last == nil || last.over() {
		if o.resuming || o.resume {
			return nil, usage("there is no unfinished run; start one with: wavex run %s", r.plan.Path)
		}
		return nil, nil
	}
	same := last.digest == r.plan.Digest || samePath(last.plan, r.plan.Path)
	switch {
	case o.fresh:
		return nil, nil
	case o.ifUnfinished == "fail" && !o.resume:
		return nil, usage("run %s of %s is unfinished; continue it with: wavex resume, or start over with --fresh", last.config.Run, last.plan)
	case !same && !o.resuming && !o.resume:
		return nil, usage("an unfinished run of another plan (%s) is here; --resume continues it with this plan, --fresh moves it aside", last.plan)
	}
	return r.unfinished(past, last, dir)
}

func samePath(a, b string) bool {
	x, err1 := filepath.Abs(a)
	y, err2 := filepath.Abs(b)
	return err1 == nil && err2 == nil && x == y
}

// refuseShort refuses limits that cannot suffice, before anything is spent.
func (r *session) refuseShort() error {
	if r.opts.allowShort || r.opts.resuming {
		return nil
	}
	if w := limitWarnings(r.plan, r.config.Limits); len(w) > 0 {
		return usage("%s; raise the limit, or go on with --allow-short", w[0].Message)
	}
	return nil
}

// openLoop takes the lock, opens the journal and brings the state up to it.
func (r *session) openLoop(ctx context.Context, past []scheduler.Event) error {
	events, err := r.openJournal(r.config.Loop, r.config.Run, r.opts.fresh, r.seen)
	if err != nil {
		return err
	}
	if r.trees, err = r.openTrees(ctx); err != nil {
		return err
	}
	r.state = scheduler.NewState(r.plan)
	if past == nil {
		r.remember(ctx)
		r.state.Seq = int64(len(events)) // a further run in the same journal
		r.state.Learn(events)
		r.open = scheduler.RunStarted{Config: r.config, Plan: planPath(r.plan), Digest: r.plan.Digest, Name: r.plan.Name,
			Tasks: len(r.plan.Tasks), Waves: r.state.Waves, Wavex: versionText(), Owner: owner()}
		if r.open, err = withOrigin(r.open.(scheduler.RunStarted), events); err != nil {
			return err
		}
		return nil
	}
	if err := r.state.Replay(events); err != nil {
		return err
	}
	r.open = scheduler.Resumed{Config: r.config, Plan: planPath(r.plan), Digest: r.plan.Digest,
		Tasks: len(r.plan.Tasks), Waves: r.state.Waves, Owner: owner()}
	return nil
}

// kept is an open journal and the lock on its folder.
type kept struct {
	log  *journal.Log
	lock *journal.Lock
}

// openJournal takes the lock of a .loop folder, made or moved aside before where that is
// due, and opens its journal. seen is how many records it had when it was decided what to do.
func (k *kept) openJournal(loop, run string, fresh bool, seen int) ([]scheduler.Event, error) {
	if fresh {
		if err := moveAside(loop); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(loop, 0o755); err != nil {
		return nil, err
	}
	if err := loopdir.Ignore(loop); err != nil {
		return nil, err
	}
	host, _ := os.Hostname()
	var err error
	k.lock, err = journal.TryLock(loop, journal.Holder{PID: os.Getpid(), Host: host, Run: run, Since: time.Now().UTC()})
	if err != nil {
		return nil, err
	}
	log, records, err := journal.Open(filepath.Join(loop, "journal.jsonl"))
	if err != nil {
		return nil, err
	}
	k.log = log
	events, err := decodeEvents(records)
	if err != nil {
		return nil, err
	}
	if len(events) != seen {
		return nil, &blockedError{fmt.Errorf("another wavex has worked in %s just now; give the command again", loop)}
	}
	return events, nil
}

// release gives the journal and the lock back.
func (k *kept) release() {
	if k.log != nil {
		_ = k.log.Close()
	}
	if k.lock != nil {
		_ = k.lock.Unlock()
	}
	k.log, k.lock = nil, nil
}

// moveAside keeps an old .loop under another name. A live run in it is refused.
func moveAside(loop string) error {
	if _, err := os.Stat(loop); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	lock, err := journal.TryLock(loop, journal.Holder{PID: os.Getpid(), Since: time.Now().UTC()})
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	to := fmt.Sprintf("%s.bak-%s", loop, runID(time.Now()))
	if err := os.Rename(loop, to); err != nil {
		return fmt.Errorf("moving %s aside: %w", loop, err)
	}
	return nil
}

func readEvents(loop string) ([]scheduler.Event, error) {
	records, err := journal.Read(filepath.Join(loop, "journal.jsonl"))
	if err != nil {
		return nil, err
	}
	return decodeEvents(records)
}

func decodeEvents(records [][]byte) ([]scheduler.Event, error) {
	events := make([]scheduler.Event, len(records))
	for i, rec := range records {
		if err := json.Unmarshal(rec, &events[i]); err != nil {
			return nil, &blockedError{fmt.Errorf("journal record %d: %w; start over with --fresh, which moves .loop aside", i+1, err)}
		}
	}
	return events, nil
}

func (r *session) newView() ui.View {
	o := ui.Options{ASCII: r.opts.ascii, Status: r.opts.status}
	if r.opts.output == "json" {
		return ui.NDJSON(r.std.Out)
	}
	if f, ok := r.std.Err.(*os.File); ok && !r.opts.plain && !r.opts.interactive && !r.config.Attended && ui.Live(term.IsTerminal(int(f.Fd())), os.Getenv) {
		o.Width = func() int { w, _, _ := term.GetSize(int(f.Fd())); return w }
		o.Height = func() int { _, h, _ := term.GetSize(int(f.Fd())); return h }
		o.Color = ui.Color(true, os.Getenv)
		return ui.Terminal(r.std.Err, o)
	}
	return ui.Plain(r.std.Err, o)
}

// close gives back what prepare took.
func (r *session) close() {
	if r.trees != nil {
		// Nothing of a task is lost by a failure here: its work is on its branch.
		if err := errors.Join(r.trees.release(context.Background()), r.trees.space.Close(context.Background())); err != nil {
			fmt.Fprintln(r.std.Err, "wavex: leaving the worktrees:", err)
		}
	}
	r.release()
}

// planPath is where the plan is, whatever directory a resume is called from.
func planPath(p *plan.Plan) string {
	if abs, err := filepath.Abs(p.Path); err == nil {
		return abs
	}
	return p.Path
}

func luck() float64 { return rand.Float64() }
