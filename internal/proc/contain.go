package proc

import (
	"context"
	"time"

	"github.com/gofrs/flock"
)

// Contain ensures that no process survives wavex: it adopts orphans, makes a control group for
// run, and starts a guard that sweeps if wavex is killed. self is the command line of the guard,
// without the run and the lock; lock is a file in the run's folder. If the system offers none of
// this, the run goes on. Contain also ends the processes that an earlier wavex left in the group.
// The returned function ends the containment.
func Contain(ctx context.Context, self []string, run, lock string) func() {
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
	watchdog, err := startLockedWatchdog(ctx, append(self[:len(self):len(self)], run), run, lock)
	if err != nil {
		return closeCgroup
	}
	return func() {
		_ = watchdog.Close()
		closeCgroup()
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
