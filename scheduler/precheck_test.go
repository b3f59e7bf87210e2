package scheduler_test

import (
	"slices"
	"testing"
	"time"

	"wavex/budget"
	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/report/reporttest"
	"wavex/runner"
)

// After a pre-check, an accepted task waits, a refused task is blocked with the tasks that depend
// on it, and without an answer nothing is settled.
func TestPrecheckEnded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		got     counsel.Challenge
		status  event.Status
		blocked int
		refused []string
		again   bool // a resume after the end asks again
	}{
		"go": {counsel.Challenge{Go: true, Reason: "fine", Conditions: []string{"keep a copy"}}, event.Pending, 0,
			nil, false},
		"stop":   {counsel.Challenge{Reason: "no way back"}, event.Blocked, 2, []string{"1: no way back"}, true},
		"nobody": {counsel.Challenge{Error: "nobody answered"}, event.Pending, 0, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := reporttest.New(t, "", reporttest.Tasks{{"1", "Drop it", nil}, {"2", "Use it", []int{0}}, {"3", "Else", nil}})
			s.S.Plan.Tasks[0].Reversibility = "1"
			c := reporttest.Config()
			c.Precheck = true
			s.StartRun(c).StartWave(1)
			i, _ := s.S.Index("1")
			s.Apply(event.PrecheckStarted{Task: "1", Key: s.S.Tasks[i].Key, N: 1, Cap: budget.Dollar})
			if free := s.S.Ledger.Available(); free != 24*budget.Dollar {
				t.Errorf("%s are free while it is asked", free)
			}
			ev := event.PrecheckEnded{Task: "1", Key: s.S.Tasks[i].Key, N: 1, Challenge: test.got}
			ev.Challenge.Cost = 5000
			if test.status == event.Blocked {
				ev.Blocked = []string{"2"}
			}
			s.Advance(time.Second).Apply(ev)
			task := &s.S.Tasks[i]
			if task.Status != test.status || s.S.Counts.Blocked != test.blocked || !slices.Equal(s.S.PrecheckRefusals(),
				test.refused) ||
				task.CounselCost != 5000 || s.S.Ledger.Spent() != 5000 {
				t.Errorf("the task is %+v, %d blocked, refused %q", *task, s.S.Counts.Blocked, s.S.PrecheckRefusals())
			}
			s.StartAttempt("3", 0).Advance(time.Second).EndAttempt("3", runner.Result{Outcome: runner.Done},
				event.Completed, nil)
			s.EndRun("blocked", 5, "", "wavex resume")
			s.Apply(event.RunResumed{Config: c, Plan: "plan.json", Digest: "d", Tasks: 3, Waves: 2,
				Retried: []string{"1", "2"}})
			if asked := s.S.Tasks[i].Challenge == nil; asked != test.again || s.S.Tasks[i].Status != event.Pending {
				t.Errorf("after a resume it is %s, and asked again: %t", s.S.Tasks[i].Status, asked)
			}
		})
	}
}
