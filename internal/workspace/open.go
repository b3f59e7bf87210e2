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

// Manager gives the attempts of a run their places. Its methods may be called from
// many goroutines; Close comes last.
type Manager struct {
	o      Options
	c      checkout // as it was found by Open; top, common and prefix stay
	looked bool     // c is what there is
	g      git      // in c.top

	lock  *flock.Flock // nobody else works on this run
	turns *turns       // shared mode only
	slots slots

	mu   sync.Mutex // guards s and what it points to
	s    saved
	busy map[string]bool // tasks with an attempt in their worktree

	expected []duty // of every combined tree; guarded by mu

	integrating sync.Mutex // one integration, delivery or reopening at a time
}

// Open resolves the mode of a run and takes what it needs. Opened again after a crash
// it finds the worktrees as they were; what an unfinished run began with stays, so a
// run never changes its mode. An *Error is for a person.
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

// Known tells whether a run has, or had, a workspace in a .loop.
func Known(loop, run string) bool {
	_, err := os.Stat(statePath(loop, run))
	return fitRun(run) && err == nil
}

// Reattach is Open for a run that was: where nothing of it is left, the *Error is NoRun.
func Reattach(ctx context.Context, o Options) (*Manager, error) {
	if !Known(o.Loop, o.Run) {
		return nil, &Error{Problem: NoRun, Text: fmt.Sprintf("run %s has no workspace in %s", o.Run, o.Loop)}
	}
	return Open(ctx, o)
}

// claim makes the folder of the worktrees, which git must not see, and locks the run.
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

// begin decides how a new run works.
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

// Head is the commit that the project's checkout was at when Open looked at it, "" where it
// has none or there is no checkout. known is false where Open had no reason to look.
func (m *Manager) Head() (commit string, known bool) { return m.c.head, m.looked }

// fit says why worktrees are not for this run: an *Error where they cannot be, a
// reason where a person may want them all the same.
func (m *Manager) fit(ctx context.Context) (why string, err error) {
	m.c, err = look(ctx, m.g, m.o.Project)
	var unfit *Error
	if m.looked = err == nil || errors.As(err, &unfit) && unfit.Problem != TooOld; err != nil {
		return "", err
	}
	if m.c.head == "" {
		return "", &Error{NoCommit, "nothing is committed in " + m.c.top + " yet", "commit first, or run with --isolation shared"}
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

// ready prepares what needs the repository: no lock of a killed wavex, the shares, and
// a name to commit under.
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
		m.g = m.g.with("GIT_AUTHOR_NAME=wavex", "GIT_AUTHOR_EMAIL=wavex@localhost", "GIT_COMMITTER_NAME=wavex", "GIT_COMMITTER_EMAIL=wavex@localhost")
	} else if err != nil {
		return err
	}
	return nil
}

// protected tells whether a delivery must not move a branch.
func (m *Manager) protected(ref string) bool {
	for _, pattern := range m.o.Protect {
		if ok, err := path.Match(pattern, branchName(ref)); ref != "" && (err != nil || ok) {
			return true // a pattern that cannot be read protects everything
		}
	}
	return false
}

// Mode is Shared or Worktree.
func (m *Manager) Mode() string { return m.s.Mode }

// Why says in a few words why the mode is what it is.
func (m *Manager) Why() string { return m.s.Why }

// Close gives back what the run holds. The worktrees of tasks that are not settled
// stay, so that a resumed session finds its directory; Clean removes them.
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
