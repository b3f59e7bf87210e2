package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
	"wavex/runner"
)

const easyPlan = `{"tasks":[{"id":"a","subject":"a"},{"id":"b","subject":"b","command":"true"}]}`

// runCheckpoint returns the files of the checkpoint before the run, or "".
func runCheckpoint(t *testing.T, dir string) string {
	t.Helper()
	const ref = "refs/wavex/r-1.points/wave/1"
	if testrepo.Git(t, dir, "for-each-ref", ref) == "" {
		return ""
	}
	return strings.Join(strings.Fields(testrepo.Git(t, dir, "ls-tree", "-r", "--name-only", ref)), " ")
}

// A session makes the checkpoint of an earlier one again only if no attempt can have changed files since.
func TestCheckpointOfAnEarlierSession(t *testing.T) {
	t.Parallel()
	cut := runner.Result{Outcome: runner.Interrupted, Reason: "cut"}
	turn := cut
	turn.Turns = 1
	for name, c := range map[string]struct {
		task string
		last runner.Result
		made bool
	}{
		"cut before its first response": {"a", cut, true},
		"cut in its turn":               {"a", turn, false},
		"a command":                     {"b", cut, false},
		"done":                          {"a", runner.Result{Outcome: runner.Done}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := testrepo.Repo(t, testrepo.Files{".gitignore": ".loop\n"})
			b := newFixture(t, dir, easyPlan, config(dir, "shared"), writes)
			s := b.loop.State
			i, _ := s.Index(c.task)
			key := s.Tasks[i].Key
			testrepo.Must(t, s.Replay([]event.Event{{Body: event.RunStarted{Config: config(dir, "shared")}},
				{Body: event.WaveStarted{Wave: 1}},
				{Body: event.AttemptStarted{Task: c.task, Key: key, Wave: 1, Attempt: 1, Try: 1, Why: "first"}},
				{Body: event.AttemptEnded{Task: c.task, Key: key, Attempt: 1, Status: event.Pending, Result: c.last}}}))
			var warned []string
			points := b.addCheckpoints(func(err error) { warned = append(warned, err.Error()) })
			b.start("a")
			b.start("b")
			points.Seal(t.Context(), false)
			if got := runCheckpoint(t, dir); (got != "") != c.made {
				t.Errorf("the checkpoint has %q", got)
			}
			if c.made != (len(warned) == 0) || !c.made && !strings.Contains(warned[0], "no checkpoint from before this run") {
				t.Errorf("warned %q", warned)
			}
		})
	}
}

// A checkpoint of more than 64 MB is not made. The run goes on, and the user is told once.
func TestCheckpointTooLarge(t *testing.T) {
	t.Parallel()
	dir := testrepo.Repo(t, testrepo.Files{".gitignore": ".loop\n"})
	testrepo.Must(t, os.WriteFile(filepath.Join(dir, "large"), nil, 0o644))
	testrepo.Must(t, os.Truncate(filepath.Join(dir, "large"), maxNew+1))
	b := newFixture(t, dir, easyPlan, config(dir, "shared"), writes)
	var warned []string
	points := b.addCheckpoints(func(err error) { warned = append(warned, err.Error()) })
	for _, task := range []string{"a", "b"} {
		if res := b.start(task); res.Outcome != runner.Done {
			t.Errorf("%+v", res)
		}
	}
	points.Seal(t.Context(), false)
	if len(warned) != 1 || !strings.Contains(warned[0], "new and changed files have 65 MB, more than 64 MB") {
		t.Errorf("warned %q", warned)
	}
	refs := testrepo.Git(t, dir, "for-each-ref", "--format=%(refname)")
	if refs != "refs/heads/main\nrefs/wavex/r-1.here\n" {
		t.Errorf("there is %s", refs)
	}
}

// Worktrees and folders without git have no checkpoints, and no warning.
func TestNoCheckpointOfTheRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dir  string
		mode event.Isolation
	}{
		"worktrees": {testrepo.Repo(t, testrepo.Files{"x": "x\n"}), "worktree"},
		"no git":    {t.TempDir(), "shared"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, c.dir, easyPlan, config(c.dir, c.mode), writes)
			points := b.addCheckpoints(func(err error) { t.Error(err) })
			if res := b.start("a"); res.Outcome != runner.Done {
				t.Errorf("%+v", res)
			}
			points.Seal(t.Context(), false)
			if c.mode == "worktree" && strings.Contains(testrepo.Git(t, c.dir, "for-each-ref"), ".points/") {
				t.Error("there is a checkpoint")
			}
		})
	}
}

// The copies of the user's index are in the run's folder. A session removes those of a killed one.
func TestIndexesOfCheckpoints(t *testing.T) {
	t.Parallel()
	dir, log := testrepo.Repo(t, testrepo.Files{".gitignore": ".loop\n", "x": "x\n"}), filepath.Join(t.TempDir(), "log")
	testrepo.Git(t, dir, "config", "filter.tell.clean", `echo "$GIT_INDEX_FILE" >> '`+log+`'; cat`)
	testrepo.Files{".gitattributes": "x filter=tell\n", "x": "mine\n",
		".loop/runs/r-1/index/wavex-index-1/index": "of a session that was killed"}.Write(t, dir)
	c := config(dir, "shared")
	b := newFixture(t, dir, easyPlan, c, func(string, runner.Request) error { return nil })
	points := b.addCheckpoints(func(err error) { t.Error(err) })
	all := c.Loop.Run("r-1", loop.Index)
	if _, err := os.Stat(all); err == nil {
		t.Error("the index of the killed session is left")
	}
	if res := b.start("a"); res.Outcome != runner.Done {
		t.Errorf("%+v", res)
	}
	points.Seal(t.Context(), false)
	text, err := os.ReadFile(log)
	testrepo.Must(t, err)
	for _, index := range strings.Fields(string(text)) {
		if !strings.HasPrefix(index, all) {
			t.Errorf("an index is %s", index)
		}
	}
	if _, err := os.Stat(all); err == nil {
		t.Error("an index is left")
	}
}
