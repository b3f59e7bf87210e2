package crash

// This file kills and stops wavex while a panel or a review is asked. The continued run asks again.

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"wavex/counsel"
	"wavex/e2e/rig"
	"wavex/e2e/scratch"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/runner"
)

// adviceOfPanel is in the answer of every expert, and callTime their duration.
const (
	adviceOfPanel = "write zz in place of a"
	callTime      = 300 * time.Millisecond
)

// panelPlan is a plan of a task that fails at first, and panelScenario the answers of its experts and reviewers.
const (
	panelPlan = `{"version": 1, "name": "panel", "tasks": [
 {"id": "1", "subject": "One", "files": ["a"], "verify": ["grep -q zz a"], "rehearse": {"duration": "20ms", "cost": 0.01,
  "attempts": [{"writes": [{"path": "a", "content": "a\n"}]}, {"writes": [{"path": "a", "content": "zz\n"}]}]}}]}`
	panelScenario = `{"panel": {"duration": "300ms", "cost": 0.05}, "questions": {"counsel": {"structured": {
 "diagnosis": "it has no zz", "cause": "it has an a", "approach": "` + adviceOfPanel + `", "confidence": 0.9,
 "falsifier": "grep zz a", "action": "retry"}}}}`
)

// panelCuts is the number of moments. Each costs half a second of CPU.
var panelCuts = flag.Int("panelcuts", 4, "how many panels TestPanelIsNotLost cuts off, and a quarter as many reviews")

// A panel that is killed or stopped at any moment is convened again, so that the first retry has its advice. The cost
// of the cut one is in the ledger. A review is made again too.
func TestPanelIsNotLost(t *testing.T) {
	t.Parallel()
	start, cuts := seed(t), atomic.Int64{}
	t.Run("cuts", func(t *testing.T) {
		for kind, moments := range map[string]int{"counsel_started": *panelCuts, "review_started": max(2, *panelCuts/4)} {
			for n := range moments {
				t.Run(kind+strconv.Itoa(n), func(t *testing.T) {
					t.Parallel()
					// The moments are spread over the calls, and over the start of what follows them.
					part := float64(n) + rand.New(rand.NewPCG(start, uint64(n))).Float64()
					cuts.Add(cutCalls(t, kind, time.Duration(part/float64(moments)*float64(callTime*4/3)), n))
				})
			}
		}
	})
	if t.Logf("%d calls were cut off", cuts.Load()); int(cuts.Load()) < *panelCuts/2 {
		t.Error("too few cuts hit a call")
	}
}

// cutCalls cuts wavex off some time after the start of a panel or a review, every third time once more, and continues.
// It returns the number of panels and reviews that were cut off.
func cutCalls(t *testing.T, kind string, moment time.Duration, n int) (cuts int64) {
	p := newProject(t, panelPlan)
	p.Flags = []string{"--review", "thorough", "--accept-assumptions", "--scenario", "s.json"}
	p.Write("s.json", panelScenario)
	for cut := range 1 + (n%3)/2 {
		w := p.Start(nil, "run", "plan.json", "--agent", "rehearse", "--output", "json")
		asked := []byte(`"type":"` + kind + `"`)
		if !rig.Until(t.Context(), func() bool {
			text, _ := os.ReadFile(p.Journal())
			return w.IsOver() || bytes.Count(text, asked) > cut
		}) || w.OverWithin(moment) {
			t.Logf("%s: the run ends before the cut", moment)
			break
		}
		if sig := []os.Signal{syscall.SIGKILL, syscall.SIGTERM}[n%2]; w.Cmd.Process.Signal(sig) != nil {
			t.Logf("%s: the run has ended", moment)
		}
		w.End()
		p.MustBeGone(scratch.GoneTime, "the cut")
		if completed(p) {
			break
		}
	}
	if !completed(p) {
		p.MustComplete()
	}
	p.MustAddUp(false)
	for _, e := range p.Events() {
		switch b := e.Body.(type) {
		case event.CounselEnded:
			if b.Verdict.Failure == runner.Interrupted {
				cuts++
			}
		case event.ReviewEnded:
			if b.Review.Failure == runner.Interrupted {
				cuts++
			}
		}
	}
	mustBeAdvised(p)
	return cuts
}

// completed reports whether the last run has ended well.
func completed(p scratch.Project) bool {
	_, end := scratch.LastRun(p.Events())
	return end != nil && end.Status == event.RunComplete
}

// mustBeAdvised checks that each retry had the panel's advice, and that the last review was answered. A retry that was
// cut off before its agent was started has no prompt, and the one after it has.
func mustBeAdvised(p scratch.Project) {
	p.T.Helper()
	run, retries, reviewed := "", 0, ""
	cut := map[int]bool{}
	for _, e := range p.Events() {
		if b, ok := e.Body.(event.AttemptEnded); ok && b.Result.Outcome == runner.Interrupted {
			cut[b.Attempt] = true
		}
	}
	for _, e := range p.Events() {
		switch b := e.Body.(type) {
		case event.RunStarted:
			run = b.Config.Run
		case event.AttemptStarted:
			if b.Attempt == 1 || b.Why == event.WhyChecks {
				continue
			}
			dir := loop.In(p.Dir).Task(run, b.Task, loop.Attempt(b.Attempt))
			prompt, err := os.ReadFile(filepath.Join(dir, loop.PromptFile))
			if os.IsNotExist(err) && cut[b.Attempt] {
				continue
			}
			retries++
			if err != nil || !b.Advised || !strings.Contains(string(prompt), adviceOfPanel) {
				p.T.Errorf("attempt %d has no advice: %v\n%s\n%s", b.Attempt, err, prompt, p.Dump())
			}
		case event.ReviewEnded:
			if reviewed = b.Review.Error; b.Mode == counsel.Thorough && reviewed == "" && b.Passed {
				reviewed = "passed"
			}
		}
	}
	if retries == 0 || reviewed != "passed" {
		p.T.Errorf("%d retries, the last review: %q\n%s", retries, reviewed, p.Dump())
	}
}
