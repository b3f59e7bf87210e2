package ui

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/report/reporttest"
	"wavex/runner"
	"wavex/scheduler"
)

// stage plays a run on the live view of an emulated terminal, and records its screens.
type stage struct {
	*reporttest.FakeRun
	t     *testing.T
	v     *LiveView
	e     *emulator
	clock atomic.Int64
	seen  strings.Builder
}

// newStage returns a stage of a size for a plan that has not begun.
func newStage(t *testing.T, columns, rows int, name string, tasks reporttest.Tasks) *stage {
	return stageOf(t, columns, rows, reporttest.New(t, name, tasks))
}

// stageOf returns a stage of a size for a run that has not begun.
func stageOf(t *testing.T, columns, rows int, run *reporttest.FakeRun) *stage {
	g := &stage{FakeRun: run, t: t, e: &emulator{t: t, width: columns, height: rows}}
	g.clock.Store(reporttest.Start.UnixNano())
	g.v = Terminal(g.e, Options{Width: g.e.columns, Height: func() int { return rows },
		Now: func() time.Time { return time.Unix(0, g.clock.Load()) }})
	g.Show = func(e event.Event, s *scheduler.State) {
		g.clock.Store(e.Time.UnixNano())
		g.v.Event(e, s)
		waitForFrame()
	}
	return g
}

// uses shows a tool call of a running attempt, some time later.
func (g *stage) uses(task string, attempt int, tool string, after time.Duration) {
	g.clock.Store(g.Advance(after).Now().UnixNano())
	g.v.Observe(runner.Observation{Task: task, Attempt: attempt, Kind: "tool", Text: tool, Cost: 20_000})
	waitForFrame()
}

// look records the screen.
func (g *stage) look(when string) { fmt.Fprintf(&g.seen, "=== %s\n%s", when, g.e.screen()) }

var parserTasks = reporttest.Tasks{{"T-001", "Add the token type", nil}, {"T-002", "Write the parser", nil},
	{"T-003", "Join parser and tokens, and write down how they work together", []int{0, 1}}}

// stories are sessions that a person follows on a terminal.
var stories = map[string]func(*stage){
	"success": func(g *stage) {
		g.StartRun(reporttest.Config()).StartWave(1).StartAttempt("T-001", 0).StartAttempt("T-002", 1)
		g.uses("T-002", 1, "Edit parser.go", 4*time.Second)
		g.look("two tasks run")
		g.Advance(8*time.Second).EndAttempt("T-001", reporttest.PassingResult(120_000), event.Completed, nil)
		g.EndAttempt("T-002", reporttest.PassingResult(90_000), event.Completed, nil)
		g.StartWave(2).StartAttempt("T-003", 0).Advance(5*time.Second).EndAttempt("T-003", reporttest.PassingResult(10_000),
			event.Completed, nil)
		g.EndRun("complete", 0, "", "")
	},
	"failure": func(g *stage) {
		g.StartRun(reporttest.Config()).StartWave(1).StartAttempt("T-001", 0).StartAttempt("T-002", 1)
		g.Advance(3*time.Second).EndAttempt("T-002", reporttest.FailingResult(90_000), event.Failed,
			func(b *event.AttemptEnded) { b.Note, b.Blocked = "failed after 1 retries", []string{"T-003"} })
		g.look("T-002 has failed")
		g.Advance(8*time.Second).EndAttempt("T-001", reporttest.PassingResult(120_000), event.Completed, nil)
		g.EndRun("failed", 1, "1 failed, 1 blocked by it", "wavex resume")
	},
	"counsel": func(g *stage) {
		g.StartRun(reporttest.Config()).StartWave(1).StartAttempt("T-001", 0).StartAttempt("T-002", 1)
		g.Advance(3*time.Second).EndAttempt("T-002", reporttest.FailingResult(90_000), event.Advising, nil)
		g.Apply(event.CounselStarted{Task: "T-002", Attempt: 1, Panel: 1, Cap: budget.Dollar})
		g.look("a panel is asked")
		g.Advance(9 * time.Second).Apply(event.CounselEnded{Task: "T-002", Panel: 1, Verdict: reporttest.Advice()})
		g.StartAttempt("T-002", 1)
		g.uses("T-002", 2, "Bash go test ./...", 2*time.Second)
		g.look("the advice is tried")
		g.EndAttempt("T-002", reporttest.PassingResult(60_000), event.Completed, nil)
		g.EndAttempt("T-001", reporttest.PassingResult(120_000), event.Completed, nil)
		g.StartWave(2).StartAttempt("T-003", 0).Advance(5*time.Second).EndAttempt("T-003", reporttest.PassingResult(10_000),
			event.Completed, nil)
		g.EndRun("complete", 0, "", "")
	},
	"budget": func(g *stage) {
		c := reporttest.Config()
		c.Limits.USD = budget.Dollar
		const why = "budget of $1 cannot pay for another attempt; raise it with --budget"
		g.StartRun(c).StartWave(1).StartAttempt("T-001", 0).Advance(30*time.Second).
			EndAttempt("T-001", reporttest.PassingResult(930_000), event.Completed, nil)
		g.Apply(event.Draining{Stop: event.Stop{Status: "paused", ExitCode: 3, Limit: "budget", Reason: why,
			Advice: "--budget +1"}})
		g.look("the budget is used up")
		g.EndRun("paused", 3, why, "wavex resume --budget +1")
	},
	"drain": func(g *stage) {
		g.StartRun(reporttest.Config()).StartWave(1).StartAttempt("T-001", 0).StartAttempt("T-002", 1)
		g.uses("T-001", 1, "Write token.go", 2*time.Second)
		g.Apply(event.Draining{Stop: event.Stop{Status: "interrupted", ExitCode: 130, Reason: "stopped by SIGINT"}})
		_, _ = g.v.Write([]byte("wavex: nothing more is started; running attempts may finish (again to interrupt them)\n"))
		waitForFrame()
		g.look("it drains")
		g.Advance(8*time.Second).EndAttempt("T-001", reporttest.PassingResult(120_000), event.Completed, nil)
		g.EndAttempt("T-002", reporttest.PassingResult(80_000), event.Completed, nil)
		g.EndRun("interrupted", 130, "stopped by SIGINT", "wavex resume")
	},
	"resume": func(g *stage) {
		c := reporttest.Config()
		c.Limits.Iterations = 1
		const why = "limit of 1 iterations reached (1 made); raise it with --max-iterations"
		g.StartRun(c).StartWave(1).StartAttempt("T-001", 0).Advance(2*time.Second).
			EndAttempt("T-001", reporttest.PassingResult(10_000), event.Completed, nil)
		g.Apply(event.Draining{Stop: event.Stop{Status: "paused", ExitCode: 3, Limit: "iterations", Reason: why}})
		g.EndRun("paused", 3, why, "wavex resume --max-iterations +10")
		c.Limits.Iterations = 11
		g.Advance(time.Hour).Apply(event.RunResumed{Config: c, Plan: "plan.json", Digest: "d", Tasks: 3, Waves: 2})
		g.StartWave(1).StartAttempt("T-002", 0)
		g.uses("T-002", 1, "Read lexer.go", 70*time.Second)
		g.look("it goes on")
		g.EndAttempt("T-002", reporttest.PassingResult(30_000), event.Completed, nil)
		g.StartWave(2).StartAttempt("T-003", 0).Advance(5*time.Second).EndAttempt("T-003", reporttest.PassingResult(10_000),
			event.Completed, nil)
		g.EndRun("complete", 0, "", "")
	},
}

// The screen at moments of a session, and the lines that are left at its end.
func TestStories(t *testing.T) {
	t.Parallel()
	for name, tell := range stories {
		for _, size := range []struct{ columns, rows int }{{80, 24}, {120, 40}, {200, 50}} {
			file := fmt.Sprintf("story-%s-%dx%d.txt", name, size.columns, size.rows)
			t.Run(file, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					g := newStage(t, size.columns, size.rows, "parser", parserTasks)
					tell(g)
					if err := g.v.Close(); err != nil {
						t.Error(err)
					}
					golden(t, file, g.seen.String()+"=== what is left\n"+g.e.text())
				})
			})
		}
	}
}
