package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"wavex/internal/loop"
	"wavex/internal/safefile"

	"github.com/gofrs/flock"
	"github.com/google/renameio/v2/maybe"
)

// Holder identifies the holder of a run lock.
type Holder struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Run   string    `json:"run,omitempty"`
	Since time.Time `json:"since"`
	// Drains reports that SIGUSR1 asks the holder to drain. It ends any other process, such as that of an older wavex.
	Drains bool `json:"drains,omitempty"`
}

// LockedError means that another wavex uses the folder.
type LockedError struct {
	Dir    loop.Dir
	Holder Holder // of the last lock of .loop; zero if it could not be read
	// Project is true if only the project directory is locked: by a wavex whose .loop was removed,
	// or by another program. Holder may then be an earlier one.
	Project bool
}

func (e *LockedError) Error() string {
	if e.Project {
		return fmt.Sprintf("%s is in use by another wavex whose .loop was removed, or locked by another program such as"+
			" flock(1); wait for it, or let that program lock another file", filepath.Dir(string(e.Dir)))
	}
	if e.Holder.PID == 0 {
		return fmt.Sprintf("%s is in use by another wavex", e.Dir)
	}
	return fmt.Sprintf("%s is in use by wavex process %d on %s since %s; wait for it, or stop that process",
		e.Dir, e.Holder.PID, e.Holder.Host, e.Holder.Since.Format(time.RFC3339))
}

// Lock is the right to write in a run folder and to work in its project. The system releases it when
// the process dies, so a dead holder does not block others.
type Lock struct {
	f       *flock.Flock
	project *flock.Flock
	dir     loop.Dir
	holder  Holder
}

// projectLock is the lock of the project directory itself, which stands when .loop is removed. Windows
// has none, because it does not let anyone remove the open files of .loop; nor has NFS.
func projectLock(dir loop.Dir) *flock.Flock {
	return flock.New(filepath.Dir(string(dir)), flock.SetFlag(os.O_RDONLY))
}

// TryLock takes the lock of dir for h, or returns a *LockedError that names the holder.
func TryLock(dir loop.Dir, h Holder) (*Lock, error) {
	l := &Lock{project: projectLock(dir), dir: dir, holder: h}
	if ok, err := l.project.TryLock(); err == nil && !ok {
		return nil, &LockedError{Dir: dir, Project: fileIsFree(dir), Holder: readHolder(dir)}
	}
	if err := l.lockFile(); err != nil {
		_ = l.project.Unlock()
		return nil, err
	}
	return l, nil
}

// fileIsFree reports whether the lock of the file in dir is free, or the file is not there.
func fileIsFree(dir loop.Dir) bool {
	f := flock.New(dir.Path(loop.Lock), flock.SetFlag(os.O_RDONLY))
	if checkRegular(f.Path()) != nil {
		return false
	}
	ok, err := f.TryLock()
	return errors.Is(err, fs.ErrNotExist) || ok && f.Unlock() == nil
}

// lockFile takes the lock of the file in dir and writes the holder.
func (l *Lock) lockFile() error {
	f := flock.New(l.dir.Path(loop.Lock))
	var ok bool
	err := checkRegular(f.Path())
	if err == nil {
		ok, err = f.TryLock()
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w", l.dir, err)
	}
	if !ok {
		return &LockedError{Dir: l.dir, Holder: readHolder(l.dir)}
	}
	if err := l.writeHolder(); err != nil {
		_ = f.Unlock()
		return err
	}
	if l.f != nil {
		_ = l.f.Unlock() // the old file has no name any more
	}
	l.f = f
	return nil
}

func (l *Lock) writeHolder() error {
	b, err := json.Marshal(l.holder)
	if err == nil {
		err = safefile.CheckPath(string(l.dir))
	}
	if err == nil {
		err = maybe.WriteFile(l.dir.Path(loop.LockHolder), append(b, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("locking %s: %w", l.dir, err)
	}
	return nil
}

// Unlock releases the lock.
func (l *Lock) Unlock() error { return errors.Join(l.f.Unlock(), l.project.Unlock()) }

// Restore restores files that another process removed: it takes the lock again in a new lock file, or
// writes the holder's file again. It returns a *LockedError if another wavex took the lock first.
func (l *Lock) Restore() error {
	if l.Lost() {
		return l.lockFile()
	}
	if _, err := os.Lstat(l.dir.Path(loop.LockHolder)); errors.Is(err, fs.ErrNotExist) {
		return l.writeHolder()
	}
	return nil
}

// Lost reports whether the lock's file was removed or replaced. Another wavex could then take the
// lock.
func (l *Lock) Lost() bool {
	held, err := l.f.Stat()
	now, gone := os.Stat(l.f.Path())
	return errors.Join(err, gone) != nil || !os.SameFile(held, now)
}
