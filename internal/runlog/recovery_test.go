package runlog

import (
	"path/filepath"
	"testing"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
	"wavex/runner"
	"wavex/scheduler"
)

// Every command shows the same cost of a run that was cut off: the sum of its streams, and the cap
// for an attempt whose stream cannot be read. Showing it changes nothing, and a resume counts it
// once.
func TestCutOffRunIsPricedByItsStreams(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	testrepo.Files{"plan.json": twoTasks}.Write(t, dir)
	p, folder := testrepo.Plan(t, dir, twoTasks), loop.In(dir)
	c := event.Config{Run: "r-1", Dir: dir, Loop: folder, Parallel: 2, Limits: budget.Limits{USD: 20 * budget.Dollar,
		NoIterations: true}}
	i, _ := p.Lookup("a")
	j, _ := p.Lookup("b")
	started := []event.Body{event.RunStarted{Config: c, Plan: filepath.Join(dir, "plan.json"),
		Digest: "d", Tasks: 2},
		event.WaveStarted{Wave: 1, Of: 1, Tasks: []string{"a", "b"}},
		event.AttemptStarted{Task: "a", Key: p.Key(i), Attempt: 1, Try: 1, Wave: 1, Cap: 9 * budget.Dollar},
		event.AttemptStarted{Task: "b", Key: p.Key(j), Attempt: 1, Try: 1, Wave: 1, Cap: budget.Dollar, Slot: 1}}
	testrepo.Journal(t, folder, started...)
	const stream = `{"type":"system","subtype":"init","session_id":"s-1"}
{"type":"stream_event","event":{"type":"message_start","message":{"id":"m1","model":"claude-sonnet-4-5","usage":{"input_tokens":1000,"output_tokens":1}}},"parent_tool_use_id":null}
{"type":"stream_event","event":{"type":"message_delta","usage":{"output_tokens":8000}},"parent_tool_use_id":null}
`
	testrepo.Files{"runs/r-1/tasks/a/attempt-1/stream.jsonl": stream,
		"runs/r-1/tasks/b/attempt-1/stream.jsonl/x": ""}.Write(t, string(folder))
	const want = 123_000 + budget.Dollar
	past, err := LoadForDisplay(folder, "", "")
	testrepo.Must(t, err)
	testrepo.Must(t, past.Settle())
	f := Follow(folder, "")
	_, err = f.Poll(nil)
	testrepo.Must(t, err)
	events, alive, err := ReadSettled(folder)
	testrepo.Must(t, err)
	told := scheduler.NewState(p)
	testrepo.Must(t, told.Replay(events))
	for name, s := range map[string]*scheduler.State{"read": past.State, "followed": f.State, "listed": told} {
		if s.Ledger.Spent() != want || s.Ledger.Reserved() != 0 || s.Running() != 0 {
			t.Errorf("%s: spent %s, reserved %s", name, s.Ledger.Spent(), s.Ledger.Reserved())
		}
	}
	kept, err := Read(folder)
	if err != nil || len(kept) != len(started) || alive || len(f.Events) != len(started)+2 {
		t.Errorf("%d events on record, %d followed, alive %v, %v", len(kept), len(f.Events), alive, err)
	}
	// The resume records the cost, and a follower counts it once.
	end := func(task string, key string, cost budget.USD) event.Body {
		return event.AttemptEnded{Task: task, Key: key, Attempt: 1, Status: event.Pending,
			Result: runner.Result{Outcome: runner.Interrupted, Cost: cost}}
	}
	testrepo.Journal(t, folder, end("a", p.Key(i), 123_000), end("b", p.Key(j), budget.Dollar))
	if _, err = f.Poll(nil); err != nil || f.State.Ledger.Spent() != want || len(f.Events) != len(started)+2 {
		t.Errorf("after the resume: spent %s, %d events, %v", f.State.Ledger.Spent(), len(f.Events), err)
	}
}

// An attempt that is with a worker may go on, so it counts at its cap unless its stream has come.
func TestCutOffRunOnWorkers(t *testing.T) {
	t.Parallel()
	folder := loop.In(t.TempDir())
	l := Recovery{Loop: folder, Run: "r-1", Prices: budget.Prices{}, Elsewhere: true}
	with := event.AttemptStarted{Task: "a", Attempt: 1, Cap: 9 * budget.Dollar}
	if r := l.Attempt(with); r.Cost != 9*budget.Dollar || r.Priced != "cap" || r.Outcome != runner.Interrupted {
		t.Errorf("with a worker: %+v", r)
	}
	if r := l.Attempt(event.AttemptStarted{Task: "a", Attempt: 1}); r.Cost != 0 || r.Priced != "" {
		t.Errorf("without a cap: %+v", r)
	}
	testrepo.Files{"runs/r-1/tasks/a/attempt-1/stream.jsonl": ""}.Write(t, string(folder))
	if r := l.Attempt(with); r.Cost != 0 {
		t.Errorf("with an empty stream: %+v", r)
	}
}
