package review

import (
	"context"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"

	"wavex/internal/check"
	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/proc"
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

// runRechecks runs the checks in parallel, as attempts do, except for tasks that must run alone. It
// repeats a failed check alone, since checks of tasks that never ran together may disturb each
// other. It calls more before each check. known has the evidence that exists already, by check and
// directory.
func (h *Coordinator) runRechecks(ctx context.Context, dir string, round int, list []recheck,
	known map[checkKey]check.Evidence, more func() bool) []scheduler.RecheckResult {
	out := make([]scheduler.RecheckResult, len(list))
	runOne := func(k, slot, nth int) {
		t := list[k].task
		if !more() {
			out[k].Skipped = true
			return
		}
		env, release := h.opts.Workspace.SlotEnv(slot)
		defer release()
		vars := maps.Clone(env)
		vars[proc.RunVar], vars["WAVEX_TASK"] = h.opts.Config.Run, t.ID
		vars[proc.AttemptVar] = fmt.Sprintf("%s/recheck-%d/%d.%d", h.opts.Config.Run, round, k+1,
			nth) // a mark of its own, for the sweep of its processes
		got, err := check.Run(ctx, h.place(t.WorkDir(dir), dir, vars), []plan.Check{list[k].check})
		out[k] = recheckResult(got[0])
		out[k].Skipped = err != nil
		out[k].Flaky = nth > 1 && got[0].Passed
	}
	var alone []int
	wide := max(1, h.opts.Config.Parallel)
	free := make(chan int, wide)
	for slot := range wide {
		free <- slot
	}
	var side errgroup.Group
	side.SetLimit(wide)
	for k, r := range list {
		e, seen := check.Evidence{}, false
		if r.task != nil {
			e, seen = known[checkKey{r.task.WorkDir(dir), r.check}]
		}
		switch {
		case r.task == nil: // it is not in the plan any more
			out[k].Skipped = true
		case seen:
			out[k] = recheckResult(e)
		case len(r.task.Exclusive) > 0:
			alone = append(alone, k)
		default:
			side.Go(func() error {
				slot := <-free
				defer func() { free <- slot }()
				runOne(k, slot, 1)
				return nil
			})
		}
	}
	_ = side.Wait() // no error is possible
	for _, k := range alone {
		runOne(k, 0, 1)
	}
	for k := range out {
		if r := out[k]; !r.Skipped && !r.Passed {
			runOne(k, 0, 2)
		}
	}
	return out
}

func recheckResult(e check.Evidence) scheduler.RecheckResult {
	return scheduler.RecheckResult{Passed: e.Passed, Check: e.Check, ExitCode: e.ExitCode, Duration: e.Duration,
		Reason: e.Reason,
		Output: e.Output}
}
