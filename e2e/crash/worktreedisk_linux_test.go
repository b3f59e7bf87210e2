package crash

// This file runs out of space for worktrees, before a run and in it, with both kinds of worktrees. The .loop is on a
// tmpfs of its own.

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wavex/e2e/scratch"
	"wavex/internal/event"
)

// kindsOfTrees has the kinds of worktrees, each with a size of the disk that is too small for them: a checkout has
// 1 MB, and the plan needs four, or one for overlays.
var kindsOfTrees = map[string]string{"pool": "size=3m", "overlay": "size=900k"}

// A run whose worktrees have too little space is refused before its first attempt, and completes with space.
func TestTooLittleRoomForWorktrees(t *testing.T) {
	t.Parallel()
	if !mountable(t) {
		return
	}
	for trees, small := range kindsOfTrees {
		t.Run(trees, func(t *testing.T) {
			t.Parallel()
			p := newLargeProject(t, trees)
			scratch.Mount(t, p.Loop(), small, 0)
			e := p.Rehearse()
			e.MustSay(t, 5, "are free", "make room on the disk of .loop")
			for _, ev := range p.Events() {
				if _, started := ev.Body.(event.AttemptStarted); started {
					t.Errorf("an attempt started:\n%s", e.Stderr)
				}
			}
			scratch.Remount(t, p.Loop(), "size=64m", 0)
			p.MustComplete()
			p.mustHaveTrees(trees)
			p.MustAddUp(false)
			p.mustHaveWork()
		})
	}
}

// The space runs out while agents work in worktrees: the run stops, and with space again it completes without
// repeating or losing work.
func TestNoRoomLeftForWorktrees(t *testing.T) {
	t.Parallel()
	if !mountable(t) {
		return
	}
	for trees := range kindsOfTrees {
		t.Run(trees, func(t *testing.T) {
			t.Parallel()
			p := newLargeProject(t, trees)
			const waits = "rm gone; touch ../../../.cache/c; until test -e ../../../.cache/go; do sleep 0.02; done"
			p.Write("plan.json", strings.ReplaceAll(overlaysPlan, "rm gone", waits))
			p.git("commit", "-qam", "second")
			if err := os.Mkdir(filepath.Join(p.Dir, ".cache"), 0o755); err != nil {
				t.Fatal(err)
			}
			scratch.Mount(t, p.Loop(), "size=64m", 0)
			w := p.Start(nil, "run", "plan.json", "--agent", "rehearse", "--output", "json")
			mustHave(p.Project, ".cache/c")
			fill(t, filepath.Join(p.Loop(), "fill"))
			p.Write(".cache/go", "")
			w.End().MustSay(t, 5, "no space left on device", ".loop")
			p.MustBeGone(scratch.GoneTime, "the end")
			if err := os.Remove(filepath.Join(p.Loop(), "fill")); err != nil {
				t.Fatal(err)
			}
			if e := p.Run("resume", "--output", "json"); e.Exit != 0 {
				t.Fatalf("resume: exit %d\n%s\n%s", e.Exit, e.Stderr, p.Dump())
			}
			p.mustHaveTrees(trees)
			p.MustAddUp(true)
			p.mustHaveWork()
		})
	}
}

// newLargeProject is newRepoProject with files of 1 MB.
func newLargeProject(t *testing.T, trees string) repoProject {
	t.Helper()
	p := newRepoProject(t, trees)
	p.Write("base", strings.Repeat("0123456789abcdef", 1<<16))
	p.git("commit", "-qam", "large")
	return p
}

// mustHaveTrees asserts that the last run had worktrees of a kind.
func (p repoProject) mustHaveTrees(trees string) {
	p.T.Helper()
	if p.hasOverlays() != (trees == "overlay") {
		p.T.Errorf("the worktrees are not of the kind %s", trees)
	}
}
