package scheduler

import (
	"cmp"
	"fmt"
	"slices"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/runner"
)

// This file tells what shows each task and criterion. It is pure: it looks only at recorded facts.

// TaskEvidence returns a row for each task, in plan order. Rows of tasks that are not completed mean nothing.
func (s *State) TaskEvidence() []event.Evidence {
	return s.evidence(s.isReviewed())[len(s.Assessment.Criteria):]
}

// evidence returns a row for each criterion and then for each task, under the assumption that a thorough review of the
// work has passed, or has not.
func (s *State) evidence(reviewed bool) []event.Evidence {
	rows := make([]event.Evidence, 0, len(s.Assessment.Criteria)+len(s.Tasks))
	for i := range s.Assessment.Criteria {
		rows = append(rows, s.accept(s.criterionEvidence(&s.Assessment.Criteria[i], reviewed)))
	}
	e := taskEvidence{s: s, reviewed: reviewed, own: map[string][]event.Evidence{}, origin: map[string]string{}}
	for _, r := range rows {
		e.own[r.Task] = append(e.own[r.Task], r)
	}
	for _, a := range s.Assessment.Added {
		e.origin[a.ID] = a.Origin
	}
	e.edited = slices.ContainsFunc(s.Tasks, func(t Task) bool { return t.Edited })
	for i := range s.Tasks {
		if s.IsAllowed(i) {
			r := event.Evidence{Task: s.Plan.Tasks[i].ID, Basis: event.Allowed, Kind: event.Assumption,
				Why: "it failed, and its group allows that"}
			if s.repairsBlocker(r.Task) {
				r.Why = "it failed to repair a blocker"
			}
			rows = append(rows, r)
			continue
		}
		rows = append(rows, s.accept(e.of(i)))
	}
	return rows
}

// accept marks a row without evidence as accepted if the user accepts assumptions.
func (s *State) accept(r event.Evidence) event.Evidence {
	if r.Basis == event.Unproven && r.Kind == event.Assumption && s.Config.AcceptAssumptions {
		r.Basis = event.Accepted
	}
	return r
}

// isReviewed reports whether a thorough review of the present work has passed.
func (s *State) isReviewed() bool {
	if s.earlier.EarlierWork != nil && !s.ranTasks() { // nothing is new
		return s.earlier.Review == event.ReviewThorough
	}
	last := s.Assessment.Thorough()
	return last != nil && last.Passed && last.Review.Nothing == "" && s.closing.reviewedAt == s.closing.workCount
}

func (s *State) criterionEvidence(c *event.Criterion, reviewed bool) event.Evidence {
	r := event.Evidence{Criterion: c.ID, Task: c.Task, Kind: c.Verification}
	switch {
	case s.IsAllowedTask(c.Task):
		r.Basis, r.Why = event.Allowed, "its task failed, and the group of the task allows that"
	case c.Verification == event.Assumption:
		r.Basis, r.Why = event.Unproven, "rests on assumption: "+c.Text
	case !c.Met:
		r.Basis, r.Why = event.Unproven, "is not met: "+c.Text
	case c.Check == "":
		r.Basis = event.Judged
	case c.Flaky:
		r.Basis, r.Why = event.Changed, "its check is flaky, it failed and passed on the same files: "+c.Text
	case s.HeldBefore(c):
		r.Basis = event.Kept
	case len(c.Rests) > 0 || c.Doubt != "":
		r.Basis, r.Why = event.Rests, restsOn(c.Rests, c.Doubt, "no task declares")
		if reviewed {
			r.Basis = event.Reviewed
		}
	default:
		r.Basis = event.Proven
	}
	return r
}

// HeldBefore reports whether a criterion that is met was met before the work too.
func (s *State) HeldBefore(c *event.Criterion) bool {
	return c.Met && !c.WasUnmet && !s.closing.unmeasured
}

// taskEvidence finds the evidence of tasks.
type taskEvidence struct {
	s        *State
	reviewed bool                        // a thorough review has passed
	edited   bool                        // a task changed files
	own      map[string][]event.Evidence // rows of criteria by task; "": of the plan
	origin   map[string]string           // of the tasks that the run added
}

func (e *taskEvidence) of(i int) event.Evidence {
	t, p := &e.s.Tasks[i], &e.s.Plan.Tasks[i]
	row := func(b event.Basis, kind, why string) event.Evidence {
		return event.Evidence{Task: p.ID, Basis: b, Kind: kind, Why: why}
	}
	kind := cmp.Or(checksKind(p.Verify), event.Observation)
	// A reviewer who was asked about it shows the rest.
	asked := func(seen bool, b event.Basis, why string) event.Evidence {
		if seen {
			b = event.Reviewed
		}
		return row(b, kind, why)
	}
	last := t.Last
	switch {
	case t.UpToDate():
		return earlierEvidence(t.Earlier)
	case p.Command != "":
		return row(event.Ran, event.ExecutionOutput, "")
	case last == nil:
		return row(event.Unproven, event.Assumption, "no attempt at it was made")
	case (len(last.Rests) > 0 || last.Doubt != "") && (t.Edited || t.failedBefore()):
		return asked(e.reviewed, event.Rests, restsOn(last.Rests, last.Doubt, "the task did not declare"))
	}
	empty, flaky := unclearChecks(last)
	if empty != "" {
		return asked(e.reviewed, event.Empty, "no test ran: "+empty)
	}
	seen := e.reviewed || e.s.isReviewedLightly(t.Wave)
	if flaky != "" {
		return asked(seen, event.Changed, "its check is flaky, it failed and passed on the same files: "+flaky)
	}
	if len(p.Verify) > 0 && t.failedBefore() && t.Edited {
		return row(event.Proven, kind, "")
	}
	if c := showing(e.own[p.ID]); c != nil {
		r := row(c.Basis, c.Kind, "")
		r.By = c.Criterion
		return r
	}
	switch c, origin := showing(e.own[""]), e.origin[p.ID]; {
	case origin == "review" || origin == "criteria": // the finder of the problem checks its repair
		return row(event.Reviewed, event.Observation, "")
	case t.Edited && c != nil:
		r := row(c.Basis, c.Kind, "")
		r.By = c.Criterion
		return r
	case t.Edited && last.Vacuous:
		return asked(seen, event.Kept, "its checks passed before the task too")
	case t.Edited && last.Unmeasured:
		return asked(seen, event.Changed, "its checks were not made before the task")
	case t.Edited:
		return asked(seen, event.Changed, "it changed files, and nobody looked at them")
	case e.reviewed, len(p.Verify) > 0 && t.failedBefore(), e.edited && len(p.Verify)+len(plan.Written(p.Files)) == 0:
		return asked(e.reviewed, event.Nothing, "nothing was changed")
	}
	return row(event.Unproven, event.Assumption, "nothing was changed")
}

// restsOn says on which undeclared changes the pass of the checks rests.
func restsOn(rests []string, doubt, which string) string {
	n := min(len(rests), 5)
	changes := "with changes to " + cmp.Or(event.ListTasks(rests[:n], len(rests)-n), "files") + " that " + which
	if doubt != "" {
		return "it may pass only " + changes + ": " + doubt
	}
	return "it passes only " + changes
}

// unclearChecks says why no test ran in a check of an attempt, and which check failed and passed on the same files.
func unclearChecks(r *runner.Result) (empty, flaky string) {
	for _, c := range r.Checks {
		empty = cmp.Or(empty, c.Empty)
		if c.Flaky {
			flaky = cmp.Or(flaky, c.Check)
		}
	}
	return empty, flaky
}

// failedBefore reports whether the checks are known to have failed before the work: before any attempt, also one with
// an older base than the last attempt, or at the end of an earlier attempt.
func (t *Task) failedBefore() bool {
	return t.redBefore || !t.Last.Vacuous && (!t.Last.Unmeasured || t.checksFailed)
}

// showing returns the strongest row that shows the work of a task, or nil. A criterion that held before shows no work.
func showing(criteria []event.Evidence) *event.Evidence {
	for _, b := range []event.Basis{event.Proven, event.Judged} {
		if k := slices.IndexFunc(criteria, func(r event.Evidence) bool { return r.Basis == b }); k >= 0 {
			return &criteria[k]
		}
	}
	return nil
}

func earlierEvidence(t *event.EarlierTask) event.Evidence {
	r := event.Evidence{Task: t.Task, Basis: cmp.Or(t.Basis, event.Proven), Kind: t.Evidence, By: t.Run}
	if r.Kind == event.Assumption {
		r.Basis, r.Why = event.Unproven, fmt.Sprintf("the run that completed it, %s, had no evidence either", t.Run)
	}
	return r
}

// checksKind returns the evidence kind of checks that passed; "" if there are none.
func checksKind(checks []plan.Check) (kind string) {
	for _, c := range checks {
		if c.Run != "" {
			return event.ExecutionOutput
		}
		kind = event.Observation
	}
	return kind
}

// isReviewedLightly reports whether a light review has looked at a wave and found no blocker.
func (s *State) isReviewedLightly(wave int) bool {
	r := s.Assessment.Light(wave)
	return r != nil && r.Passed && r.Review.Nothing == ""
}

// unproven returns what the evidence lacks for completion, in sentences, and the ids that are accepted without it.
func unproven(rows []event.Evidence) (against, accepted []string) {
	for _, r := range rows {
		switch {
		case r.Basis == event.Accepted:
			accepted = append(accepted, r.ID())
		case r.Basis != event.Unproven:
		case r.Criterion != "":
			against = append(against, fmt.Sprintf("criterion %s %s", r.Criterion, r.Why))
		default:
			against = append(against, fmt.Sprintf("nothing shows that task %s is done: %s", r.Task, r.Why))
		}
	}
	return against, accepted
}
