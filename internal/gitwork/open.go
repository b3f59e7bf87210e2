package gitwork

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/gofrs/flock"

	"wavex/internal/check"
	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/safefile"
)

// Manager gives the attempts of a run their directories. Its methods are safe for concurrent use;
// Close must be the last call.
type Manager struct {
	opts      Options
	checkout  checkout // the checkout as Open found it; top, common, dir and prefix do not change
	headKnown bool     // c describes an actual checkout
	g         git      // in c.top

	repository string // of the project when the session began; "": unknown

	lock     *flock.Flock // held so that no other wavex works on this run
	shared   *sharedDir   // shared mode only
	slots    slots
	trash    trash
	bundles  *bundles
	repaired repaired
	settings settings // of git, as Open found them
	hooks    string   // the directory of the hooks, relative if each working tree has its own
	hooksDir string   // the directory of the hooks in the checkout
	signs    bool     // the user's commits are signed
	notices  []string // see Notices

	mu    sync.Mutex // guards s and everything that it points to
	state savedState
	usage

	planChecks []requiredCheck // conditions of every combined tree; guarded by mu

	pushed lastPush // for Push and Deliver, which never run at the same time

	taking      sync.Mutex // one worktree of an earlier run is taken at a time
	integrating sync.Mutex // one integration, delivery or reopening at a time
	knownCommits
	signing bool // picks are signed
}

// repaired tells how the run was repaired when it was opened.
type repaired struct {
	restored bool     // see Restored
	damaged  []string // objects whose files were damaged
	locks    bool     // removeSharedLocks was called
}

// usage tells which worktrees are in use, and where checks run. The mu of its Manager guards it.
type usage struct {
	session   bool         // it may run attempts
	toldHooks bool         // changed hooks were told
	stash     [][2]string  // the entries of the stash when the session began
	checks    check.Places // with the results that are known, see filesOf

	busy   map[string]bool // tasks with an attempt in their worktree
	left   map[int]bool    // numbers from whose paths worktrees are being moved away
	making *tree           // the worktree that is being made, if it is large; nil: none
	freed  sync.Cond       // a worktree that was in use is not any more, another task has it, it was moved or made
}

// lastPush is the result of the last push.
type lastPush struct {
	commit string // the last that was pushed
	failed bool   // the last Push failed, which was shown
}

func newManager(o Options) *Manager {
	m := &Manager{opts: o, trash: trashOf(o.Loop)}
	m.busy, m.left = map[string]bool{}, map[int]bool{}
	m.checks = check.Places{Run: m.mark(), Env: proc.Inherit(o.Env, o.Pass), Wall: o.CheckWrapper}
	m.freed.L = &m.mu
	return m
}

// Open chooses the mode of a new run and acquires its resources. For a run that exists it finds the
// worktrees again and keeps the mode: a run never changes its mode. An *Error is meant for a
// person.
func Open(ctx context.Context, o Options) (*Manager, error) { return open(ctx, o, true) }

func open(ctx context.Context, o Options, session bool) (*Manager, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxDeletes == 0 {
		o.MaxDeletes = 10
	}
	if !validRunID(o.Run) {
		return nil, &Error{Problem: BadRun, Text: fmt.Sprintf("%q cannot name a branch", o.Run)}
	}
	switch o.Mode {
	case "", Auto, Shared, Worktree:
	default:
		return nil, &Error{BadMode, fmt.Sprintf("there is no isolation %q", o.Mode), "it is auto, shared or worktree"}
	}
	m := newManager(o)
	if err := m.lockRun(); err != nil {
		return nil, err
	}
	m.trash.start(ctx)
	if err := m.open(ctx, session); err != nil {
		return nil, errors.Join(err, m.Close(context.WithoutCancel(ctx)))
	}
	return m, nil
}

// Exists reports whether a run has, or had, a workspace in dir.
func Exists(dir loop.Dir, run string) bool {
	_, err := os.Stat(dir.Worktree(run, "json"))
	return validRunID(run) && err == nil
}

// Reattach is like Open for a run that exists, between its sessions. If nothing of the run is left, it
// returns an *Error with NoRun.
func Reattach(ctx context.Context, o Options) (*Manager, error) {
	if !Exists(o.Loop, o.Run) {
		return nil, &Error{Problem: NoRun, Text: fmt.Sprintf("run %s has no workspace in %s", o.Run, o.Loop)}
	}
	return open(ctx, o, false)
}

// lockRun makes the folder of the worktrees, hides it from git, and locks the run.
func (m *Manager) lockRun() error {
	dir := m.opts.Loop.Path(loop.Worktrees)
	if err := errors.Join(safefile.MkdirAll(string(m.opts.Loop), 0o700), safefile.MkdirAll(dir, 0o700)); err != nil {
		return err
	}
	ignore := filepath.Join(dir, loop.Gitignore)
	if _, err := os.Lstat(ignore); err != nil {
		if err := safefile.Write(ignore, []byte("*\n"), 0o600); err != nil {
			return err
		}
	}
	m.lock = flock.New(m.opts.Loop.Worktree(m.opts.Run, "lock"))
	if err := safefile.CheckPath(m.lock.Path()); err != nil {
		return err
	}
	got, err := m.lock.TryLock()
	if err != nil {
		return fmt.Errorf("locking run %s: %w", m.opts.Run, err)
	}
	if !got {
		return &Error{InUse, "another wavex works on run " + m.opts.Run, "wait for it, or stop it"}
	}
	return nil
}

func (m *Manager) open(ctx context.Context, session bool) error {
	old, err := m.readOwnState()
	if err != nil {
		return err
	}
	m.g, m.repository = newGit(m.opts.Project, m.opts.Env).inRepository(m.opts.Project)
	if m.bundles, err = openBundles(m.opts.Loop.Worktree(m.opts.Run, "bundles"), runPrefix(m.opts.Run),
		"refs/wavex/"+m.opts.Run+"/", "refs/wavex/"+m.opts.Run+".kept/"); err != nil {
		return err
	}
	m.g.changed, m.bundles.noted = m.bundles.note, true
	m.state = savedState{Version: 1, Run: m.opts.Run, Project: m.opts.Project}
	if old != nil {
		m.state = *old
		m.state.moveTo(m.opts.Project)
		m.opts.CutOff = cmp.Or(m.state.CutOff, m.opts.CutOff)
		if work := m.state.Forward; work != nil { // its wavex was killed, maybe between sessions
			m.opts.CutOff = cmp.Or(m.opts.CutOff, work.Began)
		}
	}
	if err = m.notePrograms(old, session); err != nil {
		return err
	}
	if m.state.Temp, err = m.slots.open(m.opts.Run, m.state.Temp); err != nil {
		return err
	}
	switch {
	case old == nil:
		if err = m.removeKilledProbes(ctx); err == nil {
			err = m.chooseMode(ctx)
			m.state.FilesKey = m.filesKey()
		}
	case m.state.Mode == Worktree:
		err = m.reopenTrees(ctx)
	default:
		err = m.reopenShared(ctx)
	}
	if err != nil {
		return err
	}
	if m.state.Mode == Shared {
		m.shared = newSharedDir(m.opts)
	} else if err = m.makeAgentHooks(); err != nil {
		return err
	}
	m.stash = m.stashEntries()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.save()
}

// chooseMode chooses the mode of a new run.
func (m *Manager) chooseMode(ctx context.Context) error {
	if m.opts.Mode == Shared {
		m.state.Mode, m.state.Why = Shared, "asked for"
		return nil
	}
	why, err := m.checkWorktreeMode(ctx)
	if err == nil && (why == "" || m.opts.Mode == Worktree) {
		err = m.probe(ctx)
	}
	var unfit *Error
	if errors.As(err, &unfit) && m.opts.Mode != Worktree {
		m.state.Mode, m.state.Why = Shared, unfit.Text
		return nil
	}
	if err != nil {
		return err
	}
	if why != "" && m.opts.Mode != Worktree {
		m.state.Mode, m.state.Why = Shared, why
		return nil
	}
	m.state.Mode, m.state.Why = Worktree, fmt.Sprintf("the checkout is clean, and a wave has %d tasks", m.opts.Width)
	if m.opts.Mode == Worktree {
		m.state.Why = "asked for"
		if why != "" {
			m.state.Why += "; " + why
		}
	} else if m.opts.Width < 2 {
		m.state.Why = "the checkout is clean, and its branch is protected"
	}
	m.state.Branch = m.checkout.branch
	return m.g.updateRefs(ctx, baseRef(m.opts.Run), m.state.Base, tipRef(m.opts.Run), m.state.Base)
}

// Head returns the commit that the project's checkout was at when Open read it, or "" if there is
// no commit or no checkout. known is false if Open did not read the checkout.
func (m *Manager) Head() (commit string, known bool) { return m.checkout.head, m.headKnown }

// checkWorktreeMode says why worktrees do not suit this run: an *Error if they are impossible, a reason if a
// person may still ask for them.
func (m *Manager) checkWorktreeMode(ctx context.Context) (why string, err error) {
	const narrow = "no wave has more than one task"
	if m.opts.Mode != Worktree && m.opts.Width < 2 && len(m.opts.Protect) == 0 {
		return narrow, nil
	}
	err = m.findCheckout(ctx)
	var unfit *Error
	if m.headKnown = err == nil || errors.As(err, &unfit) && unfit.Problem != TooOld; err != nil {
		return "", err
	}
	if err := m.checkout.readStatus(ctx, m.g, append([]string{string(m.opts.Loop)}, m.opts.Own...)); err != nil {
		return "", err
	}
	if m.checkout.head == "" {
		return "", &Error{NoCommit, "nothing is committed in " + m.checkout.top + " yet",
			"commit first, or run with --isolation shared"}
	}
	if err := m.prepareRepo(ctx); err != nil {
		return "", err
	}
	if modules, err := m.g.submodules(ctx); err != nil {
		return "", err
	} else if len(modules) > 0 {
		return "", &Error{Submodules, "submodules are checked out, which worktrees would not have: " + firstFew(modules),
			"run with --isolation shared"}
	}
	switch {
	case m.checkout.inProgress != "":
		return "a " + m.checkout.inProgress + " is under way in the checkout", nil
	case len(m.checkout.dirty) > 0:
		return "there are uncommitted changes, which worktrees do not have: " + firstFew(m.checkout.dirty), nil
	}
	if why, err := m.findIgnoredWork(ctx); why != "" || err != nil {
		return why, err
	}
	if m.opts.Width < 2 && !m.isProtected(m.checkout.branch) {
		return narrow, nil
	}
	return "", nil
}

// prepareRepo does the preparations that need the repository: it removes the locks of a killed wavex,
// checks the shares, and finds the hooks, the signatures and a name for commits.
func (m *Manager) prepareRepo(ctx context.Context) error {
	m.g = m.g.inDir(m.checkout.top)
	if err := m.removeStaleLocks(ctx); err != nil {
		return err
	}
	for _, s := range m.opts.Share {
		if err := m.checkShare(ctx, s); err != nil {
			return err
		}
	}
	if err := m.findName(ctx); err != nil {
		return err
	}
	m.findSigning()
	return m.findHooks(ctx)
}

// findName gives commits wavex's name if git knows none.
func (m *Manager) findName(ctx context.Context) error {
	if strings.ContainsFunc(m.settings.value("user.name"), unicode.IsLetter) && m.settings.value("user.email") != "" &&
		len(filterEnv(m.g.env, "GIT_AUTHOR_", "GIT_COMMITTER_")) == 0 {
		return nil
	}
	if err := m.g.run(ctx, "var", "GIT_COMMITTER_IDENT"); exitCode(err) > 0 {
		m.g = m.g.asWavex()
		m.notice("git does not know your name (user.name, user.email): commits are by wavex <wavex@localhost>")
	} else if err != nil {
		return err
	}
	return nil
}

// isProtected reports whether a delivery must not move a branch.
func (m *Manager) isProtected(ref string) bool {
	for _, pattern := range m.opts.Protect {
		if ok, err := path.Match(pattern, branchName(ref)); ref != "" && (err != nil || ok) {
			return true // a malformed pattern protects every branch
		}
	}
	return false
}

// Mode returns Shared or Worktree.
func (m *Manager) Mode() string { return m.state.Mode }

// ModeReason returns the reason for the mode, in a few words.
func (m *Manager) ModeReason() string { return m.state.Why }

// Notices returns what of the user's git differs in the run's worktrees, one sentence each. A run in the project's
// directory has none.
func (m *Manager) Notices() []string {
	if m.state.Mode != Worktree {
		return nil
	}
	return m.notices
}

func (m *Manager) notice(format string, args ...any) {
	m.notices = append(m.notices, fmt.Sprintf(format, args...))
}

// Close releases the resources of the run. The worktrees of unsettled tasks stay, so that a resumed
// session finds its directory; Clean removes them.
func (m *Manager) Close(ctx context.Context) error {
	errs := []error{m.tellStash(ctx)}
	if m.state.Mode == Worktree && m.checkout.top != "" {
		errs = append(errs, m.keepTrees(ctx))
	}
	if m.session {
		if err := m.notePrograms(&m.state, false); err != nil {
			m.warn(err)
		}
	}
	m.trash.close()
	errs = append(errs, m.slots.close())
	if m.lock != nil {
		errs = append(errs, m.lock.Unlock())
	}
	return errors.Join(errs...)
}

// Undeleted returns the number of worktrees that were removed and still take room, after Close.
func (m *Manager) Undeleted() int { return m.trash.left }
