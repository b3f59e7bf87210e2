package review

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"wavex/internal/check"
	"wavex/internal/filetree"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/runner"
	"wavex/scheduler"
)

// This file makes the control of criteria: their checks run once more in a copy of the project in which the files that
// no task declares are as before the run.

// taskWork holds the files that a task declared and changed, as paths of the project.
type taskWork struct {
	task                       string
	began                      int64 // scheduler.Task.Began
	declared, changed, surplus []string
	isCommand                  bool // its changes are not known
}

// workInOrder returns the work of the tasks in the order in which they began.
func workInOrder(s *scheduler.State) (work []taskWork) {
	for i := range s.Tasks {
		p, last := &s.Plan.Tasks[i], cmp.Or(s.Tasks[i].Last, &runner.Result{})
		in := func(files []string) (out []string) {
			for _, file := range files {
				out = append(out, path.Join(p.SubDir(), file))
			}
			return out
		}
		work = append(work, taskWork{p.ID, s.Tasks[i].Began, p.Writes(), in(last.Changed), in(last.Surplus),
			p.Command != "" && last.Outcome != ""})
	}
	slices.SortFunc(work, func(a, b taskWork) int { return cmp.Compare(a.began, b.began) })
	return work
}

// changes are the files that a run changed, and the state that the controls of its criteria share.
type changes struct {
	before  filetree.Tree // the states from before the first task that changed a file
	all     []string      // nil: they are not known
	surplus []string      // those that no task declares
	doubt   string        // why their states are not known
	left    time.Duration // for the search among undeclared files, of all criteria together
	known   map[caseKey]caseControl
}

// caseKey is a check and its directory; criteria may have the same. caseControl is what its control found.
type (
	caseKey struct {
		check plan.Check
		dir   string
	}
	caseControl struct {
		rests []string
		doubt string
	}
)

func (h *Coordinator) changes(work []taskWork) (c changes) {
	c.before, c.left, c.known = filetree.Tree{}, searchTime, map[caseKey]caseControl{}
	areKnown := true
	for _, w := range work {
		files := slices.Concat(w.surplus, w.changed)
		if len(files) == 0 || w.isCommand {
			areKnown = areKnown && !w.isCommand
			continue
		}
		tree := runner.FirstTree(h.opts.Config.Loop.Task(h.opts.Config.Run, w.task, loop.Digests), h.store())
		if areKnown = areKnown && tree != nil; tree == nil && len(w.surplus) > 0 {
			c.doubt = "the files from before the tasks are not known"
		}
		for _, file := range files {
			if _, known := c.before[file]; known {
				continue
			}
			c.before[file] = tree[file]
			if len(w.declared) > 0 || runner.IsSuspect(file, tree[file] == "") {
				c.surplus = append(c.surplus, file)
			}
		}
	}
	c.surplus = slices.DeleteFunc(c.surplus, func(file string) bool {
		return slices.ContainsFunc(work, func(w taskWork) bool { return runner.Declares(w.declared, file) })
	})
	if areKnown {
		c.all = slices.Collect(maps.Keys(c.before))
	}
	return c
}

func (h *Coordinator) store() filetree.Store {
	c := h.opts.Config
	return filetree.Store{Dir: c.Loop.Run(c.Run, loop.Contents), Env: os.Environ()}
}

// searchTime bounds the search among undeclared files.
const searchTime = plan.DefaultTimeout / 3

// control stores on which undeclared changes it rests that a criterion holds now, and did not before the work. dir is
// the project.
func (h *Coordinator) control(ctx context.Context, dir string, it *criterionCase, c *changes) {
	if len(c.surplus) == 0 || !it.Met || it.held || it.check.Run == "" {
		return
	}
	key := caseKey{*it.check, it.dir}
	if found, known := c.known[key]; known {
		it.Rests, it.Doubt = found.rests, found.doubt
		return
	}
	began := time.Now()
	it.Rests, it.Doubt = runner.Rests(c.surplus, c.all, c.left, func(files []string) (ok bool, err error) {
		if c.doubt != "" {
			return false, errors.New(c.doubt)
		}
		back := filetree.Tree{}
		for _, file := range files {
			back[file] = c.before[file]
		}
		err = h.store().InCopy(ctx, "", dir, back, func(project string) error {
			place := h.criteriaPlace(filepath.Join(project, filepath.FromSlash(it.dir)), project, it.Round)
			place.Once = true
			seen, err := place.Run(ctx, []plan.Check{*it.check})
			ok = check.Passed(seen)
			return err
		})
		return ok, err
	})
	c.left = max(0, c.left-time.Since(began))
	c.known[key] = caseControl{it.Rests, it.Doubt}
}
