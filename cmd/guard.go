package cmd

import (
	"context"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"

	"wavex/internal/proc"
)

// newGuard is the process that sweeps after a wavex that was killed: it holds a pipe
// from it and wakes when the pipe closes without a goodbye.
func newGuard(std Stdio) *cobra.Command {
	return &cobra.Command{
		Use:    "guard MARK [LOCK]",
		Short:  "Sweep after a killed wavex",
		Hidden: true,
		Args:   cobra.RangeArgs(1, 2),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 2 {
				// Held until the end of the process; without it a successor does not wait. Others
				// hold it for an instant only.
				ctx, cancel := context.WithTimeout(c.Context(), time.Second)
				defer cancel()
				f := flock.New(args[1])
				defer func() { _ = f.Unlock() }()
				_, _ = f.TryLockContext(ctx, time.Millisecond)
			}
			return exitOf(proc.GuardMain(std.In, args[0]))
		},
	}
}

// guardLock is what a guard holds while it lives.
func guardLock(loop string) string { return filepath.Join(loop, "guard.lock") }

// awaitGuard waits for the guard of a wavex that was killed here: it sweeps by the run's
// mark, which the processes of a resume have as well. A sweep takes 30 s at most.
func awaitGuard(ctx context.Context, loop string) {
	ctx, cancel := context.WithTimeout(ctx, 40*time.Second)
	defer cancel()
	f := flock.New(guardLock(loop))
	if ok, err := f.TryLockContext(ctx, 20*time.Millisecond); ok && err == nil {
		_ = f.Unlock()
	}
}

// guarded waits until the guard that was just started holds its lock, some milliseconds:
// nothing must be started that a successor would not wait for.
func guarded(ctx context.Context, loop string) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for {
		f := flock.New(guardLock(loop))
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
