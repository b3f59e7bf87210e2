package cmd

import (
	"path/filepath"
	"strings"
	"testing"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/runlog"
	"wavex/internal/testrepo"
)

// A cancelled run counts attempts that are with workers at their caps, and names them, since they go on.
func TestCancelOnWorkers(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	const text = `{"tasks":[{"id":"a","subject":"A","prompt":"do it","verify":["true"]}]}`
	testrepo.Files{"plan.json": text}.Write(t, dir)
	p := testrepo.Plan(t, dir, text)
	c := event.Config{Run: "20260102-030405-abcd", Dir: dir, Loop: loop.In(dir), Parallel: 1,
		Limits: budget.Limits{USD: 20 * budget.Dollar, NoIterations: true}}
	c.Workers.Engine = "temporal://127.0.0.1:7233/default"
	testrepo.Journal(t, c.Loop, event.RunStarted{Config: c, Plan: filepath.Join(dir, "plan.json"), Digest: p.Digest},
		event.WaveStarted{Wave: 1, Of: 1, Tasks: []string{"a"}},
		event.AttemptStarted{Task: "a", Key: p.Key(0), Attempt: 1, Try: 1, Wave: 1, Cap: 9 * budget.Dollar})
	var said strings.Builder
	code := Main(t.Context(), []string{"cancel"}, Stdio{Out: &said, Err: &said})
	if code != 0 || !strings.Contains(said.String(), "count at their caps: a\n") ||
		!strings.Contains(said.String(), "$9.00 spent") {
		t.Errorf("exit %d\n%s", code, said.String())
	}
	events, err := runlog.Read(c.Loop)
	testrepo.Must(t, err)
	if last := runlog.Last(events); !last.Final() || last.Ended.Cost != 9*budget.Dollar {
		t.Errorf("%+v", last.Ended)
	}
}
