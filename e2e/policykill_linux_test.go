package e2e

// This file freezes and kills wavex while the CLI waits for its answer about a tool call.

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wavex/e2e/rig"
	"wavex/internal/fakeapi"
	"wavex/internal/question"
	"wavex/internal/testrepo"
)

// A CLI whose wavex is frozen waits, and carries the call out when wavex goes on. If wavex is killed, the
// call is not carried out: no process of it is alive a second later, and the next attempt is told which call it was.
func TestKilledWhileAsked(t *testing.T) {
	t.Parallel()
	onCLIs(t, false, killedWhileAsked)
}

func killedWhileAsked(t *testing.T, c cli) {
	gate := fakeapi.NewLatch()
	main := &fakeapi.Agent{When: task("T-001"), Steps: []fakeapi.Reply{
		fakeapi.Use(fakeapi.Bash("touch frozen")).WithUsage(use).WaitingFor(gate),
		fakeapi.Use(fakeapi.Bash("echo early >> work.txt; sleep 300 && true")).WithUsage(use),
		fakeapi.Use(fakeapi.Bash("echo whole > work.txt")).WithUsage(use), report("true")}}
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{main}})
	env := Env(t, srv)
	mark := env[slices.IndexFunc(env, func(s string) bool { return strings.HasPrefix(s, "HOME=") })]
	r := newRepo(t, "-- plan.json --\n"+`{"budget": {"usd": 4}, "isolation": "shared", "defaults": {"model": "`+model+
		`", "allowedTools": ["Bash"], "policy": {"ask": ["sleep", "touch"]}}, "tasks": [{"id": "T-001", "subject": "Work", `+
		`"files": [{"path": "work.txt", "action": "create"}], "verify": ["grep -qx whole work.txt"]}]}`+"\n").on(c)
	w := r.wavexEnv(env, "run", "plan.json", "--output", "json", "--counsel", "off", "--sandbox", "off")
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	if _, err := srv.Wait(ctx, task("T-001")); err != nil {
		t.Fatal(err)
	}
	runs, err := filepath.Glob(filepath.Join(r.dir, ".loop", "runs", "*"))
	if err != nil || len(runs) != 1 {
		t.Fatalf("runs %v, %v", runs, err)
	}
	dir := question.Dir(filepath.Join(runs[0], "questions"))
	release, err := dir.Watch()
	testrepo.Must(t, err)
	defer release()
	gate.Open()
	isOpen := func(id string) bool {
		open, _ := dir.Open(time.Now())
		return len(open) == 1 && open[0].ID == id
	}
	frozenAndContinued(t, w, dir, isOpen)
	if !rig.Until(ctx, func() bool { return isOpen("q2") }) {
		t.Fatal("no second question is open")
	}
	transcribed(t, env, "echo early") // a session that is not written cannot be continued
	testrepo.Must(t, w.cmd.Process.Signal(unix.SIGSTOP))
	if _, err := os.Stat(filepath.Join(r.dir, "work.txt")); err == nil {
		t.Error("the call ran beside a frozen wavex")
	}
	testrepo.Must(t, w.cmd.Process.Kill())
	mustBeGone(t, mark, time.Second, "the kill")
	_, missing := os.Stat(filepath.Join(r.dir, "work.txt"))
	if missing == nil {
		t.Error("the call ran without an answer")
	}
	w.end()
	e := r.wavexEnv(env, "resume", "--output", "json").end()
	asked := srv.Messages(task("T-001"))
	if e.exit != 0 || len(asked) != 4 || !strings.Contains(asked[2].Users(), "Your work on task T-001 was interrupted") {
		t.Fatalf("resumed: exit %d, %d requests; the third is told %q\n%s", e.exit, len(asked),
			asked[min(2, len(asked)-1)].LastUser(), e.stderr)
	}
	const told = "No file has changed since."
	for name, text := range map[string]string{"agent": asked[2].Users(), "record": e.stdout} {
		if !strings.Contains(text, "Bash echo early") || !strings.Contains(text, told) {
			t.Errorf("the %s does not tell %q: %s", name, told, text)
		}
	}
}

// frozenAndContinued freezes wavex at its first question. The answer counts and the call runs when wavex goes on, not
// before.
func frozenAndContinued(t *testing.T, w *wavexRun, dir question.Dir, isOpen func(id string) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	if !rig.Until(ctx, func() bool { return isOpen("q1") }) {
		t.Fatal("no question is open")
	}
	pid := w.cmd.Process.Pid
	isFrozen := func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && bytes.Contains(stat, []byte(") T "))
	}
	ran := func() bool { _, err := os.Stat(filepath.Join(w.cmd.Dir, "frozen")); return err == nil }
	testrepo.Must(t, w.cmd.Process.Signal(unix.SIGSTOP))
	if !rig.Until(ctx, isFrozen) {
		t.Fatal("wavex is not frozen")
	}
	if err := dir.Answer("q1", question.Answer{Choice: question.Once}, time.Now()); err != nil || ran() {
		t.Errorf("answered beside a frozen wavex: %v; the call ran: %v", err, ran())
	}
	testrepo.Must(t, w.cmd.Process.Signal(unix.SIGCONT))
	if !rig.Until(ctx, ran) {
		t.Error("the call did not run when wavex went on")
	}
}
