package hook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"wavex/internal/async"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/safefile"
	"wavex/internal/textfmt"
	"wavex/internal/ui"
	"wavex/scheduler"
)

// Bounds of a card's tasks.
const (
	maxCurrent = 4    // tasks
	maxSubject = 200  // bytes
	maxContent = 4096 // bytes
)

// SnapshotWriter keeps the card of a run up to date. Event belongs to the scheduler's goroutine and never
// waits for the disk; while one card is written, newer cards replace each other.
type SnapshotWriter struct {
	path      string
	context   string
	redact    func([]byte) []byte // removes secrets
	announcer ui.Announcer

	pending atomic.Pointer[Snapshot] // the newest unwritten card
	worker  *async.Worker

	// Only the worker uses these, and Close the error after it.
	times   [writeBurst]time.Time // of the latest written cards
	written int
	err     error // of the last write
}

// NewSnapshotWriter starts to keep the card in the loop folder. context is the absolute path of the run's
// context file, or "". clean removes secrets from the written card.
func NewSnapshotWriter(dir loop.Dir, context string, clean func([]byte) []byte) *SnapshotWriter {
	m := &SnapshotWriter{path: dir.Path(loop.HookSnapshot), context: context, redact: clean}
	m.worker = async.Start(func(bool) time.Duration { return m.write() })
	return m
}

// writeInterval is the mean time between cards under load: hooks read a card only when an agent stops, but a
// run of small commands has a thousand events per second. A short burst is written at once, so that
// a wavex that is killed early leaves its last card.
const (
	writeInterval = 100 * time.Millisecond
	writeBurst    = 20
)

// write writes the newest card, and returns how long the next one must wait.
func (m *SnapshotWriter) write() time.Duration {
	c := m.pending.Swap(nil)
	if c == nil {
		return 0
	}
	m.err = writeSnapshot(m.path, *c, m.redact)
	slot := &m.times[m.written%writeBurst]
	first := *slot
	*slot = time.Now()
	m.written++
	if slot.Sub(first) >= writeBurst*writeInterval {
		return 0
	}
	return writeInterval
}

// writeSnapshot replaces the card without syncing it. A card that is lost in a crash of the machine lets
// every session go; a late card is older than the run.
func writeSnapshot(path string, c Snapshot, clean func([]byte) []byte) error {
	b, err := json.MarshalIndent(c, "", "  ")
	if clean != nil {
		b = clean(b)
	}
	if err == nil {
		err = safefile.Replace(path, append(b, '\n'), 0o600, false)
	}
	if err != nil {
		return fmt.Errorf("writing the card for hooks: %w", err)
	}
	return nil
}

// Event implements scheduler.View.
func (m *SnapshotWriter) Event(e event.Event, s *scheduler.State) {
	c := m.snapshot(e.Seq, s)
	m.pending.Store(&c)
	m.worker.Wake()
}

// Close writes the last card, ends the goroutine and returns the error of the last write. Later
// events, from an abandoned run, are ignored.
func (m *SnapshotWriter) Close() error {
	m.worker.Close()
	return m.err
}

func (m *SnapshotWriter) snapshot(seq int64, s *scheduler.State) Snapshot {
	l := s.Ledger.Limits()
	c := Snapshot{V: SnapshotVersion, Run: s.Config.Run, Owner: s.Figures.Begun.Owner, Dir: s.Config.Dir,
		Plan:    s.Figures.Begun.Plan,
		Name:    cmp.Or(s.Plan.Name, filepath.Base(filepath.ToSlash(s.Figures.Begun.Plan))),
		Context: m.context, Seq: seq, Tasks: len(s.Tasks), Completed: s.Counts.Completed, Current: m.current(s),
		Iterations: s.Ledger.Charged(), SameUnmet: s.Streaks.UnmetStreak, MaxSameUnmet: s.Config.SameUnmet, Stop: s.Stop,
		Ended:        s.Ended,
		Announcement: m.announcer.Lines(s)}
	if !l.NoIterations {
		c.MaxIter = l.Iterations
	}
	c.Loop = loopKind(s, c.Current)
	return c
}

// loopKind returns the kind of the loop by its phase and its current tasks.
func loopKind(s *scheduler.State, current []Task) string {
	repairs := func(t Task) bool {
		return slices.ContainsFunc(s.Assessment.Added, func(a event.Added) bool {
			return a.ID == t.ID &&
				a.Origin != event.FromList
		})
	}
	if s.Phase == scheduler.Verifying || s.Phase == scheduler.Reviewing ||
		slices.ContainsFunc(current, repairs) {
		return VerifyLoop
	}
	return ExecuteLoop
}

// current returns the tasks in progress, else the next task. It does not scan every task each time.
func (m *SnapshotWriter) current(s *scheduler.State) []Task {
	var under []int
	next, seen := -1, 0
	for _, i := range m.announcer.OpenTasks(s) {
		switch s.Tasks[i].Status {
		case event.InProgress, event.Advising:
			if seen++; len(under) < maxCurrent {
				under = append(under, i)
			}
		case event.Pending:
			if next < 0 {
				next = i
			}
		}
		if seen >= s.Running() && next >= 0 || len(under) == maxCurrent {
			break
		}
	}
	if len(under) == 0 && next >= 0 {
		under = append(under, next)
	}
	out := make([]Task, len(under))
	for n, i := range under {
		t := &s.Plan.Tasks[i]
		out[n] = Task{ID: textfmt.ClipMiddle(maxSubject, t.ID), Subject: textfmt.ClipMiddle(maxSubject, t.Subject),
			Status: s.Tasks[i].Status}
		if n == 0 {
			out[n].Content = taskContent(t.Command, t.Description, t.Prompt)
		}
	}
	return out
}

func taskContent(command string, parts ...string) string {
	if command != "" {
		parts = append(parts, "Command: "+command)
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return strings.TrimSpace(p) == "" })
	return textfmt.ClipMiddle(maxContent, strings.Join(parts, "\n\n"))
}
