package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/safefile"
)

// SnapshotVersion is the version of the card's file format.
const SnapshotVersion = 1

// Bounds, in bytes, of the files that a hook reads.
const (
	maxSnapshot   = 1 << 20
	maxLastRecord = 1 << 18 // the last record of a journal; the record of an end is far smaller
)

// Snapshot holds the facts that hooks need about a run. It is stored in .loop/hook.json. Its size does
// not grow with the plan.
type Snapshot struct {
	V       int    `json:"v"`
	Run     string `json:"run"`
	Owner   string `json:"owner,omitempty"` // session that started wavex last; "": none
	Dir     string `json:"dir"`             // project directory, absolute
	Plan    string `json:"plan"`            // plan file, absolute
	Name    string `json:"name"`            // of the plan, else of its file
	Context string `json:"context,omitempty"`
	Seq     int64  `json:"seq"` // of the last event in it

	Loop      string `json:"loop,omitempty"` // ExecuteLoop or VerifyLoop; "": not known
	Tasks     int    `json:"tasks"`
	Completed int    `json:"completed"`
	Current   []Task `json:"current,omitempty"` // under way, else the next to start; the first few

	Iterations   int         `json:"iterations"`     // ended; those under way may be given back
	MaxIter      int         `json:"max_iterations"` // 0: no limit
	SameUnmet    int         `json:"same_unmet"`     // stuck attempts in a row with the same unmet checks
	MaxSameUnmet int         `json:"breaker_same_unmet"`
	Stop         *event.Stop `json:"stop,omitempty"` // decided, while running work may finish
	Announcement []string    `json:"announce"`       // the announcement for new sessions

	Ended *event.RunEnded `json:"ended,omitempty"` // of its last session; nil during a session
}

// The kinds of a loop: it carries out the plan, or it verifies the work and repairs the faults.
const (
	ExecuteLoop = "execute"
	VerifyLoop  = "verify"
)

// Task is one task of a card.
type Task struct {
	ID      string       `json:"id"`
	Subject string       `json:"subject,omitempty"`
	Content string       `json:"content,omitempty"` // only of the first task
	Status  event.Status `json:"status"`
}

// Run holds the facts that a hook finds in a loop folder.
type Run struct {
	Snapshot Snapshot
	Ended    *event.RunEnded // nil: wavex runs, or was killed
	Live     bool            // a wavex process holds the folder
	Loop     loop.Dir

	List    string   // the task list, if Run stands for a list instead of a run
	Pending []string // subjects of the list's tasks that are not completed
}

// Over reports whether the run cannot continue: it is complete, or was cancelled.
func (r *Run) Over() bool {
	return r.Ended != nil && (r.Ended.Status == event.RunComplete || r.Ended.Status == event.RunCancelled)
}

// ErrNoRun means that the folder has no run.
var ErrNoRun = errors.New("no loop here")

// Find walks up from dir to the nearest folder whose .loop has a journal, and returns that .loop,
// or "" if there is none.
func Find(dir string) loop.Dir {
	if !filepath.IsAbs(dir) {
		return ""
	}
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		at := loop.In(dir)
		journal := at.Path(loop.Journal)
		if st, err := os.Lstat(journal); err == nil && st.Mode().IsRegular() && safefile.CheckPath(journal) == nil {
			return at
		}
		if filepath.Dir(dir) == dir {
			return ""
		}
	}
}

// Read reads a loop folder for a hook. Its time does not depend on the length of the run or of the
// plan.
func Read(dir loop.Dir) (Run, error) {
	r := Run{Loop: dir}
	rec, err := journal.Last(dir.Path(loop.Journal), maxLastRecord)
	if err != nil {
		return r, err
	}
	if rec == nil {
		return r, ErrNoRun
	}
	if r.Ended, err = decodeRunEnded(rec); err != nil {
		return r, err
	}
	r.Snapshot, err = readSnapshot(dir.Path(loop.HookSnapshot))
	if err != nil {
		return r, err
	}
	if r.Ended == nil {
		r.Ended = r.Snapshot.Ended // the journal may hold more than runs by now
	}
	r.Live = journal.Locked(dir)
	return r, nil
}

// decodeRunEnded decodes a record if it ends a run. It does not decode other records, because a newer wavex
// may write other fields there.
func decodeRunEnded(rec []byte) (*event.RunEnded, error) {
	var record struct {
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	var end event.RunEnded
	err := json.Unmarshal(rec, &record)
	if err == nil && record.Type != end.Type() {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(record.Data, &end)
	}
	if err != nil {
		return nil, fmt.Errorf("the journal's last record: %w", err)
	}
	return &end, nil
}

func readSnapshot(path string) (Snapshot, error) {
	b, err := safefile.Read(path, maxSnapshot)
	if err != nil {
		return Snapshot{}, err
	}
	c, err := parseSnapshot(b)
	if err != nil {
		return Snapshot{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return c, nil
}

// WriteEnd records the end of a run in its card when no Mirror is running.
func WriteEnd(dir loop.Dir, e event.RunEnded) error {
	path := dir.Path(loop.HookSnapshot)
	c, err := readSnapshot(path)
	if err != nil {
		return err
	}
	c.Ended = &e
	return writeSnapshot(path, c, nil)
}

func parseSnapshot(b []byte) (Snapshot, error) {
	var c Snapshot
	if err := json.Unmarshal(b, &c); err != nil {
		return Snapshot{}, err
	}
	if c.V != SnapshotVersion {
		return Snapshot{}, fmt.Errorf("version %d, not %d", c.V, SnapshotVersion)
	}
	return c, nil
}
