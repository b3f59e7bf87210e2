package workspace

import (
	"context"
	"errors"
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/testrepo"
	"wavex/runner"
)

// A worktree that could not be released is released later, at the latest at the end.
func TestReleaseIsRetried(t *testing.T) {
	t.Parallel()
	dir := testrepo.Repo(t, testrepo.Files{"x": "x\n"})
	b := newFixture(t, dir, `{"tasks":[{"id":"a","subject":"a"},{"id":"b","subject":"b"},{"id":"c","subject":"c"}]}`,
		config(dir, "worktree"), writes)
	b.attempt("a")
	first := b.attemptDir("a")
	b.emit(event.AttemptEnded{Task: "a", Status: event.Failed})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	b.loop.Runner.Attempt(ctx, runner.Request{Run: "r-1", Task: "b", Attempt: 1, Dir: dir}, runner.Hooks{})
	if now := b.attemptDir("a"); now != first {
		t.Fatal("the worktree could be given back, and the test shows nothing")
	}
	if res := b.attempt("c"); res.Outcome != runner.Done {
		t.Errorf("%+v", res)
	}
	third := b.attemptDir("c")
	if gone := b.attemptDir("a"); gone != dir || third != first {
		t.Errorf("a is in %s and c in %s, want c in %s", gone, third, first)
	}
	b.emit(event.AttemptEnded{Task: "c", Status: event.Failed, Blocked: []string{"b"}})
	if err := b.releaseFailed(ctx); err == nil {
		t.Error("given back after all was stopped")
	}
	testrepo.Must(t, b.Close(t.Context()))
	if trees := testrepo.Git(t, dir, "worktree", "list"); strings.Count(trees, "\n") != 1 {
		t.Errorf("left behind:\n%s", trees)
	}
}

func (b *fixture) attemptDir(task string) string {
	in, _, done := b.AttemptDir(b.Context(), task, b.dir)
	done()
	return in
}
