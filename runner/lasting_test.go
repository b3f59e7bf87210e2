//go:build unix

package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wavex/internal/plan"
)

// toolLine is a call of a tool as the stream has it.
func toolLine(name, input string) string {
	return `{"type":"assistant","message":{"id":"msg_tool","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"toolu_l","name":"` +
		name + `","input":` + input + `}],"usage":{"input_tokens":1,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"` + firstID + `"}`
}

// The tools that end with their turn leave a process to others, and those that do not have it
// end: what they left behind would be in the next attempt.
func TestWhatLastsKeepsAProcessFromOthers(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"agent in the background":   toolLine("Agent", `{"prompt":"p","run_in_background":true}`),
		"agent":                     toolLine("Agent", `{"prompt":"p"}`),
		"command in the background": toolLine("Bash", `{"command":"make","run_in_background":true}`),
		"schedule":                  toolLine("CronCreate", `{"cron":"* * * * *","prompt":"p"}`),
		"worktree":                  toolLine("EnterWorktree", `{"name":"n"}`),
		"tool of a server":          toolLine("mcp__db__begin", `{}`),
		"something runs beside":     `{"type":"system","subtype":"task_started","task_id":"a","task_type":"local_agent"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := serves(clearing, resultGood)
			steps = append(append(steps[:4:4], step{Print: line}), append(steps[4:5:5], step{EOF: true})...)
			b, ask := pooled(t, 1, steps)
			if r := b.agent.Attempt(t.Context(), ask("T-001")); r.Outcome != Done || r.Cost != 6250 || len(b.agent.Warm.waiting()) != 0 {
				t.Errorf("%d processes wait after %+v", len(b.agent.Warm.waiting()), r)
			}
		})
	}
	t.Run("command", func(t *testing.T) {
		t.Parallel()
		steps := serves(clearing, resultGood)
		line := toolLine("Bash", `{"command":"make"}`)
		steps = append(append(append(steps[:4:4], step{Print: line}), steps[4:]...), step{EOF: true})
		b, ask := pooled(t, 1, steps)
		if r := b.agent.Attempt(t.Context(), ask("T-001")); r.Outcome != Done || len(b.agent.Warm.waiting()) != 1 {
			t.Errorf("%d processes wait after %+v", len(b.agent.Warm.waiting()), r)
		}
	})
}

// A process that goes to work while it waits is ended then, not when somebody wants it: nobody
// watches what it does, or counts what it costs.
func TestWorkWhileItWaits(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{"it begins a turn": clearing, "it speaks": textLine} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := append(serves(clearing, resultGood), step{Print: line})
			b, ask := pooled(t, 1, append(steps, step{EOF: true}))
			if r := b.agent.Attempt(t.Context(), ask("T-001")); r.Outcome != Done {
				t.Errorf("%+v", r)
			}
			b.agent.Warm.guards.Wait()
			if n := len(b.agent.Warm.waiting()); n != 0 {
				t.Errorf("%d wait", n)
			}
		})
	}
}

// A process that nobody needed for long enough goes.
func TestNoneWaitsForever(t *testing.T) {
	t.Parallel()
	b, ask := pooled(t, 1, append(serves(clearing, resultGood), step{EOF: true}))
	b.agent.Warm.rest = time.Millisecond
	if r := b.agent.Attempt(t.Context(), ask("T-001")); r.Outcome != Done {
		t.Fatalf("%+v", r)
	}
	b.agent.Warm.guards.Wait()
	if n := len(b.agent.Warm.waiting()); n != 0 {
		t.Errorf("%d wait", n)
	}
}

// A CLI that never answers what comes before the prompt has the attempt in the plain way,
// be it that its start takes too long or that nothing is heard of it; the task has not stalled.
func TestNeverReady(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ starting, idle time.Duration }{
		"it takes too long": {time.Millisecond, time.Hour},
		"nothing is heard":  {time.Hour, 5 * time.Second}, // enough for the one in the plain way to start
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, script{Steps: []step{{EOF: true}}, With: map[string][]step{"--settings": inPlace()}})
			b.agent.Warm = NewWarm(1, 0)
			defer b.agent.Warm.Close()
			b.req.Checks = []plan.Check{{Run: "true"}}
			b.agent.Warm.starting, b.req.Settings.IdleTimeout = tc.starting, tc.idle
			if r := b.agent.Attempt(t.Context(), b.req); r.Outcome != Done || r.Cost != 10_000 || b.agent.Warm.wants() {
				t.Errorf("%+v, and the pool goes on: %v", r, b.agent.Warm.wants())
			}
		})
	}
}

// One process that does not answer is an accident; after the second in a row no attempt has
// to wait for that any more.
func TestTwoThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t, script{Steps: []step{{EOF: true}}, With: map[string][]step{
		"--session-id": append(serves(clearing, resultGood), step{EOF: true}), "--settings": inPlace()}})
	w := NewWarm(2, 0)
	defer w.Close()
	w.patience = time.Millisecond
	w.Expect(2)
	b.agent.Warm = w
	b.req.Checks = []plan.Check{{Run: "true"}}
	for i, name := range []string{"one", "two", "three"} {
		if !w.wants() {
			t.Fatalf("given up after %d", i)
		}
		req := b.req
		req.LogDir = filepath.Join(b.logs, name)
		if r := b.agent.Attempt(t.Context(), req); r.Outcome != Done {
			t.Fatalf("%s: %+v", name, r)
		}
		if i == 0 {
			w.others.Wait() // the one that is expected is there
		}
	}
	if w.wants() {
		t.Error("a fourth attempt would wait as well")
	}
}

// A process that was not at rest when it was taken does not get the prompt, and what its own
// turn cost is not lost.
func TestTakenFromItsWork(t *testing.T) {
	t.Parallel()
	plain := []step{{Await: "do it"}, {Print: clearing}, {Print: resultGood}, {EOF: true}}
	steps := append(serves(clearing, resultGood), step{Await: readyID}, step{Print: with(again, secondID, firstID)}, step{EOF: true})
	b := setup(t, script{Steps: steps, With: map[string][]step{"--resume": plain}})
	b.agent.Warm = NewWarm(1, 0)
	defer b.agent.Warm.Close()
	if r := b.agent.Attempt(t.Context(), b.req); r.Outcome != Done || len(b.agent.Warm.waiting()) != 1 {
		t.Fatalf("first: %+v", r)
	}
	req := b.req
	req.Attempt, req.Resume, req.LogDir = 2, true, filepath.Join(b.logs, "second")
	if r := b.agent.Attempt(t.Context(), req); r.Outcome != Done || r.Cost != 6250+3750 {
		t.Errorf("second: %+v, want the cost of both processes", r)
	}
	if data, err := os.ReadFile(filepath.Join(req.LogDir, streamFile)); err != nil || strings.Contains(string(data), `"type":"wavex"`) {
		t.Errorf("the second attempt's stream: %s, %v", data, err)
	}
}

// An answer that comes late belongs to the question before: the process is at rest when the
// last one is answered, and says nothing to nobody before.
func TestAskedTwiceWhetherItRests(t *testing.T) {
	t.Parallel()
	steps := serves(clearing, resultGood)[:5]
	third := with(again, secondID, firstID)
	steps = append(steps, step{Print: textLine}, step{Print: with(third, "0.01,", "0.008,")}, step{Await: restID}, step{Print: rested},
		step{Print: textLine}, step{Print: third}, step{Await: restID}, step{Print: rested}, step{Await: restID}, step{Print: rested}, step{EOF: true})
	b, ask := pooled(t, 1, steps)
	if r := b.agent.Attempt(t.Context(), ask("T-001")); r.Outcome != Done || r.Cost != 10_000 || len(b.agent.Warm.waiting()) != 1 {
		t.Errorf("%d wait after %+v", len(b.agent.Warm.waiting()), r)
	}
}
