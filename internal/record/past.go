package record

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"wavex/internal/journal"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/refuse"
	"wavex/internal/stage"
	"wavex/scheduler"
)

// Run is the newest run of a journal, as far as it takes to decide what becomes of it.
type Run struct {
	Config scheduler.Config
	Plan   string // its path
	Digest string // of the plan
	Ended  *scheduler.RunEnded
}

// Over tells whether a run cannot be resumed: it is complete, or was cancelled.
func (r *Run) Over() bool {
	return r.Ended != nil && (r.Complete() || r.Ended.Status == scheduler.Cancelled)
}

// Complete tells whether everything was done.
func (r *Run) Complete() bool { return r.Ended != nil && r.Ended.Status == "complete" }

// PlanHere is where the plan of the run is, or that it is there no longer.
func (r *Run) PlanHere() (string, error) {
	if _, err := os.Stat(r.Plan); errors.Is(err, fs.ErrNotExist) {
		return "", refuse.Usage("the plan of run %s is not there any more: %s; put it back, or name the file that it is now", r.Config.Run, r.Plan)
	}
	return r.Plan, nil
}

// Last finds the newest run in a journal; nil when there is none. Of a journal whose begin
// somebody has taken away, the run is known from a resume on.
func Last(events []scheduler.Event) *Run {
	var last *Run
	for _, e := range events {
		switch b := e.Body.(type) {
		case scheduler.RunStarted:
			last = &Run{Config: b.Config, Plan: b.Plan, Digest: b.Digest}
		case scheduler.Resumed:
			last = &Run{Config: b.Config, Plan: b.Plan, Digest: b.Digest}
		case scheduler.TasksAdded, scheduler.RolledBack: // by a person, after the end; what ends it again may be missing
			if last != nil {
				last.Ended = nil
			}
		case scheduler.RunEnded:
			if last != nil {
				last.Ended = &b
			}
		}
	}
	return last
}

// Past is a run as its journal tells it, read from outside: by commands that change
// nothing and may be called while the run is under way.
type Past struct {
	Loop   string // the .loop directory
	State  *scheduler.State
	Events []scheduler.Event // up to the end of this run
	Alive  bool              // somebody works at it
}

// Files is the folder of the run's tasks, with the files of their attempts; nil where
// there is none. No link leads out of it, and a named pipe is not opened.
func (p *Past) Files() fs.FS {
	dir := filepath.Join(p.Loop, "runs", p.State.Config.Run, "tasks")
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil
	}
	return files{dir}
}

// Find reads the run with an id, or with "" the last one, from a .loop directory, with its
// plan as it is now. path names the plan; "" takes the one the run was started with.
func Find(loop, path, id string) (*Past, error) {
	events, last, later, err := find(loop, id)
	if err != nil {
		return nil, err
	}
	p, err := last.read(path)
	if err != nil {
		return nil, err
	}
	return past(loop, p, events, later)
}

// Shown is Find for what only tells of a run, or gives it up: with the plan that the run had,
// wherever that is now and whatever became of it. Only where .loop does not have it, it is
// read from its file.
func Shown(loop, path, id string) (*Past, error) {
	events, last, later, err := find(loop, id)
	if err != nil {
		return nil, err
	}
	p, err := last.shown(loop, path)
	if err != nil {
		return nil, err
	}
	return past(loop, p, events, later)
}

func find(loop, id string) (events []scheduler.Event, last *Run, later bool, err error) {
	if events, err = Read(loop); err != nil {
		return nil, nil, false, err
	}
	if id != "" {
		if events, later = upTo(events, id); events == nil {
			return nil, nil, false, refuse.Usage("there is no run %s in %s; wavex runs lists them", id, loop)
		}
	}
	if last = Last(events); last != nil {
		return events, last, later, nil
	}
	if s, err := stage.Stand(events); err == nil && s != nil && !s.Planned {
		return nil, nil, false, refuse.Usage("there is no run in %s yet; the request %q is at the stage %s, %s spent; continue it with: wavex start", loop, s.Opened.Request, s.Stage, s.Spent.Spent())
	}
	return nil, nil, false, NoRun(loop)
}

// read gives the plan as it is now; path is where, "" for where the run had it.
func (r *Run) read(path string) (p *plan.Plan, err error) {
	if path == "" {
		if path, err = r.PlanHere(); err != nil {
			return nil, err
		}
	}
	return planfile.Again(path, r.Config.Run)
}

// shown gives the plan that the run had, where .loop has it, else as it is now.
func (r *Run) shown(loop, path string) (*plan.Plan, error) {
	p, err := shownPlan(loop, cmp.Or(path, r.Plan), r.Config.Run, r.Digest)
	switch {
	case err != nil && path == "":
		return r.read("") // which says more
	case err == nil && path != "":
		p.Path = path // as this command has it
	}
	return p, err
}

// shownPlan gives the plan with a digest that a run had: its outline, or the file, or, when
// there is none, the outline of another session.
func shownPlan(loop, path, run, digest string) (*plan.Plan, error) {
	kept := KeptPlan(loop, run)
	if kept != nil && kept.Digest == digest {
		return kept, nil
	}
	p, err := planfile.Again(path, run)
	if err != nil && kept != nil {
		return kept, nil
	}
	return p, err
}

func past(loop string, p *plan.Plan, events []scheduler.Event, later bool) (*Past, error) {
	s := scheduler.NewState(p)
	if err := s.Replay(events); err != nil {
		return nil, err
	}
	s.Config.Dir, s.Config.Loop = filepath.Dir(loop), loop // the project may have been moved since
	return &Past{Loop: loop, State: s, Events: events, Alive: !later && journal.Held(loop)}, nil
}

// Edited compares the plan that a run had with what it is now: what a resume makes of it. path
// is where the plan is, "" for where the run had it; gone tells that it is not there. The error
// says why there is no telling, as of a plan that has mistakes by now.
func (p *Past) Edited(path string) (e *scheduler.Edit, gone bool, err error) {
	last := Last(p.Events)
	if planfile.IsList(last.Plan) || last.Over() {
		return nil, false, nil
	}
	if path == "" {
		path = last.Plan
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	now, err := planfile.Again(path, last.Config.Run)
	if err != nil {
		return nil, false, err
	}
	was := p.State.Plan.Keys() // the run's own additions are behind the file's
	if n := len(now.Tasks); now.Digest == p.State.Plan.Digest && n <= len(was) && slices.Equal(now.Keys(), was[:n]) {
		return nil, false, nil
	}
	s := scheduler.NewState(now)
	if err := s.Replay(p.Events); err != nil {
		return nil, false, err
	}
	return scheduler.Edited(p.State, s), false, nil
}

// NoRun says that there is no run in a .loop directory, and where the next one upwards is: a
// run is looked for in one directory alone, since another one's is another run.
func NoRun(loop string) error {
	for dir := filepath.Dir(filepath.Dir(loop)); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".loop", journalName)); err == nil {
			return refuse.Usage("there is no run in %s, but there is one in %s: give the command there", loop, dir)
		}
		if dir == filepath.Dir(dir) {
			return refuse.Usage("there is no run in %s; start one with: wavex run PLAN", loop)
		}
	}
}

// upTo gives the events up to the end of the run with an id, and whether a later run
// follows it; nil when there is no such run.
func upTo(events []scheduler.Event, id string) (own []scheduler.Event, later bool) {
	found := false
	for n, e := range events {
		if b, ok := e.Body.(scheduler.RunStarted); ok {
			if found {
				return events[:n], true
			}
			found = b.Config.Run == id
		}
	}
	if !found {
		return nil, false
	}
	return events, false
}

// Of is the id of the run in a .loop directory that a task list is the plan of, "" when
// there is none, or for a plan that is no list. With unfinished only an unfinished run
// counts.
func Of(loop, path string, unfinished bool) string {
	if !planfile.IsList(path) {
		return ""
	}
	events, err := Read(loop)
	last := Last(events)
	switch {
	case err != nil || last == nil || !planfile.Same(last.Plan, path): // said where it is read again
		return ""
	case unfinished && last.Over():
		return ""
	}
	return last.Config.Run
}
