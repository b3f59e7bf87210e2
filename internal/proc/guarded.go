package proc

import (
	"context"
	"time"

	"github.com/gofrs/flock"
)

// Contain makes sure that nothing survives wavex: orphans come to us, and a guard sweeps
// when we are killed; both know the control group of run. self is how wavex calls itself
// as a guard, the arguments before the run and the lock; lock is a file of the run's
// folder. Where the system offers none of this, the run goes on. What an earlier wavex
// left in the group is ended. The returned function ends all of it.
func Contain(ctx context.Context, self []string, run, lock string) func() {
	awaitGuard(ctx, lock)
	_ = Subreaper()
	_ = Unenclose(ctx, run)
	open := func() {}
	if e, err := Enclose(run); err == nil {
		open = func() { _ = e.Close(context.WithoutCancel(ctx)) } // the run is over, and what is left of it with it
	}
	if len(self) == 0 {
		return open
	}
	guard, err := startGuarded(ctx, append(self[:len(self):len(self)], run), run, lock)
	if err != nil {
		return open
	}
	return func() {
		_ = guard.Close()
		open()
	}
}

// startGuarded starts a guard and returns when its lock is held: nothing must be started
// that a successor would not wait for.
func startGuarded(ctx context.Context, self []string, run, lock string) (*Guard, error) {
	// A lock that it is born with spares waiting until it is ready.
	if f := locked(lock); f != nil {
		defer func() { _ = f.Close() }() // the guard has it open
		return StartGuard(self, run, f)
	}
	g, err := StartGuard(append(self, lock), run)
	if err == nil {
		guarded(ctx, lock)
	}
	return g, err
}

// HoldGuard takes the lock of a guard for the guard itself, until the returned function
// is called: without it a successor does not wait. Others hold it for an instant only.
func HoldGuard(ctx context.Context, lock string) (release func()) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	f := flock.New(lock)
	_, _ = f.TryLockContext(ctx, time.Millisecond)
	return func() { _ = f.Unlock() }
}

// awaitGuard waits for the guard of a wavex that was killed here: it sweeps by the run's
// mark, which the processes of a resume have as well. A sweep takes 30 s at most.
func awaitGuard(ctx context.Context, lock string) {
	ctx, cancel := context.WithTimeout(ctx, 40*time.Second)
	defer cancel()
	f := flock.New(lock)
	if ok, err := f.TryLockContext(ctx, 20*time.Millisecond); ok && err == nil {
		_ = f.Unlock()
	}
}

// guarded waits until the guard that was just started holds its lock, some milliseconds.
func guarded(ctx context.Context, lock string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for {
		f := flock.New(lock)
		if ok, err := f.TryRLock(); err != nil || !ok {
			return
		}
		_ = f.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}
