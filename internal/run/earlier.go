package run

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"wavex/internal/agent"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/usererr"
	"wavex/internal/workspace"
	"wavex/runner"
	"wavex/scheduler"
)

// This file finds the work of an earlier run that a new run of the same plan need not do again. It
// compares content keys and commits; the run itself looks at files and checks.

// earlierWork returns the work of an earlier run of the plan that may be up to date, or nil. Work from worktrees
// counts only if the project's checkout has it, or if it was pushed and follows HEAD: base is then the commit
// on which the new run begins, else "". If a complete run is delivered in neither way, the error is a
// *usererr.BlockedError, because a new run would do everything a second time.
func (r *Session) earlierWork(ctx context.Context, events []event.Event) (work *event.EarlierWork, base string,
	err error) {
	if planfile.IsList(r.plan.Path) {
		return nil, "", nil // its user reopens tasks to have them done again
	}
	all := events
	events, from := r.newestRun(all)
	if from == nil || from.Config.MadeUp {
		return nil, "", nil
	}
	s := scheduler.NewState(r.plan)
	if err := s.Replay(events); err != nil {
		return nil, "", err
	}
	work = completedWork(s, r.plan, rehearsedTasks(events), r.opts.Agent.IsRehearsal(), r.config.Loop.Path(loop.Outputs))
	if work == nil || from.Config.Isolation != event.Isolated {
		return work, "", nil
	}
	commit := cmp.Or(s.Figures.Integrated, from.Config.Base)
	has, err := workspace.Contains(ctx, r.config.Dir, commit)
	switch {
	case err != nil:
		return nil, "", err
	case has:
		return work, "", nil
	case !from.Complete(): // it was given up
		return nil, "", nil
	}
	d := lastDelivery(all, commit)
	follows := false
	if d.How == "push" && r.config.Isolation == event.Isolated {
		if follows, err = workspace.Follows(ctx, r.config.Dir, commit); err != nil {
			return nil, "", err
		}
	}
	switch {
	case follows:
	case from.Config.Agent == agent.Rehearsal && d.How != "push": // it costs nothing to do it again
		return nil, "", nil
	default:
		return nil, "", usererr.Blocked(fmt.Errorf("run %s has completed %d of %d tasks of this plan, and %s; "+
			"or run everything again with: wavex run %s --fresh", from.Config.Run, len(work.Tasks), len(r.plan.Tasks),
			wayToWork(d), plan.ShellQuote(r.plan.Path)))
	}
	r.notice(fmt.Sprintf("HEAD does not have the work of run %s: this run begins on it (%s)", from.Config.Run, d.Ref))
	return work, commit, nil
}

// wayToWork says why HEAD does not have the work of a complete run, and how to bring it there.
func wayToWork(d event.DeliveryEnded) string {
	if d.How == "push" {
		return "HEAD does not have its work; bring it there with: " +
			strings.Replace(d.Command, "--ff-only", "--no-rebase", 1)
	}
	return "HEAD does not have its work; bring it there with: wavex deliver"
}

// lastDelivery returns the last delivery of a commit; it is empty if there was none. A pushed commit stays pushed when
// it is delivered in another way as well.
func lastDelivery(events []event.Event, commit string) (d event.DeliveryEnded) {
	for _, r := range report.RunsOf(events) {
		for _, b := range r.Deliveries {
			if b.Commit == commit && (d.How != "push" || b.How == "push") {
				d = b
			}
		}
	}
	return d
}

// newestRun returns the newest run of the plan in the journal, and its events; nil if there is none.
func (r *Session) newestRun(events []event.Event) ([]event.Event, *runlog.Run) {
	for _, one := range slices.Backward(report.RunsOf(events)) {
		run := runlog.Last(one.Events)
		if run != nil && (run.Digest == r.plan.Digest ||
			planfile.SamePath(run.In(r.config.Loop).Plan, r.plan.AbsPath())) {
			return one.Events, run
		}
	}
	return nil, nil
}

// completedWork returns the tasks of a plan that a run completed and whose content keys still hold, or nil. s is
// that run with the plan, and outputs the directory of large outputs. Only a rehearsal may use the work of a rehearsal.
func completedWork(s *scheduler.State, planned *plan.Plan, rehearsed map[string]bool,
	rehearsal bool, outputs string) *event.EarlierWork {
	work := &event.EarlierWork{Review: event.ReviewOff}
	if s.Assessment.Gate != nil {
		work.Review = cmp.Or(s.Assessment.Gate.Review, work.Review)
	}
	writers, evidence := lastWriters(s), s.TaskEvidence()
	all := 0
	for i := range s.Tasks {
		t, p := &s.Tasks[i], &s.Plan.Tasks[i]
		if i >= len(planned.Tasks) && p.Group == "" {
			continue // the run added it to mend something
		}
		all++
		one := event.EarlierTask{Task: p.ID, Key: t.Key, Run: s.Config.Run, Rehearsed: rehearsed[p.ID]}
		switch {
		case t.Earlier != nil && (t.Status == event.Completed || t.Status == event.Pending):
			one = *t.Earlier
		case t.Status == event.Completed && s.Assessment.Gate == nil && evidence[i].Basis == event.Unproven:
			continue // its evidence may have come later
		case t.Status == event.Completed:
			one.Evidence, one.Basis, one.Output = evidence[i].Kind, evidence[i].Basis, s.Output(i)
			if t.Last != nil {
				one.Digests = maps.Clone(t.Last.Digests)
				maps.DeleteFunc(one.Digests, func(file, _ string) bool { return writers[path.Join(p.SubDir(), file)] != i })
			}
		default:
			continue
		}
		if p.Output != nil && !hasOutput(one.Output, outputs) {
			continue
		}
		if rehearsal || !one.Rehearsed {
			work.Tasks = append(work.Tasks, one)
		}
	}
	switch {
	case len(work.Tasks) == 0:
		return nil
	case len(work.Tasks) == all && (rehearsal || s.Config.Agent != agent.Rehearsal):
		work.Criteria = judgedCriteria(s)
	}
	return work
}

// hasOutput reports whether an output can be read.
func hasOutput(o *runner.Output, dir string) bool {
	if o == nil {
		return false
	}
	_, err := o.Read(dir)
	return err == nil
}

// rehearsedTasks returns the tasks whose last attempt was made in a rehearsal.
func rehearsedTasks(events []event.Event) map[string]bool {
	rehearsed := map[string]bool{}
	for task, list := range report.LastRun(events).Attempts {
		for _, a := range list {
			if a.End != nil {
				rehearsed[task] = a.Agent == agent.Rehearsal
			}
		}
	}
	return rehearsed
}

// lastWriters returns the completed task that ended last of those that declare a file, by path in the project.
func lastWriters(s *scheduler.State) map[string]int {
	last := map[string]int{}
	for i := range s.Tasks {
		if s.Tasks[i].Status != event.Completed {
			continue
		}
		for _, f := range s.Plan.Tasks[i].Files {
			file := path.Join(s.Plan.Tasks[i].SubDir(), f.Path)
			if j, known := last[file]; f.Writes() && (!known || s.Tasks[j].ChangedAt <= s.Tasks[i].ChangedAt) {
				last[file] = i
			}
		}
	}
	return last
}

// judgedCriteria returns the met criteria that have no check.
func judgedCriteria(s *scheduler.State) (out []event.Criterion) {
	for _, c := range s.Assessment.Criteria {
		if cond := s.Condition(c.ID); c.Proven() && cond != nil && cond.Check == nil {
			out = append(out, c)
		}
	}
	return out
}
