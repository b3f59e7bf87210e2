package review

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"wavex/internal/check"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/scheduler"
)

// This file repeats checks of completed tasks. Package scheduler decides which ones, and what
// follows.

// recheck is a check of a completed task.
type recheck struct {
	task  *plan.Task
	check plan.Check
}

// dueRechecks returns the checks that a verification requests, in its order.
func dueRechecks(s *scheduler.State, e event.CriteriaStarted) []recheck {
	out := make([]recheck, len(e.Rechecks))
	for k, r := range e.Rechecks {
		if i, ok := s.Index(r.Tasks[0]); ok && r.N <= len(s.Plan.Tasks[i].Verify) {
			t := &s.Plan.Tasks[i]
			out[k] = recheck{t, t.Verify[r.N-1]}
		}
	}
	return out
}

// rechecks are the repeated checks of a verification.
type rechecks struct {
	*Coordinator
	dir   string // with the integrated work
	round int
	known *check.Memory
	more  func() bool // called before each run of a check
}

// repeat makes check k after so many red runs, if its result is not known.
func (h *rechecks) repeat(ctx context.Context, k int, r recheck, slot, reds int) scheduler.RecheckResult {
	dir := r.task.WorkDir(h.dir)
	files := dir
	if strings.Contains(r.check.Run, "WAVEX_") {
		files += " " + r.task.ID // another task may have another result
	}
	skipped := false // it was not made
	e := h.known.Of(files, r.check).After(reds, func() (check.Evidence, bool) {
		if skipped = !h.more(); skipped {
			return check.Evidence{}, false
		}
		env, release := h.opts.Workspace.SlotEnv(slot)
		defer release()
		env["WAVEX_TASK"] = r.task.ID
		at := h.opts.Workspace.Place(dir, h.dir, fmt.Sprintf("recheck-%d/%d", h.round, k+1), env)
		at.Once = true
		got, err := at.Run(ctx, []plan.Check{r.check})
		skipped = err != nil
		return got[0], err == nil
	})
	return scheduler.RecheckResult{Skipped: skipped, Passed: e.Passed, Flaky: e.Flaky, Check: e.Check,
		ExitCode: e.ExitCode, Duration: e.Duration, Reason: e.Reason, Output: e.Output}
}

// run runs the checks in parallel, as attempts do, except for tasks that must run alone. It repeats a failed check
// alone, since checks of tasks that never ran together may disturb each other.
func (h *rechecks) run(ctx context.Context, list []recheck) []scheduler.RecheckResult {
	out := make([]scheduler.RecheckResult, len(list))
	var alone []int
	wide := max(1, h.opts.Config.Parallel)
	free := make(chan int, wide)
	for slot := range wide {
		free <- slot
	}
	var side errgroup.Group
	side.SetLimit(wide)
	for k, r := range list {
		switch {
		case r.task == nil: // it is not in the plan any more
			out[k].Skipped = true
		case len(r.task.Exclusive) > 0:
			alone = append(alone, k)
		default:
			side.Go(func() error {
				slot := <-free
				defer func() { free <- slot }()
				out[k] = h.repeat(ctx, k, r, slot, 1)
				return nil
			})
		}
	}
	_ = side.Wait() // no error is possible
	for _, k := range alone {
		out[k] = h.repeat(ctx, k, list[k], 0, 1)
	}
	for k, r := range out {
		if !r.Skipped && !r.Passed {
			out[k] = h.repeat(ctx, k, list[k], 0, 2)
		}
	}
	return out
}
