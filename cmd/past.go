package cmd

import (
	"io/fs"
	"os"
	"path/filepath"

	"wavex/internal/journal"
	"wavex/internal/stage"
	"wavex/internal/ui"
	"wavex/scheduler"
)

// past is a run as its journal tells it, read from outside: by commands that change
// nothing and may be called while the run is under way.
type past struct {
	loop   string // the .loop directory
	state  *scheduler.State
	events []scheduler.Event // up to the end of this run
	alive  bool              // somebody works at it
}

// files is the folder of the run's tasks, with the files of their attempts; nil where
// there is none.
func (p *past) files() fs.FS {
	dir := filepath.Join(p.loop, "runs", p.state.Config.Run, "tasks")
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil
	}
	return os.DirFS(dir)
}

// standing is the run for the box of wavex status.
func (p *past) standing() ui.Standing {
	st := ui.Standing{State: p.state, Alive: p.alive}
	for _, e := range p.events {
		switch b := e.Body.(type) {
		case scheduler.RunStarted:
			st.Delivered = nil
		case scheduler.DeliveryEnded:
			st.Delivered = &b
		}
	}
	return st
}

// pastRun finds a run and gives the state that its journal leads to. args is nothing
// (the last run in .loop of the current directory), a plan file (the last run in its
// project directory), or the id of a run in .loop of the current directory.
func pastRun(args []string) (*past, error) {
	id := ""
	if len(args) == 1 {
		if _, err := os.Stat(args[0]); err != nil && isRunID(args[0]) {
			id, args = args[0], nil
		}
	}
	loop, path, err := loopOf(args)
	if err != nil {
		return nil, err
	}
	return readPast(loop, path, id)
}

// loopOf finds the .loop directory: in the current directory, or, where args names a
// plan file, in its project directory.
func loopOf(args []string) (loop, plan string, err error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", "", err
	}
	if len(args) == 0 {
		return filepath.Join(dir, ".loop"), "", nil
	}
	p, diags, err := loadPlanOf(args[0], runOf(args[0], false))
	if err != nil {
		return "", "", err
	}
	if p == nil {
		return "", "", &planError{diags}
	}
	if dir, err = projectDir(p); err != nil {
		return "", "", err
	}
	return filepath.Join(dir, ".loop"), args[0], nil
}

// readPast reads the run with an id, or the last one, from a .loop directory. path
// names the plan; "" takes the one the run was started with.
func readPast(loop, path, id string) (*past, error) {
	events, err := readEvents(loop)
	if err != nil {
		return nil, err
	}
	later := false
	if id != "" {
		if events, later = upTo(events, id); events == nil {
			return nil, usage("there is no run %s in %s; wavex runs lists them", id, loop)
		}
	}
	last := lastRun(events)
	if last == nil {
		if s, err := stage.Stand(events); err == nil && s != nil && !s.Planned {
			return nil, usage("there is no run in %s yet; the request %q is at the stage %s, %s spent; continue it with: wavex start", loop, s.Opened.Request, s.Stage, s.Spent.Spent())
		}
		return nil, usage("there is no run in %s; start one with: wavex run PLAN", loop)
	}
	if path == "" {
		path = last.plan
	}
	p, diags, err := loadPlanOf(path, last.config.Run)
	if err != nil {
		return nil, err
	}
	if p == nil {
		return nil, &planError{diags}
	}
	s := scheduler.NewState(p)
	if err := s.Replay(events); err != nil {
		return nil, err
	}
	s.Config.Dir, s.Config.Loop = filepath.Dir(loop), loop // the project may have been moved since
	return &past{loop: loop, state: s, events: events, alive: !later && journal.Free(loop) != nil}, nil
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
