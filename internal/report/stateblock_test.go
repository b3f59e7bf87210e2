package report_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"wavex/internal/check"
	"wavex/internal/event"
	"wavex/internal/report"
	"wavex/internal/report/reporttest"
	"wavex/runner"
)

// stateLine returns the value of a key of a run's loop block, with the lines of a list.
func stateLine(s *reporttest.FakeRun, key string) string {
	_, rest, found := strings.Cut(string(report.StateBlock(s.S, s.Events, "4")), "\n  "+key+":")
	if !found {
		return "no " + key
	}
	var lines []string
	for k, l := range strings.Split(rest, "\n") {
		if k > 0 && !strings.HasPrefix(l, "    ") {
			break
		}
		lines = append(lines, strings.TrimSpace(l))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

func wrong(reason string) runner.Result {
	return runner.Result{Outcome: runner.Wrong, Reason: reason,
		Checks: []check.Evidence{{Check: "a"}, {Check: "b"}, {Check: "c", Passed: true}}}
}

// The block names failed tasks with their retries, counts the checks that fail, and lists attempts by their start.
func TestStateBlockOfFailedRun(t *testing.T) {
	t.Parallel()
	s := reporttest.New(t, "", reporttest.Tasks{{"04", "a", nil}, {"05", "b", nil}})
	s.StartRun(reporttest.Config()).StartWave(1)
	if got := stateLine(s, "last_error"); got != "no last_error" {
		t.Errorf("the last error is %s before there is one", got)
	}
	s.StartAttempt("04", 0).Advance(time.Second).StartAttempt("05", 1).Advance(time.Second)
	s.EndAttempt("05", wrong("tests\n\x1b[31mfail"), event.Pending, nil).Advance(time.Second)
	s.EndAttempt("04", reporttest.PassingResult(1000), event.Completed, nil)
	s.StartAttempt("05", 1).Advance(time.Second).EndAttempt("05", wrong(strings.Repeat("x", 300)), event.Failed, nil)
	s.EndRun("failed", 1, "1 failed, 0 blocked by them", "")
	for key, want := range map[string]string{
		"type": "execute", "task_retries": `"T05": 1`, "gaps_remaining": "2", "paused": "true",
		"pause_reason": `"Task 05 failed after 1 retry"`, "last_error": `"` + strings.Repeat("x", 197) + `..."`,
		"last_iteration": `"2026-01-02T03:04:09Z"`,
		"history": strings.ReplaceAll(`- {iteration: 1, task: "04", outcome: "done", started: "NOW:05Z", ended: "NOW:08Z"}
- {iteration: 2, task: "05", outcome: "wrong", started: "NOW:06Z", ended: "NOW:07Z"}
- {iteration: 3, task: "05", outcome: "wrong", started: "NOW:08Z", ended: "NOW:09Z"}`, "NOW", "2026-01-02T03:04"),
	} {
		if got := stateLine(s, key); got != want {
			t.Errorf("%s: %s\nwant %s", key, got, want)
		}
	}
}

// A task that a breaker stopped is named with the reason. So is the limit or the person that stopped the run later.
func TestStateBlockNamesTheStop(t *testing.T) {
	t.Parallel()
	const failed = "Task a failed after 0 retries (the same error three times)"
	for code, c := range map[event.ExitCode]struct{ reason, want string }{
		event.ExitBreaker: {"a breaker", failed},
		event.ExitLimit:   {"the budget of $5 is spent", failed + "; the budget of $5 is spent"},
	} {
		s := reporttest.New(t, "", reporttest.Tasks{{"a", "a", nil}})
		s.StartRun(reporttest.Config()).StartWave(1).StartAttempt("a", 0)
		s.EndAttempt("a", wrong("no"), event.Failed, func(e *event.AttemptEnded) {
			e.TaskStop = event.Trip(event.SameError, "the same error three times", "")
		}).EndRun("paused", code, c.reason, "")
		if got := stateLine(s, "pause_reason"); got != strconv.Quote(c.want) {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// While gaps are looked for and closed, the block is that of a verify loop.
func TestStateBlockOfVerification(t *testing.T) {
	t.Parallel()
	s := reporttest.New(t, "", reporttest.Tasks{{"a", "a", nil}})
	s.StartRun(reporttest.Config()).StartWave(1).StartAttempt("a", 0)
	s.EndAttempt("a", reporttest.PassingResult(1000), event.Completed, nil).EndRun("complete", 0, "", "")
	resume := func() { s.Apply(event.RunResumed{Config: s.S.Config, Plan: "plan.json"}) }
	expect := func(want ...string) {
		t.Helper()
		for i, key := range []string{"type", "iteration", "max_iterations", "gaps_remaining", "paused", "pause_reason"} {
			if got := stateLine(s, key); got != want[i] {
				t.Errorf("%s: %s, want %s", key, got, want[i])
			}
		}
	}
	expect("execute", "1", "25", "0", "false", "null")
	s.Apply(event.Inspected{Gaps: 3})
	expect("verify", "1", "25", "3", "false", "null")
	resume()
	expect("execute", "1", "25", "0", "false", "null")
	s.Apply(event.Inspected{Gaps: 3, Round: 1, Rounds: 2}).Apply(event.TasksAdded{Origin: "verify", Round: 1})
	resume()
	expect("verify", "1", "2", "3", "false", "null")
	s.EndRun("complete", 0, "", "").Apply(event.Inspected{Gaps: 2, Round: 2, Rounds: 2, Stop: "2 rounds were made"})
	expect("verify", "2", "2", "2", "true", `"2 rounds were made"`)
	resume()
	expect("execute", "1", "25", "0", "false", "null")
}
