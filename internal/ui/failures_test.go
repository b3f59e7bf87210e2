package ui

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"wavex/internal/event"
	"wavex/internal/report/reporttest"
)

// A failure stays in sight, with the end of its output, when other lines have moved its own off the screen, until the
// task gets another chance.
func TestFailuresStayInSight(t *testing.T) {
	t.Parallel()
	for _, size := range []struct{ columns, rows int }{{80, 24}, {120, 40}, {40, 9}} {
		for _, failed := range []int{1, 3, 30} {
			t.Run(fmt.Sprintf("%d of %d rows", failed, size.rows), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { failuresStay(t, size.columns, size.rows, failed) })
			})
		}
	}
}

func failuresStay(t *testing.T, columns, rows, failed int) {
	var tasks reporttest.Tasks
	for i := range 80 {
		tasks = append(tasks, reporttest.Tasks{{ID: fmt.Sprintf("T-%03d", i), Subject: "Do it"}}...)
	}
	g := newStage(t, columns, rows, "many", tasks)
	c := reporttest.Config()
	c.Limits.NoIterations = true
	g.StartRun(c).StartWave(1)
	for i := range failed {
		id := fmt.Sprintf("T-%03d", i)
		g.StartAttempt(id, 0).Advance(time.Second).EndAttempt(id, reporttest.FailingResult(1000), event.Failed, nil)
		head := fmt.Sprintf("✗ %s Do it", id)
		if n := strings.Count(g.e.screen(), head); rows > 20 && n != 1 {
			t.Errorf("%q is %d times on the screen:\n%s", head, n, g.e.screen())
		}
	}
	for i := failed; i < 79; i++ {
		id := fmt.Sprintf("T-%03d", i)
		g.StartAttempt(id, 0).Advance(time.Second).EndAttempt(id, reporttest.PassingResult(1000), event.Completed, nil)
	}
	g.StartAttempt("T-079", 0)
	screen := g.e.screen()
	want := []string{fmt.Sprintf("✗ T-%03d Do it  check failed", failed-1), "T-079 Do it", "wave 1/1"}
	if rows > 20 {
		want = append(want, "got 1, want 2", fmt.Sprintf("wavex logs T-%03d", failed-1))
	}
	if rows > 20 && failed == 3 {
		want = append(want, "✗ T-001 Do it", "✗ T-000 Do it")
	}
	if failed > 20 && rows > 20 {
		want = append(want, "more failed: wavex status")
	}
	for _, w := range want {
		if !strings.Contains(screen, w) {
			t.Errorf("the screen lacks %q:\n%s", w, screen)
		}
	}
	if n := len(g.v.model.lines(g.Now(), columns-1, rows, false)); n > rows-1 {
		t.Errorf("%d lines in %d rows", n, rows)
	}
	g.EndRun("interrupted", 130, "stopped by SIGINT", "wavex resume")
	var retried []string
	for n := range failed {
		retried = append(retried, fmt.Sprintf("T-%03d", n))
	}
	g.Apply(event.RunResumed{Config: c, Plan: "plan.json", Digest: "d", Tasks: 80, Waves: 1, Retried: retried})
	g.StartAttempt("T-000", 0)
	for i := range 40 {
		_, _ = fmt.Fprintf(g.v, "wavex: line %d\n", i)
	}
	waitForFrame()
	if screen := g.e.screen(); strings.Contains(screen, "✗") || !strings.Contains(screen, "T-000 (attempt 2) Do it") {
		t.Errorf("after a resume:\n%s", screen)
	}
	if err := g.v.Close(); err != nil {
		t.Error(err)
	}
}
