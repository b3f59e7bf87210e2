package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"wavex/internal/journal"
	"wavex/internal/loopdir"
	"wavex/internal/refuse"
	"wavex/scheduler"
)

// journalName is the journal in a .loop directory.
const journalName = "journal.jsonl"

// TaskDir is the folder of a task's files in a .loop directory: of its attempts and panels.
func TaskDir(loop, run, task string) string {
	return filepath.Join(loop, "runs", run, "tasks", task)
}

// Read gives the events of a .loop directory, none where it has no journal. Anybody may
// read, also while a run is under way.
func Read(loop string) ([]scheduler.Event, error) {
	records, err := journal.Read(filepath.Join(loop, journalName))
	if err != nil {
		return nil, err
	}
	return decode(records, 0)
}

// decode reads the records of a journal that come after so many others. The events of those
// before a bad one come with its error. What follows a record that somebody has taken away
// means nothing without it, and is not read.
func decode(records [][]byte, after int) ([]scheduler.Event, error) {
	events := make([]scheduler.Event, len(records))
	for i, rec := range records {
		n := after + i + 1
		err := json.Unmarshal(rec, &events[i])
		if err == nil && events[i].Seq != int64(n) {
			err = fmt.Errorf("it has the number %d, so somebody has changed what stands before it", events[i].Seq)
		}
		if err != nil {
			return events[:i], refuse.Blocked(fmt.Errorf("journal record %d: %w; start over with --fresh, which moves .loop aside", n, err))
		}
	}
	return events, nil
}

// Journal is the open journal of a .loop directory, with the lock that keeps others from
// writing to it. It is used by one goroutine. It is what scheduler.Loop writes to.
type Journal struct {
	log  *journal.Log
	lock *journal.Lock
	loop string
	run  string
}

// Open takes the lock of a .loop directory for a run, and opens its journal. The
// directory is made, or with fresh moved aside before. seen is how many records there
// were when it was decided what to do: where there are others by now, Open refuses.
func Open(loop, run string, fresh bool, seen int) (*Journal, []scheduler.Event, error) {
	if fresh {
		if err := moveAside(loop); err != nil {
			return nil, nil, err
		}
	}
	if err := os.MkdirAll(loop, 0o755); err != nil {
		return nil, nil, err
	}
	if err := loopdir.Ignore(loop); err != nil {
		return nil, nil, err
	}
	lock, err := Hold(loop, run)
	if err != nil {
		return nil, nil, err
	}
	j := &Journal{lock: lock, loop: loop, run: run}
	events, err := j.open(loop)
	if err == nil && len(events) != seen {
		err = refuse.Blocked(fmt.Errorf("another wavex has worked in %s just now; give the command again", loop))
	}
	if err != nil {
		j.Close()
		return nil, nil, err
	}
	return j, events, nil
}

func (j *Journal) open(loop string) ([]scheduler.Event, error) {
	log, records, err := journal.Open(filepath.Join(loop, journalName))
	if err != nil {
		return nil, err
	}
	j.log = log
	return decode(records, 0)
}

// Append takes an event for the next Write or Sync.
func (j *Journal) Append(e scheduler.Event) error {
	b, err := e.Encode()
	if err != nil {
		return fmt.Errorf("encoding event %d: %w", e.Seq, err)
	}
	return j.log.Append(b)
}

// Write writes everything that was appended: a kill of this process does not lose it. Where
// somebody removed the directory, it is made again with its lock; the error is a
// *journal.LockedError where another wavex was faster.
func (j *Journal) Write() error {
	before := j.log.Restored()
	if err := j.log.Write(); err != nil || j.log.Restored() == before {
		return err
	}
	return j.keep()
}

// Sync is Write, and makes everything durable: a failure of the machine does not lose it.
// What somebody removed of the directory beside the journal is made again, too.
func (j *Journal) Sync() error {
	if err := j.log.Sync(); err != nil {
		return err
	}
	return j.keep()
}

func (j *Journal) keep() error {
	if j.lock == nil {
		return nil
	}
	err := loopdir.Ignore(j.loop)
	if err == nil {
		err = j.lock.Keep()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody removes the directory just now: the next write makes it again
	}
	return err
}

// Restored counts how often the journal was removed, replaced or lengthened by somebody
// else, and put right.
func (j *Journal) Restored() int { return j.log.Restored() }

// Close gives journal and lock back. It may be called again.
func (j *Journal) Close() {
	if j.log != nil {
		_ = j.log.Close() // everything that matters was synced
	}
	if j.lock != nil {
		_ = j.lock.Unlock()
	}
	j.log, j.lock = nil, nil
}

// Hold takes the lock of a .loop directory for a run, "" for none. The error is a
// *journal.LockedError where another wavex has it.
func Hold(loop, run string) (*journal.Lock, error) {
	host, _ := os.Hostname() // for people; unknown is ""
	return journal.TryLock(loop, journal.Holder{PID: os.Getpid(), Host: host, Run: run, Since: time.Now().UTC()})
}

// aside marks what moveAside made.
const aside = ".bak-"

// Aside lists what was moved aside of a .loop directory, the oldest first.
func Aside(loop string) []string {
	entries, err := os.ReadDir(filepath.Dir(loop))
	if err != nil {
		return nil // then there is no .loop either
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), filepath.Base(loop)+aside) {
			out = append(out, filepath.Join(filepath.Dir(loop), e.Name()))
		}
	}
	return out // by name, which begins with the time
}

// moveAside keeps an old .loop under another name, and a person's own experts where they
// are. A live run in it is refused.
func moveAside(loop string) error {
	if _, err := os.Stat(loop); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	lock, err := Hold(loop, "")
	if err != nil {
		return err
	}
	defer func() { _ = lock.Unlock() }()
	to := loop + aside + NewID(time.Now())
	if err := os.Rename(loop, to); err != nil {
		return fmt.Errorf("moving %s aside: %w", loop, err)
	}
	experts := filepath.Join(to, expertsDir)
	if _, err := os.Stat(experts); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := os.CopyFS(filepath.Join(loop, expertsDir), os.DirFS(experts)); err != nil {
		return fmt.Errorf("the old run is in %s; taking the experts over from there: %w", to, err)
	}
	return nil
}

// expertsDir is what a person has put into .loop, which is of no run.
const expertsDir = "experts"

// Sound tells whether a piece of a journal, from the begin of a record on, is nothing but
// records; the last may still be written.
func Sound(piece []byte) bool { return journal.Sound(piece) }
