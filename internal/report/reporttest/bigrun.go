package reporttest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/runner"
)

// BigRun returns a run of n tasks in about ten waves, six in parallel, with a pause between two
// sessions. Most tasks succeed, some after advice or throttling; some of the last wave fail. The same
// n always gives the same run.
func BigRun(t testing.TB, n int) *FakeRun {
	t.Helper()
	wide := max(n/10, 1)
	tasks, ids := make(Tasks, n), make([]string, n)
	for i := range tasks {
		ids[i] = fmt.Sprintf("T-%03d", i+1)
		tasks[i].ID, tasks[i].Subject = ids[i], fmt.Sprintf("Migrate the orders of shop %d", i+1)
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
	k, w := 0, 0
	for wave := range slices.Chunk(ids, wide) {
		w++
		s.StartWave(w)
		for batch := range slices.Chunk(wave, 6) {
			for slot, id := range batch {
				s.StartAttempt(id, slot)
			}
			for _, id := range batch {
				k++
				s.Advance(time.Duration(9+k*13%40) * time.Second)
				s.endVaried(id, k, w == s.S.Waves && (n-k)%5 == 0)
			}
		}
		if w == 4 {
			s.EndRun("paused", 3, "limit of iterations reached", "wavex resume --max-iterations +100")
			c.Limits.USD += 20 * budget.Dollar
			s.Advance(9 * time.Hour).Apply(event.RunResumed{Config: c, Plan: "plan.json", Digest: "d", Tasks: n,
				Waves: s.S.Waves})
		}
	}
	return s.EndRun("failed", 1, fmt.Sprintf("%d failed", s.S.Counts.Failed), "wavex resume")
}

// endVaried ends a task's attempt in one of several ways, some after one more attempt.
func (s *FakeRun) endVaried(id string, k int, fails bool) {
	s.t.Helper()
	usd := budget.USD(40_000 + k*37_000%260_000)
	switch {
	case fails || k%17 == 16:
		s.EndAttempt(id, FailingResult(usd), event.Advising, nil)
		s.Apply(event.CounselStarted{Task: id, Attempt: 1, Panel: 1, Cap: budget.Dollar})
		v := Advice()
		v.Tradeoff, v.Action = true, counsel.Amend
		s.Advance(11 * time.Second).Apply(event.CounselEnded{Task: id, Panel: 1, Verdict: v})
		s.StartAttempt(id, 7).Advance(40 * time.Second)
		if fails {
			s.EndAttempt(id, FailingResult(usd), event.Failed, nil)
			return
		}
	case k%29 == 28:
		s.EndAttempt(id, runner.Result{Outcome: runner.Throttled, Reason: "the API is overloaded (529)"}, event.Pending,
			func(b *event.AttemptEnded) {
				b.NotBefore = s.Now().Add(20 * time.Second)
			})
		s.Advance(20*time.Second).StartAttempt(id, 7).Advance(30 * time.Second)
	}
	s.EndAttempt(id, PassingResult(usd), event.Completed, nil)
}
