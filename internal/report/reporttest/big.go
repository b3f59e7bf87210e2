package reporttest

import (
	"fmt"
	"testing"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/runner"
	"wavex/scheduler"
)

// Big returns a run of n tasks in about ten waves, six in parallel, with a pause between two
// sessions. Most tasks succeed, some after advice or throttling; a few fail and block their
// dependents. The same n always gives the same run.
func Big(t testing.TB, n int) *Story {
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
	s.Begin(c)
	k := 0
	for w := 1; w <= s.S.Waves; w++ {
		s.Wave(w)
		var open []string
		for i := range s.S.Tasks {
			if s.S.Tasks[i].Wave == w && s.S.Tasks[i].Status == scheduler.Pending {
				open = append(open, s.S.Plan.Tasks[i].ID)
			}
		}
		for len(open) > 0 {
			batch := open[:min(6, len(open))]
			open = open[len(batch):]
			for slot, id := range batch {
				s.Run(id, slot)
			}
			for _, id := range batch {
				k++
				s.After(time.Duration(9+k*13%40) * time.Second)
				s.bigEnd(id, k)
			}
		}
		if w == 4 {
			s.Over("paused", 3, "limit of iterations reached", "wavex resume --max-iterations +100")
			c.Limits.USD += 20 * budget.Dollar
			s.After(9 * time.Hour).Tell(scheduler.Resumed{Config: c, Plan: "plan.json", Digest: "d", Tasks: n, Waves: s.S.Waves})
		}
	}
	if s.S.Counts.Failed == 0 {
		return s.Over("complete", 0, "", "")
	}
	return s.Over("failed", 1, fmt.Sprintf("%d failed, %d blocked by them", s.S.Counts.Failed, s.S.Counts.Blocked),
		"wavex resume")
}

// bigEnd ends a task's attempt in one of several ways, some after more attempts.
func (s *Story) bigEnd(id string, k int) {
	s.t.Helper()
	usd := budget.USD(40_000 + k*37_000%260_000)
	switch {
	case s.S.Wave > 4 && k%61 == 60: // in the last session: a resume lets failed tasks try again
		s.End(id, Bad(usd), scheduler.Advising, nil)
		s.Tell(scheduler.CounselStarted{Task: id, Attempt: s.task(id).Attempts, Panel: 1, Cap: budget.Dollar})
		s.After(8 * time.Second).Tell(scheduler.CounselEnded{Task: id, Panel: 1, Verdict: Advice()})
		s.Run(id, 7).After(50*time.Second).End(id, Bad(usd), scheduler.Failed, func(b *scheduler.AttemptEnded) {
			b.Note, b.Blocked = "failed after 1 retries", s.cone(id)
		})
	case k%17 == 16:
		s.End(id, Bad(usd), scheduler.Advising, nil)
		s.Tell(scheduler.CounselStarted{Task: id, Attempt: s.task(id).Attempts, Panel: 1, Cap: budget.Dollar})
		v := Advice()
		v.Tradeoff, v.Action = true, counsel.Amend
		s.After(11 * time.Second).Tell(scheduler.CounselEnded{Task: id, Panel: 1, Verdict: v})
		s.Run(id, 7).After(40*time.Second).End(id, Good(usd), scheduler.Completed, nil)
	case k%29 == 28:
		s.End(id, runner.Result{Outcome: runner.Throttled, Reason: "the API is overloaded (529)"}, scheduler.Pending,
			func(b *scheduler.AttemptEnded) {
				b.NotBefore = s.Now().Add(20 * time.Second)
			})
		s.After(20*time.Second).Run(id, 7).After(30*time.Second).End(id, Good(usd), scheduler.Completed, nil)
	default:
		s.End(id, Good(usd), scheduler.Completed, nil)
	}
}

// cone returns every direct or indirect dependent of a task that is not settled.
func (s *Story) cone(id string) (ids []string) {
	at, _ := s.S.Index(id)
	seen := map[int]bool{at: true}
	for i := range s.S.Tasks { // blockers come before their dependents
		for _, b := range s.S.Plan.Graph.Blockers(i) {
			if seen[int(b)] && !seen[i] {
				seen[i] = true
				if !s.S.Tasks[i].Status.Settled() {
					ids = append(ids, s.S.Plan.Tasks[i].ID)
				}
			}
		}
	}
	return ids
}
