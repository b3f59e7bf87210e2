package crash

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"wavex/e2e/rig"
	"wavex/e2e/scratch"
	"wavex/internal/event"
)

// oneSlotPlan is a plan in which one task works and another waits for the slot. Each works for so long that a process
// is started ahead.
const oneSlotPlan = `{"version": 1, "parallel": 1, "isolation": "shared", "budget": {"usd": 2},
 "rehearse": {"duration": "2s"}, "tasks": [
 {"id": "a", "subject": "a"}, {"id": "b", "subject": "b"}, {"id": "c", "subject": "c"}]}`

// cli returns the rehearsal agent as a claude CLI of the newest version: it has spares, unlike
// rehearsals.
func cli(p scratch.Project) string {
	p.T.Helper()
	path := filepath.Join(p.Dir, "claude")
	script := "#!/bin/sh\n[ \"$1\" = --version ] && exec echo '2.1.330 (Claude Code)'\nexec '" + shared.wavex +
		"' agent \"$@\"\n"
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		p.T.Fatal(err)
	}
	return path
}

// A wavex that is killed while a process waits for its prompt leaves no live process. The next
// session records the end of that process, and completes the run.
func TestKilledWithASpare(t *testing.T) {
	t.Parallel()
	p := newProject(t, oneSlotPlan)
	args := []string{"run", "plan.json", "--claude", cli(p), "--output", "json"}
	env := []string{"ANTHROPIC_API_KEY=anything"}
	w := p.Start(env, args...)
	var spare event.SpareStarted
	rig.Until(t.Context(), func() bool {
		for _, e := range p.Events() {
			if b, ok := e.Body.(event.SpareStarted); ok {
				spare = b
			}
		}
		select {
		case <-w.Over:
			t.Fatalf("it ended before a spare: %s\n%s", w.End().Stderr, p.Dump())
		default:
		}
		return spare.Task != ""
	})
	if err := w.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-w.Over
	run, _ := scratch.LastRun(p.Events())
	p.MustBeGone(2*time.Second, "the kill")
	if e := p.Start(env, args...).End(); e.Exit != 0 {
		t.Fatalf("exit %d\n%s", e.Exit, e.Stderr)
	}
	if left := p.Alive(run); len(left) > 0 {
		t.Errorf("left alive: %v", left)
	}
	open := map[string]bool{}
	for _, e := range p.Events() {
		switch b := e.Body.(type) {
		case event.SpareStarted:
			open[b.Task] = true
		case event.SpareEnded:
			if b.Cost != 0 {
				t.Errorf("a process without a prompt cost %d", b.Cost)
			}
			delete(open, b.Task)
		case event.AttemptStarted:
			delete(open, b.Task)
		}
	}
	if len(open) > 0 {
		data, _ := json.Marshal(open)
		t.Errorf("spares without an end: %s", data)
	}
}
