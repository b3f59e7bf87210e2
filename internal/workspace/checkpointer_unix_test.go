//go:build unix

package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"wavex/internal/event"
	"wavex/internal/testrepo"
	"wavex/runner"
	"wavex/scheduler"
)

// slowRepo returns a repository in which git waits for ever when it adds the file slow, after it has opened the
// returned pipe.
func slowRepo(t *testing.T) (dir, pipe string) {
	t.Helper()
	dir, pipe = testrepo.Repo(t, testrepo.Files{".gitignore": ".loop\n", ".gitattributes": "slow filter=wait\n"}),
		filepath.Join(t.TempDir(), "pipe")
	testrepo.NamedPipe(t, pipe)
	testrepo.Git(t, dir, "config", "filter.wait.clean", "echo >'"+pipe+"'; exec sleep 1000")
	testrepo.Git(t, dir, "config", "filter.wait.required", "true")
	return dir, pipe
}

// An interruption cuts the checkpoint before the run at once, and no attempt begins. The next session makes it again.
func TestInterruptedCheckpoint(t *testing.T) {
	t.Parallel()
	dir, pipe := slowRepo(t)
	testrepo.Files{"slow": "mine\n"}.Write(t, dir)
	begun := false
	b := newFixture(t, dir, easyPlan, config(dir, "shared"), func(string, runner.Request) error {
		begun = true
		return nil
	})
	b.addCheckpoints(func(err error) { t.Error(err) })
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		_, _ = os.ReadFile(pipe) // git is adding the file
		cancel(scheduler.ErrInterrupted)
	}()
	req, err := b.loop.Request(b.loop.State, 0, event.AttemptStarted{Task: "a", Attempt: 1})
	testrepo.Must(t, err)
	res := b.loop.Runner.Attempt(ctx, req, runner.Hooks{})
	if res.Outcome != runner.Interrupted || begun || !res.Contained {
		t.Errorf("%+v, begun %v", res, begun)
	}
	if got := runCheckpoint(t, dir); got != "" {
		t.Errorf("the checkpoint has %q", got)
	}
	testrepo.Git(t, dir, "config", "filter.wait.clean", "cat")
	points := b.addCheckpoints(func(err error) { t.Error(err) })
	b.start("a")
	points.Seal(t.Context(), false)
	if got := runCheckpoint(t, dir); got != ".gitattributes .gitignore slow" {
		t.Errorf("the checkpoint has %q", got)
	}
}

// The checkpoint at the end of an interrupted session has little time.
func TestInterruptedSeal(t *testing.T) {
	t.Parallel()
	dir, _ := slowRepo(t)
	b := newFixture(t, dir, easyPlan, config(dir, "shared"), func(dir string, _ runner.Request) error {
		testrepo.Files{"slow": "theirs\n"}.Write(t, dir)
		return nil
	})
	var warned []error
	points := b.addCheckpoints(func(err error) { warned = append(warned, err) })
	b.start("a")
	points.Seal(t.Context(), true)
	if len(warned) != 1 || !errors.Is(warned[0], errSaveTimeout) {
		t.Errorf("warned %v", warned)
	}
}
