package runnertest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"wavex/budget"
	"wavex/runner"
)

// StandIn is an agent in memory that plays a scenario. It starts no process and writes no log file.
type StandIn Scenario

// Turn plays the scenario.
func (s StandIn) Turn(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
	return s.play(ctx, req)
}

// Ask plays the scenario. The text of an answer never matches a schema.
func (s StandIn) Ask(ctx context.Context, q runner.Question) runner.Answer {
	req := runner.TurnRequest{Dir: q.Dir}
	req.Settings.Timeout = q.Timeout
	began := time.Now()
	end := s.play(ctx, req)
	if end.Outcome == runner.Done && len(q.Schema) > 0 {
		end.Outcome, end.Reason = runner.Wrong, "no answer in the form asked for"
	}
	return runner.Answer{Outcome: end.Outcome, Reason: end.Reason, Text: end.Text, Cost: end.Cost, Priced: end.Priced,
		Duration: time.Since(began)}
}

func (s StandIn) play(ctx context.Context, req runner.TurnRequest) runner.TurnResult {
	const (
		text        = "all is well"
		standInCost = budget.Dollar / 100
	)
	end := runner.TurnResult{Outcome: runner.Done, Text: text, Report: text, Contained: true, Turns: 1,
		Session: req.Session, Bill: runner.Bill{Cost: standInCost, Priced: "result"}}
	fail := func(o runner.Outcome, format string, args ...any) {
		end.Outcome, end.Reason = o, fmt.Sprintf(format, args...)
	}
	if ctx.Err() != nil {
		end.Bill = runner.Bill{}
		fail(runner.Interrupted, "stopped: %v", context.Cause(ctx))
		return end
	}
	switch Scenario(s) {
	case Works:
		path := filepath.Join(req.Dir, "made.txt")
		if err := os.WriteFile(path, []byte("made\n"), 0o600); err != nil {
			fail(runner.Broken, "%v", err)
		}
		end.Edits = map[string]int{path: 1}
	case Hangs:
		select {
		case <-ctx.Done():
			fail(runner.Interrupted, "stopped: %v", context.Cause(ctx))
		case <-after(req.Settings.Timeout):
			fail(runner.TimedOut, "not finished after %s", req.Settings.Timeout)
		case <-after(req.Settings.IdleTimeout):
			fail(runner.Stalled, "no sign of life for %s", req.Settings.IdleTimeout)
		}
	case Denied:
		end.Denials = []runner.Denial{{Tool: "Bash", Rule: "Bash(make it)", Kind: runner.CommandTool}}
	case OverCap:
		end.Cost = 2 * standInCost
		fail(runner.OverCap, "over the cap")
	case Fails:
		end.Bill = runner.Bill{}
		fail(runner.Throttled, "overloaded")
	}
	return end
}

// after returns a channel that receives after d; never if d is 0.
func after(d time.Duration) <-chan time.Time {
	if d == 0 {
		return nil
	}
	return time.After(d)
}
