package scheduler_test

import (
	"testing"
	"time"

	"wavex/internal/event"
	"wavex/internal/report/reporttest"
	"wavex/runner"
	"wavex/scheduler"
)

// Work that was rolled back is pending again, and its dependents wait again. The run is no longer
// complete, and a resume starts the tasks anew.
func TestRolledBack(t *testing.T) {
	t.Parallel()
	s := reporttest.New(t, "chain", reporttest.Tasks{{"1", "a", nil}, {"2", "b", []int{0}}, {"3", "c", []int{1}},
		{"4", "d", nil}})
	s.StartRun(reporttest.Config()).StartWave(1)
	for _, id := range []string{"1", "4", "2", "3"} {
		s.StartAttempt(id, 0).Advance(time.Second).EndAttempt(id, reporttest.PassingResult(10_000), event.Completed, nil)
	}
	s.EndRun("complete", 0, "", "")
	s.Apply(event.RolledBack{What: "wave-2", Tasks: []string{"2", "3"}, From: "c", Undo: "u"})
	s.Apply(scheduler.EndAfterRollback(s.S, "wave-2"))
	if c := s.S.Counts; c.Completed != 2 || c.Pending != 2 || s.S.Assessment.ExitSignal ||
		s.S.Ended.Status == "complete" ||
		s.S.Ended.Resume == "" {
		t.Errorf("counts %+v, exit signal %t, ended %+v", c, s.S.Assessment.ExitSignal, s.S.Ended)
	}
	s.Apply(event.RunResumed{Config: reporttest.Config(), Plan: "plan.json", Digest: "d", Tasks: 4,
		Waves: 3}).StartWave(2)
	i, _ := s.S.Index("2")
	if task := s.S.Tasks[i]; task.Next != "first" || task.Tries != 0 || task.Last != nil || task.Attempts != 1 {
		t.Errorf("the task is %+v", task)
	}
	s.StartAttempt("2", 0).Advance(time.Second).EndAttempt("2", runner.Result{Outcome: runner.Done},
		event.Completed, nil)
	s.StartWave(3).StartAttempt("3", 0).Advance(time.Second).EndAttempt("3", runner.Result{Outcome: runner.Done},
		event.Completed, nil)
	if c := s.S.Counts; c.Completed != 4 || c.Pending != 0 {
		t.Errorf("at the end there are %+v", c)
	}
	spent := s.S.Ledger.Spent()
	if spent != 40_000 {
		t.Errorf("%s are spent; money does not come back", spent)
	}
}

// After a rollback that follows a kill, the next session settles open attempts.
func TestRolledBackAfterAKill(t *testing.T) {
	t.Parallel()
	s := reporttest.New(t, "pair", reporttest.Tasks{{"1", "a", nil}, {"2", "b", nil}})
	s.StartRun(reporttest.Config()).StartWave(1).StartAttempt("1", 0).StartAttempt("2", 1)
	s.Advance(time.Second).EndAttempt("1", reporttest.PassingResult(10_000), event.Completed, nil)
	i, _ := s.S.Index("2")
	s.Apply(event.TurnEnded{Task: "2", Key: s.S.Tasks[i].Key, Attempt: 1,
		Turn: runner.Turn{Result: runner.Result{Outcome: runner.Done, Cost: 7}}})
	s.Apply(event.RolledBack{What: "run", Tasks: []string{"1", "2"}, From: "c", Undo: "u"})
	if s.S.Tasks[i].Turn != nil {
		t.Error("the rollback undid the work of a turn, and it is still to be checked")
	}
	s.EndAttempt("2", runner.Result{Outcome: runner.Interrupted}, event.Pending, nil)
	if c := s.S.Counts; c.Pending != 2 || s.S.Running() != 0 {
		t.Errorf("%+v, %d running", c, s.S.Running())
	}
}
