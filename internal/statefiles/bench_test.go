package statefiles

import (
	"fmt"
	"testing"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/report/reporttest"
	"wavex/runner"
)

// BenchmarkWrite measures one write of the projections of 2,000 tasks over the previous ones.
func BenchmarkWrite(b *testing.B) {
	tasks := make(reporttest.Tasks, 2000)
	for i := range tasks {
		tasks[i].ID, tasks[i].Subject = fmt.Sprint(i+1), "Work"
	}
	s := reporttest.New(b, "long", tasks)
	c := reporttest.Config()
	c.Limits.NoIterations, c.Limits.NoUSD = true, true
	s.StartRun(c).StartWave(1)
	for i := range 20 {
		s.StartAttempt(tasks[i].ID, 0)
		s.EndAttempt(tasks[i].ID, runner.Result{Outcome: runner.Done}, event.Completed, nil)
	}
	all := newModel(s.S)
	to := fileStore{dir: loop.Dir(b.TempDir())}
	for b.Loop() {
		if err := to.write(all); err != nil {
			b.Fatal(err)
		}
	}
}
