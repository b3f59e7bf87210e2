package runlog

import (
	"cmp"
	"io/fs"
	"path"
	"strings"
	"time"

	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/transcript"
	"wavex/scheduler"
)

// Follower follows a run of another wavex by reading its journal as it grows. It changes nothing.
// It must be used from one goroutine.
type Follower struct {
	History // without a run yet, its State is nil

	planPath string // the plan that the user named, or ""
	log      *journal.Follower
	recorded int // number of events of the journal; the rest of Events is not on record (see Settle)
}

// Follow returns a Follower of the runs in a .loop directory. plan is the plan that the user named;
// "" stands for the one that a run was started with.
func Follow(dir loop.Dir, planPath string) *Follower {
	return &Follower{History: History{Loop: dir}, planPath: planPath, log: journal.Follow(dir.Path(loop.Journal))}
}

// Poll reads the new records, updates the state, and calls show with each event that came while the
// run was already known. show may be nil. changed reports that there were new records, or that no
// process works on the run any more. It is valid beside an error, since the events before an
// unreadable record are shown.
func (f *Follower) Poll(show func(event.Event, *scheduler.State)) (changed bool, err error) {
	records, replaced, err := f.log.Next()
	if replaced {
		f.Events, f.State = nil, nil
		f.recorded = 0
	}
	if f.recorded < len(f.Events) && len(records) > 0 { // a wavex resumes it
		if err := f.dropSettled(); err != nil {
			return true, err
		}
	}
	events, wrong := decode(records, f.recorded)
	err = cmp.Or(wrong, err) // the first in the journal
	known := f.State != nil
	for _, e := range events {
		f.Events = append(f.Events, e)
		f.recorded++
		if err := f.apply(e); err != nil {
			return true, err
		}
		if known && show != nil && f.State != nil {
			show(e, f.State)
		}
	}
	was := f.Alive
	f.checkAlive(len(events) > 0)
	if f.State != nil && f.State.Ended == nil && !f.Alive && f.recorded == len(f.Events) {
		wrong = f.Settle()
		err = cmp.Or(err, wrong)
	}
	return replaced || len(events) > 0 || was != f.Alive, err
}

// dropSettled removes the events that settled added.
func (f *Follower) dropSettled() error {
	f.Events = f.Events[:f.recorded]
	last := Last(f.Events)
	if last == nil {
		return nil
	}
	return f.replayPlan(last)
}

// checkAlive finds out whether a process works on the run. The question takes the lock for an instant if
// no process holds it, so look asks again only after the journal has grown.
func (f *Follower) checkAlive(grew bool) {
	switch {
	case f.State == nil || f.State.Ended != nil:
		f.Alive = false
	case f.Alive || grew:
		f.Alive = journal.Locked(f.Loop)
	}
}

func (f *Follower) apply(e event.Event) error {
	// Another plan, an edited one, or perhaps other values and lists.
	if b := e.Beginning(); b != nil && b.Plan != "" &&
		(f.State == nil || b.Digest != f.State.Figures.Begun.Digest || len(b.Config.Params)+len(b.Config.Lists) > 0) {
		return f.replayPlan(&Run{Config: b.Config, Plan: b.Plan, Digest: b.Digest})
	}
	if f.State == nil {
		return nil // records before the first run
	}
	return f.State.Replay([]event.Event{e})
}

// replayPlan makes the state anew, with the outline of the plan in .loop or with the plan's file.
func (f *Follower) replayPlan(r *Run) error {
	p, err := r.In(f.Loop).displayPlan(f.Loop, f.planPath)
	if err != nil {
		return err
	}
	return f.replay(p)
}

// Running returns the activities under way, in order of their start, with their last sign of life.
func (f *Follower) Running() []event.Activity {
	if !f.Alive {
		return nil
	}
	out := f.State.Activities()
	for i := range out {
		if d := &out[i]; d.Kind == "attempt" {
			folder := path.Join(d.Task, loop.Attempt(d.Attempt))
			d.Last, d.At = lastActivity(f.Files(), path.Join(folder, loop.StreamFile))
			if text, told, err := transcript.ReadTail(f.Files(), path.Join(folder, loop.WorkerFile)); err == nil {
				d.At = told
				d.Worker, d.Last, _ = strings.Cut(strings.TrimSuffix(string(text), "\n"), "\n")
			}
			if WaitsForQuiet(f.Files(), d.Task, d.Attempt) {
				d.Last = "waiting for a quiet directory"
			}
		}
	}
	return out
}

// WaitsForQuiet reports whether the checks of an attempt wait for a quiet directory.
func WaitsForQuiet(files fs.FS, task string, attempt int) bool {
	_, err := fs.Stat(files, path.Join(task, loop.Attempt(attempt), loop.WaitingFile))
	return err == nil
}

// lastActivity returns the last action of an agent, from the end of its stream, and the time when the
// stream last grew.
func lastActivity(files fs.FS, stream string) (string, time.Time) {
	tail, grown, err := transcript.ReadTail(files, stream)
	if err != nil {
		return "", time.Time{} // the attempt has not begun, or is a command
	}
	e, ok := transcript.LastEntry(tail)
	if !ok {
		return "", time.Time{}
	}
	words := strings.TrimSpace(e.Tool + " " + e.Target)
	if e.Kind != transcript.Tool {
		words, _, _ = strings.Cut(strings.TrimSpace(e.Text), "\n")
	}
	if e.Kind == transcript.End {
		words = "checking"
	}
	return words, grown
}

// Done reports whether the run will not continue without a resume.
func (f *Follower) Done() bool { return f.State.Ended != nil || !f.Alive }
