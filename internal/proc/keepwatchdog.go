package proc

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
)

// containedRun is the run of Contain. On Linux the limit of every process that is started tells it.
var containedRun atomic.Pointer[string]

// Contain ensures that no process survives wavex: it adopts orphans, and starts a guard that sweeps if wavex is
// killed; on Windows job objects do. self is the command line of the guard, without the run; the guard holds lock, a
// file in the run's folder. If the system offers none of this, the run goes on. A process contains one run at a time.
// warn is called, also from another goroutine, when a guard was replaced, the first time, and when there is no guard.
// The returned function ends the containment.
func Contain(ctx context.Context, self []string, run, lock string, warn func(error)) func() {
	awaitOldWatchdog(ctx, lock)
	_ = Subreaper()
	containedRun.Store(&run)
	release := func() { containedRun.Store(nil) }
	if len(self) == 0 || runtime.GOOS == "windows" {
		return release
	}
	start := func() (*Watchdog, error) {
		argv := append(self[:len(self):len(self)], run)
		f := lockFile(lock)
		if f == nil { // then a successor does not wait for this guard
			return StartWatchdog(argv, run)
		}
		defer func() { _ = f.Close() }() // the guard has it open
		return StartWatchdog(argv, run, f)
	}
	watchdog, err := start()
	if err != nil {
		warn(err)
		return release
	}
	over := make(chan struct{})
	var keeper sync.WaitGroup
	keeper.Go(func() { keepWatchdog(watchdog, start, over, warn) })
	return func() {
		close(over)
		keeper.Wait()
		release()
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
