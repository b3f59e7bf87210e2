package reporttest

import (
	"fmt"
	"testing"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/runner"
)

// BigRun returns a run of n tasks in about ten waves, six in parallel, with a pause between two
// sessions. Most tasks succeed, some after advice or throttling; a few fail and block their
// dependents. The same n always gives the same run.
func BigRun(t testing.TB, n int) *FakeRun {
	t.Helper()
	verbs := []string{"Add", "Rename", "Test", "Document", "Split", "Speed up", "Validate", "Migrate",
		"Simplify", "Remove"}
	things := []string{"the parser", "the token cache", "order totals", "the login page", "error messages",
		"the search index", "retry rules", "the import of customers", "the audit log", "time zones"}
	wide := max(n/10, 1)
	tasks := make(Tasks, n)
	for i := range tasks {
		tasks[i].ID = fmt.Sprintf("T-%03d", i+1)
		tasks[i].Subject = verbs[i*7%10] + " " + things[(i*3+i/10)%10]
		if w := i / wide; w > 0 {
			first := (w - 1) * wide
			tasks[i].Blockers = []int{first + (i*5)%wide}
			if other := first + (i*11+3)%wide; i%3 == 0 && other != tasks[i].Blockers[0] {
				tasks[i].Blockers = append(tasks[i].Blockers, other)
			}
		}
	}
	s := New(t, "shop-migration", tasks)
	c := Config()
	c.Parallel, c.Limits = 6, budget.Limits{USD: budget.USD(n) * 400_000, Iterations: 2 * n}
	s.StartRun(c)
	k := 0
	for w := 1; w <= s.S.Waves; w++ {
		s.StartWave(w)
		var open []string
		for i := range s.S.Tasks {
			if s.S.Tasks[i].Wave == w && s.S.Tasks[i].Status == event.Pending {
				open = append(open, s.S.Plan.Tasks[i].ID)
			}
		}
		for len(open) > 0 {
			batch := open[:min(6, len(open))]
			open = open[len(batch):]
			for slot, id := range batch {
				s.StartAttempt(id, slot)
			}
			for _, id := range batch {
				k++
				s.Advance(time.Duration(9+k*13%40) * time.Second)
				s.endVaried(id, k)
			}
		}
		if w == 4 {
			s.EndRun("paused", 3, "limit of iterations reached", "wavex resume --max-iterations +100")
			c.Limits.USD += 20 * budget.Dollar
			s.Advance(9 * time.Hour).Apply(event.RunResumed{Config: c, Plan: "plan.json", Digest: "d", Tasks: n,
				Waves: s.S.Waves})
		}
	}
	if s.S.Counts.Failed == 0 {
		return s.EndRun("complete", 0, "", "")
	}
	return s.EndRun("failed", 1, fmt.Sprintf("%d failed, %d blocked by them", s.S.Counts.Failed, s.S.Counts.Blocked),
		"wavex resume")
}

// endVaried ends a task's attempt in one of several ways, some after more attempts.
func (s *FakeRun) endVaried(id string, k int) {
	s.t.Helper()
	usd := budget.USD(40_000 + k*37_000%260_000)
	switch {
	case s.S.Wave > 4 && k%61 == 60: // in the last session: a resume lets failed tasks try again
		s.EndAttempt(id, FailingResult(usd), event.Advising, nil)
		s.Apply(event.CounselStarted{Task: id, Attempt: s.task(id).Attempts, Panel: 1, Cap: budget.Dollar})
		s.Advance(8 * time.Second).Apply(event.CounselEnded{Task: id, Panel: 1, Verdict: Advice()})
		s.StartAttempt(id, 7).Advance(50*time.Second).EndAttempt(id, FailingResult(usd), event.Failed,
			func(b *event.AttemptEnded) {
				b.Note, b.Blocked = "failed after 1 retries", s.unfinishedDescendants(id)
			})
	case k%17 == 16:
		s.EndAttempt(id, FailingResult(usd), event.Advising, nil)
		s.Apply(event.CounselStarted{Task: id, Attempt: s.task(id).Attempts, Panel: 1, Cap: budget.Dollar})
		v := Advice()
		v.Tradeoff, v.Action = true, counsel.Amend
		s.Advance(11 * time.Second).Apply(event.CounselEnded{Task: id, Panel: 1, Verdict: v})
		s.StartAttempt(id, 7).Advance(40*time.Second).EndAttempt(id, PassingResult(usd), event.Completed, nil)
	case k%29 == 28:
		s.EndAttempt(id, runner.Result{Outcome: runner.Throttled, Reason: "the API is overloaded (529)"}, event.Pending,
			func(b *event.AttemptEnded) {
				b.NotBefore = s.Now().Add(20 * time.Second)
			})
		s.Advance(20*time.Second).StartAttempt(id, 7).Advance(30*time.Second).EndAttempt(id, PassingResult(usd),
			event.Completed, nil)
	default:
		s.EndAttempt(id, PassingResult(usd), event.Completed, nil)
	}
}

// unfinishedDescendants returns every direct or indirect dependent of a task that is not settled.
func (s *FakeRun) unfinishedDescendants(id string) (ids []string) {
	at, _ := s.S.Index(id)
	seen := map[int]bool{at: true}
	for i := range s.S.Tasks { // blockers come before their dependents
		for _, b := range s.S.Plan.Graph.Blockers(i) {
			if seen[int(b)] && !seen[i] {
				seen[i] = true
				if !s.S.Tasks[i].Status.Finished() {
					ids = append(ids, s.S.Plan.Tasks[i].ID)
				}
			}
		}
	}
	return ids
}
