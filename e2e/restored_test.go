//go:build unix

package e2e

// This file tests session ids that the CLI already knows: it refuses to open one twice, and a
// .loop that was restored from an older state does not know the ids of later sessions.

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"wavex/budget"
	"wavex/internal/claude"
	"wavex/internal/fakeapi"
	"wavex/internal/loop"
	"wavex/internal/proc"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// A copy of .loop from the middle of a run replaces .loop after the end, and is resumed again:
// each time the same attempt of the same run is made once more.
func TestRestoredLoopContinues(t *testing.T) {
	t.Parallel()
	release := reserveProcesses(t, runProcesses)
	defer release()
	does := func(id string, times int) *fakeapi.Agent {
		once := []fakeapi.Reply{fakeapi.Use(fakeapi.Write(id, "done")).WithUsage(use), report("true")}
		return &fakeapi.Agent{Name: id, When: task(id), Steps: slices.Repeat(once, times)}
	}
	srv := fakeapi.New(t, fakeapi.Script{Prices: prices, Agents: []*fakeapi.Agent{does("a", 1), does("b", 2)}})
	r := newRepo(t, `
-- plan.json --
{"version": 1, "defaults": {"model": "`+model+`"}, "tasks": [
  {"id": "a", "subject": "Do it", "verify": [{"file": "a"}]},
  {"id": "b", "subject": "Do it", "verify": [{"file": "b"}], "blockedBy": ["a"]}]}
`)
	env := Env(t, srv)
	run := func(want int, args ...string) {
		t.Helper()
		if e := r.wavexIn(func() {}, env, append(args, "--plain")...).end(); e.exit != want {
			t.Fatalf("%v: exit %d, want %d\n%s", args, e.exit, want, e.stderr)
		}
	}
	loop, kept := loop.In(r.dir), t.TempDir()
	run(3, "run", "plan.json", "--max-iterations", "1", "--allow-short")
	testrepo.Must(t, os.CopyFS(kept, os.DirFS(string(loop))))
	for range 2 {
		run(0, "resume", "plan.json", "--max-iterations", "5")
		testrepo.Must(t, os.Remove(filepath.Join(r.dir, "b")))
		testrepo.Must(t, os.RemoveAll(string(loop)))
		testrepo.Must(t, os.CopyFS(string(loop), os.DirFS(kept)))
	}
}

func TestSessionInUseIsReplaced(t *testing.T) {
	t.Parallel()
	release := reserveProcesses(t, runProcesses)
	defer release()
	srv := serve(t, report("true"), report("true"))
	host := runner.Host{Env: proc.Inherit(Env(t, srv), nil)}
	cli := &claude.Agent{Host: host, Argv: []string{shared.cli.path}, Prices: budget.Prices{}}
	who := &runner.Local{Host: host, Agent: cli}
	dir := t.TempDir()
	attempt := func(n int) runner.Result {
		return who.Attempt(t.Context(), runner.Request{Run: "in-use-" + filepath.Base(dir), Task: "T", Attempt: n, Dir: dir,
			LogDir: filepath.Join(t.TempDir(), "log"), Prompt: "go", Session: session}, runner.Hooks{})
	}
	first, second := attempt(1), attempt(2)
	if first.Outcome != runner.Done || first.Session != session {
		t.Fatalf("the first: %+v", first)
	}
	if second.Outcome != runner.Done || second.Session == session || second.Session == "" {
		t.Errorf("the second: %+v", second)
	}
	if got := srv.Messages(nil); len(got) != 2 || got[1].Session() != second.Session {
		t.Errorf("%d requests, the last of another session than %s", len(got), second.Session)
	}
}
