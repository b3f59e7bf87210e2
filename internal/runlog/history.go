package runlog

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"wavex/internal/event"
	"wavex/internal/journal"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/report"
	"wavex/internal/usererr"
	"wavex/scheduler"
)

// Run describes the newest run of a journal, as far as the next step depends on it.
type Run struct {
	Config event.Config
	Plan   string // its path
	Digest string // digest of the plan
	Ended  *event.RunEnded
}

// Final reports whether a run cannot be resumed, because it is complete or was cancelled.
func (r *Run) Final() bool {
	return r.Ended != nil && (r.Complete() || r.Ended.Status == event.RunCancelled)
}

// Complete reports whether the run completed all tasks.
func (r *Run) Complete() bool { return r.Ended != nil && r.Ended.Status == event.RunComplete }

// PlanPath returns the path of the run's plan, or an error if the file does not exist any more.
func (r *Run) PlanPath() (string, error) {
	if _, err := os.Stat(r.Plan); errors.Is(err, fs.ErrNotExist) {
		return "", usererr.Usage("the plan of run %s is not there any more: %s; put it back, or name the file that it is now",
			r.Config.Run, r.Plan)
	}
	return r.Plan, nil
}

// In returns the run with the plan that belongs to a .loop directory. If the project was copied or moved
// together with its .loop, that is the plan of the same name in the directory of dir.
func (r *Run) In(dir loop.Dir) *Run {
	rel, err := filepath.Rel(r.Config.Dir, r.Plan)
	if err != nil || !filepath.IsLocal(rel) {
		return r
	}
	moved := *r
	moved.Plan = filepath.Join(filepath.Dir(string(dir)), rel)
	if _, err := os.Stat(moved.Plan); err != nil {
		return r
	}
	return &moved
}

// Last returns the newest run in a journal, or nil if there is none. If the beginning of the
// journal is missing, Last uses a Resumed event instead.
func Last(events []event.Event) *Run {
	var last *Run
	for _, e := range events {
		if b := e.Beginning(); b != nil {
			last = &Run{Config: b.Config, Plan: b.Plan, Digest: b.Digest}
		} else if end := e.End(); last != nil && (end != nil || e.Reopens()) { // the next end may be missing
			last.Ended = end
		}
	}
	return last
}

// History is a run as its journal describes it. Commands read it; they change nothing, and may do so
// while the run is under way.
type History struct {
	Loop   loop.Dir // the .loop directory
	State  *scheduler.State
	Events []event.Event // up to the end of this run
	Alive  bool          // a process works on it
	Later  bool          // another run follows in the journal
}

// Files returns the files of the run's attempts, by task. There may be none.
func (p *History) Files() fs.FS { return Files(p.Loop, p.State.Config.Run) }

// replay makes the state anew from the events, with a plan.
func (p *History) replay(of *plan.Plan) error {
	p.State = scheduler.NewState(of)
	if err := p.State.Replay(p.Events); err != nil {
		return err
	}
	p.State.Config.Dir, p.State.Config.Loop = filepath.Dir(string(p.Loop)), p.Loop // the project may have moved since
	return nil
}

// Load reads the run with an id, or with "" the last one, from a .loop directory, with the current
// text of its plan. path names the plan; "" stands for the one that the run was started with.
func Load(dir loop.Dir, path, id string) (*History, error) {
	return load(dir, id, func(r *Run) (*plan.Plan, error) { return r.CurrentPlan(path) })
}

// LoadForDisplay is like Load for commands that only show a run or give it up: it uses the plan that the run
// had, from the outline in .loop. If there is no outline, it reads the plan's file.
func LoadForDisplay(dir loop.Dir, path, id string) (*History, error) {
	return load(dir, id, func(r *Run) (*plan.Plan, error) { return r.displayPlan(dir, path) })
}

func load(dir loop.Dir, id string, planOf func(*Run) (*plan.Plan, error)) (*History, error) {
	h := &History{Loop: dir}
	last, err := h.find(id)
	if err != nil {
		return nil, err
	}
	p, err := planOf(last)
	if err != nil {
		return nil, err
	}
	h.Alive = !h.Later && journal.Locked(dir)
	if err := h.replay(p); err != nil {
		return nil, err
	}
	return h, nil
}

// find reads the events up to the end of the run with an id, or with "" of the last one, and returns the run.
func (p *History) find(id string) (_ *Run, err error) {
	if p.Events, err = Read(p.Loop); err != nil {
		return nil, err
	}
	if id != "" {
		if p.Events, p.Later = UpTo(p.Events, id); p.Events == nil {
			return nil, usererr.Usage("there is no run %s in %s; wavex runs lists them", id, p.Loop)
		}
	}
	if last := Last(p.Events); last != nil {
		return last.In(p.Loop), nil
	}
	if open, spent := report.OpenRequest(p.Events); open != nil {
		return nil, usererr.Usage("there is no run in %s yet; the request %q has no plan yet, %s spent; "+
			"continue it with: wavex start", p.Loop, open.Request, spent.Spent())
	}
	return nil, NoRunError(p.Loop)
}

// CurrentPlan returns the current plan in the file path, or with "" in the run's own file.
func (r *Run) CurrentPlan(path string) (p *plan.Plan, err error) {
	if path == "" {
		if path, err = r.PlanPath(); err != nil {
			return nil, err
		}
	}
	return planfile.Reread(path, r.Config.Run, plan.RunParams(r.Config.Params, r.Config.Lists))
}

// displayPlan returns the plan that a run had, if .loop has it, else the current one. If that cannot be read, it
// returns the outline of another session. The plan has the path that this command uses.
func (r *Run) displayPlan(dir loop.Dir, path string) (*plan.Plan, error) {
	kept := SavedPlan(dir, r.Config.Run)
	if kept == nil || kept.Digest != r.Digest {
		if p, err := r.CurrentPlan(path); err == nil || kept == nil {
			return p, err
		}
	}
	kept.Path = cmp.Or(path, kept.Path)
	return kept, nil
}

// PlanEdit compares the plan that a run had with the current one, as a resume does. path is the
// plan's file, "" for the run's own; gone reports that the file does not exist. It returns an error
// if the comparison is not possible, for example because the plan is invalid now.
func (p *History) PlanEdit(path string) (e *event.Edit, gone bool, err error) {
	last := Last(p.Events).In(p.Loop)
	if planfile.IsList(last.Plan) || last.Final() {
		return nil, false, nil
	}
	path = cmp.Or(path, last.Plan)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	now, err := planfile.Reread(path, last.Config.Run, plan.RunParams(last.Config.Params, last.Config.Lists))
	if err != nil {
		return nil, false, err
	}
	was := p.State.Plan.Keys() // the tasks that the run added follow those of the file
	if n := len(now.Tasks); now.Digest == p.State.Plan.Digest && n <= len(was) && slices.Equal(now.Keys(), was[:n]) {
		return nil, false, nil
	}
	s := scheduler.NewState(now)
	if err := s.Replay(p.Events); err != nil {
		return nil, false, err
	}
	return scheduler.ComparePlans(p.State, s), false, nil
}

// NoRunError returns the error that there is no run in a .loop directory. It names the next parent
// directory that has one; commands do not use that one by themselves, since it is another run.
func NoRunError(dir loop.Dir) error {
	for parent := filepath.Dir(filepath.Dir(string(dir))); ; parent = filepath.Dir(parent) {
		if _, err := os.Stat(loop.In(parent).Path(loop.Journal)); err == nil {
			return usererr.Usage("there is no run in %s, but there is one in %s: give the command there", dir, parent)
		}
		if parent == filepath.Dir(parent) {
			return usererr.Usage("there is no run in %s; start one with: wavex run PLAN, or name the plan of "+
				"a run elsewhere", dir)
		}
	}
}

// UpTo returns the events up to the end of the run with an id, and whether a later run follows. It
// returns nil if there is no such run.
func UpTo(events []event.Event, id string) (own []event.Event, later bool) {
	found := false
	for n, e := range events {
		if e.Begins() {
			if found {
				return events[:n], true
			}
			found = e.RunID() == id
		}
	}
	if !found {
		return nil, false
	}
	return events, false
}

// RunOfList returns the id of the run in a .loop directory whose plan is a task list. It returns "" if
// there is none, if path is not a list, or, with unfinished, if the run is over.
func RunOfList(dir loop.Dir, path string, unfinished bool) string {
	if !planfile.IsList(path) {
		return ""
	}
	events, err := Read(dir)
	last := Last(events)
	switch {
	case err != nil || last == nil || !planfile.SamePath(last.Plan, path): // the next read reports an error
		return ""
	case unfinished && last.Final():
		return ""
	}
	return last.Config.Run
}
