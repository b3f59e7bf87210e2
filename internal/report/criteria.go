package report

import "wavex/scheduler"

// Criterion is one condition of the run's completion and whether it is met.
type Criterion struct {
	Text string
	Met  bool
}

// Criteria are the plan's criteria in their order, or, where the plan has none, the
// one that every task is completed. The status block, the state files and the
// reports all take them from here, so that they cannot disagree (LEDGER S2-35). A
// plan's criterion counts as met only when the run has ended complete: that is when
// all of them have been shown to hold.
func Criteria(s *scheduler.State) []Criterion {
	complete := Complete(s)
	if s.Plan == nil || len(s.Plan.Criteria) == 0 {
		return []Criterion{{Text: "all tasks completed", Met: s.Counts.Completed == len(s.Tasks)}}
	}
	out := make([]Criterion, len(s.Plan.Criteria))
	for i, c := range s.Plan.Criteria {
		out[i] = Criterion{Text: c.Text, Met: complete}
	}
	return out
}

// Complete tells whether the run has ended with everything done and verified: the
// exit signal.
func Complete(s *scheduler.State) bool { return s.Ended != nil && s.Ended.Status == "complete" }
