package scheduler

import (
	"fmt"
	"slices"

	"wavex/internal/event"
	"wavex/runner"
)

// This file decides when criteria are verified, and whether the evidence suffices for completion.
// It is pure; verifications run elsewhere.

// decideWaveCriteria returns the verification that is due between two waves, or nil. It covers the criteria
// with a check that belong to completed tasks, and those that were met before, because later work
// may have broken them. It costs no money. Nothing else runs at the same time.
func decideWaveCriteria(s *State) event.Body {
	if s.Wave == 0 || s.running > 0 || s.merges.running || s.waveVerifiedAt == s.workCount {
		return nil
	}
	ev := event.CriteriaStarted{Round: s.verifications + 1, Wave: s.Wave}
	for _, c := range s.Criteria {
		i, ok := s.Index(c.Task)
		if promised := ok && c.Task != "" && s.Tasks[i].Status == event.Completed; !promised && !c.Met {
			continue
		}
		if cond := s.Condition(c.ID); cond != nil && cond.Check != nil {
			ev.Only = append(ev.Only, c.ID)
		}
	}
	if ev.Only == nil {
		return nil
	}
	return ev
}

// decideVerification verifies all criteria, and repeats checks of tasks.
func decideVerification(s *State, again []event.Recheck) event.Body {
	if s.failedVerifications >= maxUnanswered {
		if len(s.Criteria) == 0 {
			return decideUnverifiable(s, "the tasks' checks")
		}
		return decideUnverifiable(s, "the criteria")
	}
	ev := event.CriteriaStarted{Round: s.verifications + 1, Rechecks: again}
	if s.Config.Judge && hasProseCriteria(s) {
		limit, err := s.jobCap(criteriaKey(ev.Round), judgeCap)
		if err != nil {
			return decideLimitPause(s, "a judge of the criteria", err)
		}
		ev.Cap, ev.Judge = limit, true
	}
	return ev
}

// decideUnverifiable returns the stop after verifications that ended with an error.
func decideUnverifiable(s *State, what string) event.Body {
	return event.Draining{Stop: *event.NewStop(event.RunBlocked, what+" could not be verified: "+s.verificationError,
		"put the cause right, then resume")}
}

// decideLimitPause returns the stop for a step that the run's limits do not allow.
func decideLimitPause(s *State, what string, err error) event.Body {
	st := s.limitStop(err)
	st.Reason = "nothing is left for " + what + ": " + st.Reason
	return event.Draining{Stop: st}
}

// hasProseCriteria reports whether only a judge can decide any of the criteria.
func hasProseCriteria(s *State) bool {
	return slices.ContainsFunc(s.Criteria, func(e event.Criterion) bool {
		c := s.Condition(e.ID)
		return c != nil && c.Check == nil && c.Verification != event.Assumption
	})
}

// unmetCriteria returns the criteria that were verified and are not met.
func unmetCriteria(s *State) []event.Criterion {
	return slices.DeleteFunc(slices.Clone(s.Criteria),
		func(c event.Criterion) bool { return c.Met || c.Verification == event.Assumption })
}

// unproven returns the missing evidence that prevents completion, and the ids that are accepted
// without evidence. If the plan has criteria they are the evidence; otherwise a task without
// criteria is judged by its checks.
func unproven(s *State) (against, assumed []string) {
	trust := func(id, why string) {
		if s.Config.AcceptAssumptions {
			assumed = append(assumed, id)
			return
		}
		against = append(against, why)
	}
	own := map[string]bool{}
	planned := false
	for _, c := range s.Criteria {
		own[c.Task] = true
		planned = planned || c.Task == ""
		switch {
		case c.Verification == event.Assumption:
			trust(c.ID, fmt.Sprintf("criterion %s rests on assumption: %s", c.ID, c.Text))
		case !c.Met:
			against = append(against, fmt.Sprintf("criterion %s is not met: %s", c.ID, c.Text))
		}
	}
	if planned {
		return against, assumed
	}
	added := map[string]bool{}
	for _, a := range s.Added {
		added[a.ID] = a.Origin != event.FromList // the finder of the problem checks the repairs
	}
	for i := range s.Tasks {
		if id := s.Plan.Tasks[i].ID; !own[id] && !added[id] && s.EvidenceKind(i) == event.Assumption {
			trust(id, fmt.Sprintf("nothing shows that task %s is done: %s", id, whyUnproven(s, i)))
		}
	}
	return against, assumed
}

// tamperedOwnChecks reports whether an attempt changed files that its own checks depend on.
func tamperedOwnChecks(r *runner.Result) bool {
	return slices.ContainsFunc(r.Tampered, func(t runner.Tamper) bool { return t.Own })
}

func whyUnproven(s *State, i int) string {
	if last := s.Tasks[i].Last; last != nil && tamperedOwnChecks(last) {
		return "it changed what its own checks rest on"
	}
	if last := s.Tasks[i].Last; last != nil && last.Vacuous {
		return "its checks passed before any work, and nothing was edited"
	}
	if s.Tasks[i].UpToDate() {
		return "the run that completed it, " + s.Tasks[i].Earlier.Run + ", had no evidence either"
	}
	return "it has no check, no criterion, and no declared file that changed"
}

// EvidenceKind returns the kind of evidence of a completed task: that of the earlier run, its command,
// its checks (unless they passed before the work and nothing was edited), or a declared file that changed.
func (s *State) EvidenceKind(i int) string {
	p, last := &s.Plan.Tasks[i], s.Tasks[i].Last
	switch {
	case s.Tasks[i].UpToDate():
		return s.Tasks[i].Earlier.Evidence
	case p.Command != "":
		return event.ExecutionOutput
	case last == nil:
		return event.Assumption
	case tamperedOwnChecks(last):
		return event.Assumption
	case len(p.Verify) > 0 && (!last.Vacuous || len(last.Touched) > 0):
		for _, c := range p.Verify {
			if c.Run != "" {
				return event.ExecutionOutput
			}
		}
		return event.Observation
	case len(last.Changed) > 0:
		return event.Observation
	}
	return event.Assumption
}
