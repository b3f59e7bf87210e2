package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"wavex/fleet/ferry"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/safefile"
)

// This file has the directory of a worker between its lives.

// Files of a worker's directory.
const (
	lockFile = "lock"
	markFile = "mark" // the mark of the processes of its last life
)

// ErrInUse means that another worker uses the directory.
var ErrInUse = errors.New("another worker uses it")

// Own makes dir the directory of this process, and ends the processes that an earlier one left. The caller must call
// release at the end.
func Own(ctx context.Context, dir, mark string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, lockFile))
	got, err := lock.TryLock()
	switch {
	case err != nil:
		return nil, err
	case !got:
		return nil, fmt.Errorf("%s: %w", dir, ErrInUse)
	}
	release = func() { _ = lock.Unlock() } // the system does it at the end of the process
	path := filepath.Join(dir, markFile)
	old, err := safefile.Read(path, 1<<10)
	if err == nil && len(old) > 0 {
		if _, err = proc.Sweep(ctx, string(old)); errors.Is(err, proc.ErrUnsupported) {
			err = nil
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		release()
		return nil, fmt.Errorf("ending what an earlier worker left: %w", err)
	}
	if err := safefile.Replace(path, []byte(mark), 0o600, true); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// repos returns the directories of the repositories in the directory of a worker.
func repos(dir string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(dir, reposDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var dirs []string
	for _, e := range entries {
		if e.IsDir() {
			dirs = append(dirs, filepath.Join(dir, reposDir, e.Name()))
		}
	}
	return dirs, err
}

// RemoveOld removes the worktrees, the logs and the refs of runs that made no attempt here since a moment, but of none
// whose work could not be pushed. It returns their number. Own must have been called.
func RemoveOld(ctx context.Context, dir string, since time.Time, env []string) (removed int, err error) {
	all, err := repos(dir)
	if err != nil {
		return 0, err
	}
	for _, repo := range all {
		in := loop.In(repo)
		runs, err := oldRuns(in, since)
		if err != nil {
			return removed, err
		}
		for _, run := range runs {
			if _, err := gitwork.Clean(ctx, repo, run, false); err != nil {
				return removed, err
			}
			if err := ferry.New(ctx, repo, "", env).Forget(ctx, run); err != nil {
				return removed, err
			}
			if err := os.RemoveAll(in.Run(run)); err != nil {
				return removed, err
			}
			removed++
		}
		if len(runs) == 0 {
			continue
		}
		if _, err := gitwork.NewGit(ctx, repo, env).Output(ctx, "", "gc", "--auto", "-q"); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// oldRuns returns the runs whose tasks had their last attempt before a moment.
func oldRuns(in loop.Dir, since time.Time) (old []string, err error) {
	entries, err := os.ReadDir(in.Path(loop.Runs))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		last := time.Time{}
		walk := filepath.WalkDir(in.Run(e.Name()), func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil && info.ModTime().After(last) {
				last = info.ModTime()
			}
			return err
		})
		if walk != nil {
			return nil, walk
		}
		if _, err := os.Lstat(in.Run(e.Name(), keptFile)); err == nil {
			continue // until Salvage has pushed it
		}
		if e.IsDir() && last.Before(since) {
			old = append(old, e.Name())
		}
	}
	return old, err
}

// Salvage pushes the work and the logs of a run that this worker still has, to the git remotes that they are for. It
// returns the refs on the remotes.
func Salvage(ctx context.Context, dir, run string, env []string) (pushed []string, err error) {
	all, err := repos(dir)
	for _, repo := range all {
		refs, err := ferry.New(ctx, repo, "", env).Kept(ctx, run)
		if err != nil {
			return pushed, err
		}
		if len(refs) > 0 { // else it may be half made, without a git remote
			remote, err := gitwork.NewGit(ctx, repo, env).Output(ctx, "", "config", "--get", remoteKey)
			if err != nil {
				return pushed, fmt.Errorf("%s has no git remote: %w", repo, err)
			}
			if err := ferry.New(ctx, repo, remote, env).Push(ctx, refs...); err != nil {
				return pushed, err
			}
			for _, r := range refs {
				pushed = append(pushed, strings.TrimSpace(remote+" "+r.Name))
			}
		}
		if err := os.RemoveAll(loop.In(repo).Run(run, keptFile)); err != nil {
			return pushed, err
		}
	}
	slices.Sort(pushed)
	return pushed, err
}
