package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Manager gives the attempts of a run their directories. Its methods are safe for concurrent use;
// Close must be the last call.
type Manager struct {
	o      Options
	c      checkout // the checkout as Open found it; top, common and prefix do not change
	looked bool     // c describes an actual checkout
	g      git      // in c.top

	lock  *flock.Flock // held so that no other wavex works on this run
	turns *turns       // shared mode only
	slots slots

	mu   sync.Mutex // guards s and everything that it points to
	s    saved
	busy map[string]bool // tasks with an attempt in their worktree

	expected []duty // conditions of every combined tree; guarded by mu

	integrating sync.Mutex // one integration, delivery or reopening at a time
}

// Open chooses the mode of a new run and acquires its resources. For a run that exists it finds the
// worktrees again and keeps the mode: a run never changes its mode. An *Error is meant for a
// person.
func Open(ctx context.Context, o Options) (*Manager, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MaxDeletes == 0 {
		o.MaxDeletes = 10
	}
	if !fitRun(o.Run) {
		return nil, &Error{Problem: BadRun, Text: fmt.Sprintf("%q cannot name a branch", o.Run)}
	}
	switch o.Mode {
	case "", Auto, Shared, Worktree:
	default:
		return nil, &Error{BadMode, fmt.Sprintf("there is no isolation %q", o.Mode), "it is auto, shared or worktree"}
	}
	m := &Manager{o: o, busy: map[string]bool{}}
	if err := m.claim(); err != nil {
		return nil, err
	}
	if err := m.open(ctx); err != nil {
		return nil, errors.Join(err, m.Close(context.WithoutCancel(ctx)))
	}
	return m, nil
}

// Known reports whether a run has, or had, a workspace in the folder loop.
func Known(loop, run string) bool {
	_, err := os.Stat(statePath(loop, run))
	return fitRun(run) && err == nil
}

// Reattach is like Open for a run that exists. If nothing of the run is left, it returns an *Error
// with NoRun.
func Reattach(ctx context.Context, o Options) (*Manager, error) {
	if !Known(o.Loop, o.Run) {
		return nil, &Error{Problem: NoRun, Text: fmt.Sprintf("run %s has no workspace in %s", o.Run, o.Loop)}
	}
	return Open(ctx, o)
}

// claim makes the folder of the worktrees, hides it from git, and locks the run.
func (m *Manager) claim() error {
	dir := worktrees(m.o.Loop)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	ignore := filepath.Join(dir, ".gitignore")
	if _, err := os.Lstat(ignore); err != nil {
		if err := os.WriteFile(ignore, []byte("*\n"), 0o600); err != nil {
			return err
		}
	}
	m.lock = flock.New(filepath.Join(dir, m.o.Run+".lock"))
	got, err := m.lock.TryLock()
	if err != nil {
		return fmt.Errorf("locking run %s: %w", m.o.Run, err)
	}
	if !got {
		return &Error{InUse, "another wavex works on run " + m.o.Run, "wait for it, or stop it"}
	}
	return nil
}

func (m *Manager) open(ctx context.Context) error {
	old, err := readState(statePath(m.o.Loop, m.o.Run))
	if err != nil {
		return err
	}
	m.g = newGit(m.o.Project, m.o.Env)
	if old != nil {
		m.s = *old
		if m.s.Mode == Worktree {
			err = m.recover(ctx)
		}
	} else {
		m.s = saved{Version: 1, Run: m.o.Run, Project: m.o.Project}
		err = m.begin(ctx)
	}
	if err != nil {
		return err
	}
	if m.s.Mode == Shared {
		m.turns = newTurns()
	}
	if m.s.Temp, err = m.slots.open(m.o.Run, m.s.Temp); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.save(true)
}

// begin chooses the mode of a new run.
func (m *Manager) begin(ctx context.Context) error {
	if m.o.Mode == Shared {
		m.s.Mode, m.s.Why = Shared, "asked for"
		return nil
	}
	why, err := m.fit(ctx)
	var unfit *Error
	if errors.As(err, &unfit) && m.o.Mode != Worktree {
		m.s.Mode, m.s.Why = Shared, unfit.Text
		return nil
	}
	if err != nil {
		return err
	}
	if why != "" && m.o.Mode != Worktree {
		m.s.Mode, m.s.Why = Shared, why
		return nil
	}
	m.s.Mode, m.s.Why = Worktree, fmt.Sprintf("the checkout is clean, and a wave has %d tasks", m.o.Width)
	if m.o.Mode == Worktree {
		m.s.Why = "asked for"
		if why != "" {
			m.s.Why += "; " + why
		}
	} else if m.o.Width < 2 {
		m.s.Why = "the checkout is clean, and its branch is protected"
	}
	m.s.Base, m.s.Branch, m.s.Dirty = m.c.head, m.c.branch, len(m.c.dirty) > 0
	return m.g.setRefs(ctx, baseRef(m.o.Run), m.s.Base, tipRef(m.o.Run), m.s.Base)
}

// Head returns the commit that the project's checkout was at when Open read it, or "" if there is
// no commit or no checkout. known is false if Open did not read the checkout.
func (m *Manager) Head() (commit string, known bool) { return m.c.head, m.looked }

// fit says why worktrees do not suit this run: an *Error if they are impossible, a reason if a
// person may still ask for them.
func (m *Manager) fit(ctx context.Context) (why string, err error) {
	m.c, err = look(ctx, m.g, m.o.Project)
	var unfit *Error
	if m.looked = err == nil || errors.As(err, &unfit) && unfit.Problem != TooOld; err != nil {
		return "", err
	}
	if m.c.head == "" {
		return "", &Error{NoCommit, "nothing is committed in " + m.c.top + " yet",
			"commit first, or run with --isolation shared"}
	}
	if err := m.c.inspect(ctx, m.g, append([]string{m.o.Loop}, m.o.Own...)); err != nil {
		return "", err
	}
	if err := m.ready(ctx); err != nil {
		return "", err
	}
	switch {
	case m.c.underway != "":
		return "a " + m.c.underway + " is under way in the checkout", nil
	case len(m.c.dirty) > 0:
		return "there are uncommitted changes, which worktrees do not have: " + some(m.c.dirty), nil
	case m.c.modules:
		return "there are submodules, whose commits a worktree does not keep", nil
	}
	if why, err := m.beyond(ctx); why != "" || err != nil {
		return why, err
	}
	switch {
	case m.o.Width < 2 && !m.protected(m.c.branch):
		return "no wave has more than one task", nil
	}
	return "", nil
}

// ready does the preparations that need the repository: it removes the locks of a killed wavex,
// checks the shares, and finds a name for commits.
func (m *Manager) ready(ctx context.Context) error {
	m.g = m.g.at(m.c.top)
	if err := m.sweepLocks(); err != nil {
		return err
	}
	for _, s := range m.o.Share {
		if err := m.checkShare(ctx, s); err != nil {
			return err
		}
	}
	if err := m.g.run(ctx, "var", "GIT_COMMITTER_IDENT"); exitCode(err) > 0 {
		m.g = m.g.with("GIT_AUTHOR_NAME=wavex", "GIT_AUTHOR_EMAIL=wavex@localhost", "GIT_COMMITTER_NAME=wavex",
			"GIT_COMMITTER_EMAIL=wavex@localhost")
	} else if err != nil {
		return err
	}
	return nil
}

// protected reports whether a delivery must not move a branch.
func (m *Manager) protected(ref string) bool {
	for _, pattern := range m.o.Protect {
		if ok, err := path.Match(pattern, branchName(ref)); ref != "" && (err != nil || ok) {
			return true // a malformed pattern protects every branch
		}
	}
	return false
}

// Mode returns Shared or Worktree.
func (m *Manager) Mode() string { return m.s.Mode }

// Why returns the reason for the mode, in a few words.
func (m *Manager) Why() string { return m.s.Why }

// Close releases the resources of the run. The worktrees of unsettled tasks stay, so that a resumed
// session finds its directory; Clean removes them.
func (m *Manager) Close(ctx context.Context) error {
	var errs []error
	if m.s.Mode == Worktree && m.c.top != "" {
		errs = append(errs, m.unstash(ctx), m.retire(ctx))
	}
	errs = append(errs, m.slots.close())
	if m.lock != nil {
		errs = append(errs, m.lock.Unlock())
	}
	return errors.Join(errs...)
}
