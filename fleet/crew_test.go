package fleet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wavex/fleet/ferry"
	"wavex/fleet/remote"
	"wavex/fleet/remote/wire"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// gitIn returns the output of git without its last newline.
func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return strings.TrimSuffix(testrepo.Git(t, dir, args...), "\n")
}

// crew is an engine with workers, and a git remote between them and runs.
type crew struct {
	t      testing.TB
	engine *memoryEngine
	bare   string
	agent  runner.Agent // of all workers
	key    *wire.Key    // of the workers; nil: none
	stop   func()       // stops the first one
}

// heartbeat is short, since a worker learns at a beat that its attempt is cancelled, and on a busy machine a beat takes
// seconds. The engine keeps no time.
const heartbeat = 15 * time.Second

// newCrew returns a crew with one worker.
func newCrew(t testing.TB, agent runner.Agent) *crew {
	t.Helper()
	f := &crew{t: t, engine: newMemoryEngine(), bare: filepath.Join(t.TempDir(), "bare.git"), agent: agent}
	gitIn(t, t.TempDir(), "init", "-q", "--bare", f.bare)
	f.stop = f.addWorker("w1")
	return f
}

// addWorker starts a worker, and returns the function that stops it.
func (f *crew) addWorker(name string) (stop func()) {
	return f.engine.StartWorker(f.t, name, f.bare, f.key, f.agent)
}

// warn shows a warning in the log of the test.
func (f *crew) warn(err error) { f.t.Log(err) }

// movedSession is the id of sessions that replace one on another worker.
const movedSession = "33333333-3333-4333-8333-333333333333"

// runner returns the Runner of a run whose repository is dir.
func (f *crew) runner(dir string) *remote.Runner {
	return &remote.Runner{Engine: f.engine, Ferry: ferry.New(f.t.Context(), dir, f.bare, os.Environ()),
		Key: f.key, Repo: f.bare, Release: "test", Subject: func(task string) string { return "Do " + task },
		NewSession: func() string { return movedSession }, QueueWait: time.Minute, Heartbeat: heartbeat,
		Poll: 20 * time.Millisecond, StopWait: time.Minute, Warn: f.warn}
}

// request returns a request in a fresh repository.
func (f *crew) request(task string) (dir string, req runner.Request) {
	dir = testrepo.Repo(f.t, testrepo.Files{"f": "1\n"})
	return dir, runner.Request{Run: "r-1", Task: task, Attempt: 1, Commit: gitIn(f.t, dir, "rev-parse", "HEAD"), Dir: ".",
		LogDir: filepath.Join(f.t.TempDir(), task, "attempt-1"), Baseline: filepath.Join(f.t.TempDir(), task, "base.json"),
		Prompt: "do it", Session: "22222222-2222-4222-8222-222222222222"}
}
