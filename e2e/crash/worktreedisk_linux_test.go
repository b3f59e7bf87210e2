package crash

// This file runs out of space for worktrees in a run. The .loop is on a tmpfs of its own.

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wavex/e2e/rig"
	"wavex/e2e/scratch"
	"wavex/internal/event"
	"wavex/internal/testrepo"
)

// The space runs out while agents work in worktrees: the run stops, and with space again it completes without
// repeating or losing work.
func TestNoRoomLeftForWorktrees(t *testing.T) {
	t.Parallel()
	if !mountable(t) {
		return
	}
	p := newLargeProject(t)
	const waits = "rm gone; touch ../../../.cache/c; until test -e ../../../.cache/go; do sleep 0.02; done"
	p.Write("plan.json", strings.ReplaceAll(worktreesPlan, "rm gone", waits))
	p.git("commit", "-qam", "second")
	testrepo.Must(t, os.Mkdir(filepath.Join(p.Dir, ".cache"), 0o755))
	scratch.Mount(t, p.Loop(), "size=64m", 0)
	w := p.Start(nil, "run", "plan.json", "--agent", "rehearse", "--output", "json")
	mustHave(p.Project, ".cache/c")
	mustIntegrate(p.Project, "a", "b") // what git says of a full disk depends on the command
	fill(t, filepath.Join(p.Loop(), "fill"))
	p.Write(".cache/go", "")
	w.End().MustSay(t, 5, "no space left on device", ".loop")
	p.MustBeGone(scratch.GoneTime, "the end")
	testrepo.Must(t, os.Remove(filepath.Join(p.Loop(), "fill")))
	if e := p.Run("resume", "--output", "json"); e.Exit != 0 {
		t.Fatalf("resume: exit %d\n%s\n%s", e.Exit, e.Stderr, p.Dump())
	}
	p.MustAddUp(true)
	p.mustHaveWork()
}

// mustIntegrate waits until the work of tasks was brought together.
func mustIntegrate(p scratch.Project, tasks ...string) {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.T.Context(), scratch.Limit)
	defer cancel()
	if !rig.Until(ctx, func() bool {
		var completed []string
		for _, e := range p.Events() {
			if b, ok := e.Body.(event.IntegrationEnded); ok {
				completed = append(completed, b.Completed...)
			}
		}
		return !slices.ContainsFunc(tasks, func(id string) bool { return !slices.Contains(completed, id) })
	}) {
		p.T.Fatalf("%q were never brought together\n%s", tasks, p.Dump())
	}
}

// newLargeProject is newRepoProject with files of 1 MB.
func newLargeProject(t *testing.T) repoProject {
	t.Helper()
	p := newRepoProject(t)
	p.Write("base", strings.Repeat("0123456789abcdef", 1<<16))
	p.git("commit", "-qam", "large")
	return p
}
