package runlog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/safefile"
	"wavex/internal/statefiles"
	"wavex/internal/usererr"
)

// Read returns the events of a .loop directory, or none if it has no journal. It may be called
// while a run is under way.
func Read(dir loop.Dir) ([]event.Event, error) {
	records, _, err := journal.Follow(dir.Path(loop.Journal)).Next()
	if err != nil {
		return nil, err
	}
	return decode(records, 0)
}

// decode decodes the records of a journal, without the first after ones. If it returns an error, it also returns the
// events before the bad record. It does not read on after a missing record, since later ones depend
// on it.
func decode(records [][]byte, after int) ([]event.Event, error) {
	events := make([]event.Event, len(records))
	size := max(leastPart, (len(records)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	var parts []*decodedPart
	var running sync.WaitGroup
	for from := 0; from < len(records); from += size {
		to := min(from+size, len(records))
		part := &decodedPart{events: events[from:to], good: from}
		parts = append(parts, part)
		running.Go(func() { part.decode(records[from:to], after+from) })
	}
	running.Wait()
	for _, part := range parts {
		if part.err != nil {
			return events[:part.good], part.err
		}
	}
	return events, nil
}

// leastPart is the number of records from which on a goroutine of its own is worth its start.
const leastPart = 500

// decodedPart is a part of a journal. One goroutine decodes it.
type decodedPart struct {
	events []event.Event
	good   int // number of events of the journal before the first bad record
	err    error
}

func (p *decodedPart) decode(records [][]byte, after int) {
	for i, rec := range records {
		n := after + i + 1
		err := p.events[i].UnmarshalJSON(rec) // json.Unmarshal would parse the record twice
		if err == nil && p.events[i].Seq != int64(n) {
			err = fmt.Errorf("it has the number %d, so somebody has changed what stands before it", p.events[i].Seq)
		}
		if run := p.events[i].RunID(); err == nil && (run == "." || run == ".." || filepath.Base("x"+run) != "x"+run) {
			err = fmt.Errorf("the id %q of its run names no file", run) // it is a part of paths
		}
		if err != nil {
			p.good += i
			p.err = usererr.Blocked(fmt.Errorf(
				"journal record %d: %w; start over with --fresh, which moves .loop aside", n, err))
			return
		}
	}
}

// Journal is the open journal of a .loop directory, with the lock that keeps other processes from
// writing to it. scheduler.Loop writes to it, from one goroutine. Close may be called from another one.
type Journal struct {
	dir loop.Dir

	log  *journal.Log
	lock *journal.Lock

	mu     sync.Mutex // held in each write, so that Close waits for it
	closed bool
}

// ErrClosed is the error of all writes after Close.
var ErrClosed = errors.New("the journal is closed")

// Open takes the lock of a .loop directory for a run, and opens its journal. It makes the
// directory; with fresh it first moves an old one aside. seen is the number of records on which the
// caller based its decision: Open refuses if there are others by now.
func Open(dir loop.Dir, run string, fresh bool, seen int) (*Journal, []event.Event, error) {
	if fresh {
		if err := moveToBackup(dir); err != nil {
			return nil, nil, err
		}
	}
	if err := safefile.MkdirAll(string(dir), 0o755); err != nil {
		return nil, nil, err
	}
	if err := statefiles.EnsureGitignore(dir); err != nil {
		return nil, nil, err
	}
	lock, err := lockFor(dir, journal.Holder{Run: run, Drains: true})
	if err != nil {
		return nil, nil, err
	}
	j := &Journal{lock: lock, dir: dir}
	events, err := j.open(dir)
	if err == nil && len(events) != seen {
		err = usererr.Blocked(fmt.Errorf("another wavex has worked in %s just now; give the command again", dir))
	}
	if err != nil {
		j.Close()
		return nil, nil, err
	}
	return j, events, nil
}

func (j *Journal) open(dir loop.Dir) ([]event.Event, error) {
	log, records, err := journal.Open(dir.Path(loop.Journal))
	if err != nil {
		return nil, err
	}
	j.log = log
	return decode(records, 0)
}

// Append adds an event to the next Write or Sync.
func (j *Journal) Append(e event.Event) error {
	b, err := e.Encode()
	if err != nil {
		return fmt.Errorf("encoding event %d: %w", e.Seq, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return ErrClosed
	}
	return j.log.Append(b)
}

// Write writes everything that was appended, so that a kill of this process does not lose it. If
// another process removed the directory, Write makes it again with its lock. It returns a
// *journal.LockedError if another wavex has taken the lock meanwhile.
func (j *Journal) Write() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return ErrClosed
	}
	restored := j.log.Restored()
	if err := j.log.Write(); err != nil || j.log.Restored() == restored {
		return err
	}
	return j.restoreDir()
}

// Sync is Write followed by an fsync, so that a failure of the machine loses nothing. It also makes
// the other parts of a removed directory again.
func (j *Journal) Sync() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return ErrClosed
	}
	if err := j.log.Sync(); err != nil {
		return err
	}
	return j.restoreDir()
}

func (j *Journal) restoreDir() error {
	if j.lock == nil || j.log.Moved() != nil {
		return nil
	}
	err := statefiles.EnsureGitignore(j.dir)
	if err == nil {
		err = j.lock.Restore()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the directory is being removed: the next write makes it again
	}
	return err
}

// Restored returns how often another process removed, replaced or extended the journal and it was
// repaired.
func (j *Journal) Restored() int { return j.log.Restored() }

// Moved returns nil if the project's directory still has its path. It may be called from any goroutine.
func (j *Journal) Moved() *journal.MovedError { return j.log.Moved() }

// Close releases journal and lock. It may be called again.
func (j *Journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return
	}
	j.closed = true
	if j.log != nil {
		_ = j.log.Close() // all important records were synced
	}
	if j.lock != nil {
		_ = j.lock.Unlock()
	}
}

// Lock takes the lock of a .loop directory for a run, or with "" for none. It returns a
// *journal.LockedError if another wavex has the lock.
func Lock(dir loop.Dir, run string) (*journal.Lock, error) {
	return lockFor(dir, journal.Holder{Run: run})
}

// lockLook is longer than others hold a lock to look whether it is free, and than a process takes to start.
const lockLook = time.Second

// lockFor takes the lock for this process. A refusal counts if it lasts: two processes that begin at once, a wavex that
// watches the run, or a process that a killed wavex was about to start, may hold the lock for an instant.
func lockFor(dir loop.Dir, h journal.Holder) (*journal.Lock, error) {
	h.PID, h.Since = os.Getpid(), time.Now().UTC()
	h.Host, _ = os.Hostname() // for people; "" if unknown
	var held *journal.LockedError
	for began := time.Now(); ; time.Sleep(lockLook / 20) {
		if l, err := journal.TryLock(dir, h); !errors.As(err, &held) || time.Since(began) >= lockLook {
			return l, err
		}
	}
}

// Backups returns the paths to which a .loop directory was moved aside, the oldest first.
func Backups(dir loop.Dir) []loop.Dir {
	entries, err := os.ReadDir(filepath.Dir(string(dir)))
	if err != nil {
		return nil // then there is no .loop either
	}
	var out []loop.Dir
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), filepath.Base(string(dir))+loop.BackupMark) {
			out = append(out, loop.Dir(filepath.Join(filepath.Dir(string(dir)), e.Name())))
		}
	}
	return out // sorted by name, which begins with the time
}

// moveToBackup renames an old .loop, and keeps the user's own experts in place. It refuses if a run is
// under way there.
func moveToBackup(dir loop.Dir) error {
	if _, err := os.Stat(string(dir)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	lock, err := Lock(dir, "")
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	to := dir + loop.BackupMark + loop.Dir(NewID(time.Now()))
	if err := os.Rename(string(dir), string(to)); errors.Is(err, syscall.EBUSY) {
		return fmt.Errorf("moving %s aside: %w; if it is a mount, unmount it, or empty it with: wavex cancel --purge",
			dir, err)
	} else if err != nil {
		return fmt.Errorf("moving %s aside: %w", dir, err)
	}
	experts := to.Path(loop.Experts)
	if _, err := os.Stat(experts); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := os.CopyFS(dir.Path(loop.Experts), os.DirFS(experts)); err != nil {
		return fmt.Errorf("the old run is in %s; taking the experts over from there: %w", to, err)
	}
	return nil
}

// Valid reports whether a piece of a journal that begins with a record contains only records; the
// last one may be incomplete.
func Valid(piece []byte) bool { return journal.Valid(piece) }
