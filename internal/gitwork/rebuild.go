package gitwork

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"wavex/internal/safefile"
)

// This file makes the state of a run from the journal and the repository, if a failure of the machine has damaged the
// file of the state. It loses no work on record.

// Record has the facts of the journal about a run that exists.
type Record struct {
	Began time.Time
	Base  string // the commit that the run began on; "": it has no worktrees
	// Work has the commits of the verified and completed tasks, by task; "" without changes.
	Work         map[string]string
	Integrations []RecordedIntegration // in their order
	Delivering   bool                  // a delivery began and has not ended
	Delivered    string                // the commit to which deliveries set the branch of the user last; "": none
}

// since returns the time from which on files may be those of the run. File times lag behind.
func (r *Record) since() time.Time { return r.Began.Add(-2 * time.Second) }

// RecordedIntegration is an integration on record.
type RecordedIntegration struct {
	Wave    int
	Commit  string
	Commits map[string]string // as Integration.Commits
	Done    []VerifiedTask
}

// recordedKey begins the keys of integrations that are made again from the record.
const recordedKey = "recorded-"

// readOrRebuildState reads the state, or makes it again if its file is damaged or gone. It returns nil for a new run.
func (m *Manager) readOrRebuildState() (*savedState, error) {
	old, err := readState(m.opts.Loop.Worktree(m.opts.Run, "json"))
	rec := m.opts.Record
	if rec == nil || old != nil || err != nil && !errors.Is(err, errDamagedState) {
		return old, err
	}
	s := &savedState{Version: 1, Run: m.opts.Run, Project: m.opts.Project, Mode: m.opts.Mode, Why: "as before",
		Base: rec.Base}
	if s.Mode != Worktree {
		s.Mode, s.Base = Shared, ""
		return s, nil
	}
	from := rec.Base
	for _, in := range rec.Integrations {
		commit := in.Commit
		if commit == "" {
			commit = from
		}
		e := savedIntegration{Key: recordedKey + strconv.Itoa(len(s.Waves)+1), Wave: in.Wave, From: from, Checks: in.Done,
			Tasks: map[string]string{}, Result: Integration{Commit: commit, Commits: in.Commits}}
		for _, d := range in.Done {
			e.Tasks[d.Task] = rec.Work[d.Task]
			e.Result.Integrated = append(e.Result.Integrated, d.Task)
		}
		s.Waves = append(s.Waves, e)
		from = commit
	}
	m.repaired.rebuilt = true
	m.warn(fmt.Errorf("%s was damaged or gone, and is made again from the journal", m.opts.Loop.Worktree(m.opts.Run,
		"json")))
	return s, nil
}

// findTrees completes a state that is made again: it finds the worktrees, their tasks, and the work that waits for its
// integration.
func (m *Manager) findTrees(ctx context.Context) error {
	m.state.Branch = symbolicRef(filepath.Join(m.checkout.dir, "HEAD"))
	if head, err := m.g.resolve(ctx, "HEAD"); err != nil {
		return err
	} else if m.opts.Record.Delivering && head != "" && head != m.tip() {
		m.state.Forward = &forward{From: head, To: m.tip(), Began: m.opts.CutOff}
	}
	tasks, integrated := map[string]string{}, m.IntegratedTasks()
	for _, id := range m.opts.Tasks {
		tasks[taskBranch(m.opts.Run, id)] = id
	}
	for id := range m.opts.Record.Work {
		tasks[taskBranch(m.opts.Run, id)] = id
	}
	dirs, err := listTrees(m.opts.Loop, m.opts.Run+".*")
	if err != nil {
		return err
	}
	for _, path := range dirs {
		id, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(path), "."))
		if info, lerr := os.Lstat(path); err != nil || lerr != nil || !info.IsDir() {
			continue
		}
		t := &tree{ID: id, Admin: m.ownAdminDir(path), Used: true}
		branch := symbolicRef(filepath.Join(t.Admin, "HEAD"))
		if t.Admin != "" && branch != "" {
			t.Task = tasks[branch]
			if t.Base, err = m.g.mergeBase(ctx, branch, m.tip()); err != nil {
				return err
			}
		}
		if t.Admin != "" && t.Base == "" && branch == "" { // it is free
			t.Base, t.Used = m.state.Base, false
		}
		if t.Base == "" { // its task or the commit that it began on is not known
			if err := m.leaveTree(path); err != nil {
				return err
			}
			continue
		}
		if done, verified := m.opts.Record.Work[t.Task]; verified && t.Task != "" {
			if t.Done = done; done == "" {
				t.Done = noWork
			}
		}
		if integrated[t.Task] {
			t.Task, t.Done = "", ""
		}
		m.state.Trees = append(m.state.Trees, t)
	}
	return m.parkRecorded(ctx, integrated)
}

// leaveTree moves the files of a worktree whose task is not known to a place where no other worktree is made.
func (m *Manager) leaveTree(path string) error {
	to := unusedName(path + ".left")
	m.warn(fmt.Errorf("it is not known which task worked in %s: its files are in %s", path, to))
	return safefile.Rename(path, to)
}

// parkRecorded makes the records of the tasks that wait for their integration and have no worktree.
func (m *Manager) parkRecorded(ctx context.Context, integrated map[string]bool) error {
	for task, commit := range m.opts.Record.Work {
		if integrated[task] || m.lastTree(task) != nil {
			continue
		}
		t := &tree{Task: task, Used: true, Base: m.tip(), Done: noWork, Commit: m.tip()}
		if commit != "" {
			parent, err := m.g.resolve(ctx, commit+"^")
			if err != nil {
				return err
			}
			t.Base, t.Done, t.Commit = parent, commit, commit
		}
		m.state.Parked = append(m.state.Parked, t)
	}
	return nil
}

// mergeBase returns the commit in which the histories of two others part, or "".
func (g git) mergeBase(ctx context.Context, a, b string) (string, error) {
	id, err := g.output(ctx, "merge-base", a, b)
	if exitCode(err) > 0 {
		return "", nil
	}
	return id, err
}
