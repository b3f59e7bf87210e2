package proc

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Contain ensures that no process survives wavex: it adopts orphans, makes a control group for
// run, and starts a guard that sweeps if wavex is killed. self is the command line of the guard,
// without the run and the lock; lock is a file in the run's folder. If the system offers none of
// this, the run goes on. Contain also ends the processes that an earlier wavex left in the group.
// warn is called, also from another goroutine, when a guard was replaced, the first time, and when there is no guard.
// The returned function ends the containment.
func Contain(ctx context.Context, self []string, run, lock string, warn func(error)) func() {
	awaitOldWatchdog(ctx, lock)
	_ = Subreaper()
	_ = RemoveOldCgroups(ctx, run)
	closeCgroup := func() {}
	if e, err := NewCgroup(run); err == nil {
		closeCgroup = func() { _ = e.Close(context.WithoutCancel(ctx)) } // the run is over; this ends its leftovers
	}
	if len(self) == 0 {
		return closeCgroup
	}
	start := func() (*Watchdog, error) {
		return startLockedWatchdog(ctx, append(self[:len(self):len(self)], run), run, lock)
	}
	watchdog, err := start()
	if err != nil {
		warn(err)
		return closeCgroup
	}
	over := make(chan struct{})
	var keeper sync.WaitGroup
	keeper.Go(func() { keepWatchdog(watchdog, start, over, warn) })
	return func() {
		close(over)
		keeper.Wait()
		closeCgroup()
	}
}

// maxShortLives is how many guards in a row may end within a second of their start.
const maxShortLives = 3

var (
	errWatchdogReplaced = errors.New("the watchdog of this run was killed; another one has taken its place")
	errWatchdogsEnd     = errors.New("the watchdog of this run ends at once: if wavex is killed, processes of its " +
		"agents stay until the next `wavex resume`")
)

// keepWatchdog replaces a guard that dies, until over is closed; then it closes the last one. It
// gives up if guards cannot live.
func keepWatchdog(g *Watchdog, start func() (*Watchdog, error), over <-chan struct{}, warn func(error)) {
	for told, short := false, 0; ; {
		began := time.Now()
		select {
		case <-over:
			_ = g.Close()
			return
		case <-g.p.Done():
			g.p.Wait()
		}
		if short++; time.Since(began) > time.Second {
			short = 0
		}
		next, err := g, errWatchdogsEnd
		if short < maxShortLives {
			next, err = start()
		}
		if err != nil {
			warn(err)
			return
		}
		if g = next; !told {
			told = true
			warn(errWatchdogReplaced)
		}
	}
}

// startLockedWatchdog starts a guard and returns when the guard holds its lock. No other process may
// start earlier, because a successor would not wait for it.
func startLockedWatchdog(ctx context.Context, self []string, run, lock string) (*Watchdog, error) {
	// A guard that inherits the lock needs no waiting until it is ready.
	if f := lockFile(lock); f != nil {
		defer func() { _ = f.Close() }() // the guard has it open
		return StartWatchdog(self, run, f)
	}
	g, err := StartWatchdog(append(self, lock), run)
	if err == nil {
		awaitLocked(ctx, lock)
	}
	return g, err
}

// LockWatchdog takes the lock of a guard for the guard itself, until the returned function is
// called. Without the lock a successor does not wait. Other holders keep it only for an instant.
func LockWatchdog(ctx context.Context, lock string) (release func()) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	f := flock.New(lock)
	_, _ = f.TryLockContext(ctx, time.Millisecond)
	return func() { _ = f.Unlock() }
}

// awaitOldWatchdog waits for the guard of a killed wavex of this run. That guard sweeps by the run's
// mark, which the processes of a resume carry as well. A sweep takes at most 30 s.
func awaitOldWatchdog(ctx context.Context, lock string) {
	ctx, cancel := context.WithTimeout(ctx, 40*time.Second)
	defer cancel()
	f := flock.New(lock)
	if ok, err := f.TryLockContext(ctx, 20*time.Millisecond); ok && err == nil {
		_ = f.Unlock()
	}
}

// awaitLocked waits until the guard that was just started holds its lock, which takes some
// milliseconds.
func awaitLocked(ctx context.Context, lock string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for {
		f := flock.New(lock)
		if ok, err := f.TryRLock(); err != nil || !ok {
			return
		}
		_ = f.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
