package tasklist

// This file implements the CLI's lock: a folder beside the locked file. It knows nothing of tasks.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"wavex/internal/async"
)

const (
	// staleAfter is the age of a lock's mtime at which its holder counts as dead (observed on claude
	// 2.1.330: 6 s old is respected, 11 s old is taken over).
	staleAfter = 10 * time.Second
	// refreshInterval is the interval at which a holder updates the mtime.
	refreshInterval = 2 * time.Second
	// lockTimeout is how long to wait for a lock: long enough for a dead holder's lock to become
	// stale.
	lockTimeout = 15 * time.Second
)

// lock is a held lock. A timer updates its mtime until unlock.
type lock struct {
	path string
	info fs.FileInfo

	mu       sync.Mutex
	timer    *time.Timer
	released bool
}

// acquire takes the lock of an existing file. It waits at most lockTimeout.
func acquire(ctx context.Context, file string) (*lock, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lockTimeout, fmt.Errorf(
		"%s.lock is held by somebody else; if nobody uses the list, remove that folder", file))
	defer cancel()
	target, err := filepath.EvalSymlinks(file) // as the CLI does
	if err != nil {
		return nil, err
	}
	path := target + ".lock"
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		err := os.Mkdir(path, 0o777)
		if err == nil {
			return tryLock(path)
		}
		// On Windows a folder that is being removed returns a permission error instead.
		if !errors.Is(err, fs.ErrExist) && (runtime.GOOS != "windows" || !errors.Is(err, fs.ErrPermission)) {
			return nil, err
		}
		if removeIfStale(path) {
			continue
		}
		if err := async.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

func tryLock(path string) (*lock, error) {
	mine, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	l := &lock{path: path, info: mine}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(refreshInterval, l.refresh)
	return l, nil
}

// removeIfStale reports whether the lock can be tried again at once: it is gone, or it was stale and
// has been removed. It looks twice before it removes a lock, so that a lock that another process
// has just taken over stays.
func removeIfStale(path string) bool {
	first, err := os.Stat(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	if time.Since(first.ModTime()) <= staleAfter {
		return false
	}
	second, err := os.Stat(path)
	if err != nil || !second.ModTime().Equal(first.ModTime()) || !os.SameFile(first, second) {
		return false
	}
	err = os.Remove(path)
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

func (l *lock) refresh() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.released || !l.isOurs() {
		return
	}
	now := time.Now()
	_ = os.Chtimes(l.path, now, now) // if it is gone, unlock notices
	l.timer = time.AfterFunc(refreshInterval, l.refresh)
}

func (l *lock) isOurs() bool {
	info, err := os.Stat(l.path)
	return err == nil && os.SameFile(info, l.info)
}

// unlock releases the lock. If another process took the lock over, because this one paused for
// longer than stale, unlock leaves the other's lock alone.
func (l *lock) unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	l.timer.Stop() // a running refresh waits for mu and then does nothing
	if l.isOurs() {
		_ = os.Remove(l.path)
	}
}
