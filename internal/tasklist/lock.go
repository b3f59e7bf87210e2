package tasklist

// This file is the CLI's lock: a folder beside the file it is for. It knows no tasks.

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
)

const (
	// stale is how old a lock's mtime is when its holder is taken for dead (observed on
	// claude 2.1.197: 6 s old is respected, 11 s old is taken over).
	stale = 10 * time.Second
	// fresh is how often a holder says that it lives.
	fresh = 2 * time.Second
	// patience is how long to wait for a lock: long enough for a dead holder's to
	// become stale.
	patience = 15 * time.Second
)

// BusyError says that somebody else did not let go of a lock.
type BusyError struct{ Path string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("%s is held by somebody else; if nobody uses the list, remove that folder", e.Path)
}

// lock is a lock that is held. A timer refreshes its mtime until unlock.
type lock struct {
	path string
	mine fs.FileInfo

	mu    sync.Mutex
	timer *time.Timer
	over  bool
}

// acquire takes the lock of a file that exists, waiting for it for at most patience.
func acquire(ctx context.Context, file string) (*lock, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, &BusyError{file + ".lock"})
	defer cancel()
	target, err := filepath.EvalSymlinks(file) // as the CLI does
	if err != nil {
		return nil, err
	}
	path := target + ".lock"
	for wait := 2 * time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		err := os.Mkdir(path, 0o777)
		if err == nil {
			return hold(path)
		}
		// On Windows a folder that is being removed refuses rather than exists.
		if !errors.Is(err, fs.ErrExist) && (runtime.GOOS != "windows" || !errors.Is(err, fs.ErrPermission)) {
			return nil, err
		}
		if abandoned(path) {
			continue
		}
		if err := pause(ctx, wait); err != nil {
			return nil, err
		}
	}
}

func hold(path string) (*lock, error) {
	mine, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	l := &lock{path: path, mine: mine}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(fresh, l.refresh)
	return l, nil
}

// abandoned tells whether a lock may be asked for again at once: it is gone, or its
// holder was dead and it has been removed. It is looked at twice before that, so that
// one just taken over by somebody else stays.
func abandoned(path string) bool {
	first, err := os.Stat(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	if time.Since(first.ModTime()) <= stale {
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
	if l.over || !l.ours() {
		return
	}
	now := time.Now()
	_ = os.Chtimes(l.path, now, now) // gone: unlock will say so
	l.timer = time.AfterFunc(fresh, l.refresh)
}

func (l *lock) ours() bool {
	info, err := os.Stat(l.path)
	return err == nil && os.SameFile(info, l.mine)
}

// unlock gives the lock back. When it was taken away meanwhile, because we stood still
// for longer than stale, the other's lock is left alone.
func (l *lock) unlock() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.timer.Stop() // a refresh that runs already waits for mu and then does nothing
	if l.ours() {
		_ = os.Remove(l.path)
	}
}

// pause waits, or returns why ctx is over.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
