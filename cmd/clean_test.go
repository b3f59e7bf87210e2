package cmd

import (
	"path/filepath"
	"slices"
	"testing"

	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

// The refs of a run are found on each remote that one of its sessions used for workers.
func TestCleanAllRemotes(t *testing.T) {
	t.Parallel()
	dir := testrepo.Repo(t, nil)
	c := event.Config{Run: "20260102-030405-abcd", Dir: dir, Loop: loop.In(dir)}
	bodies := []event.Body{event.RunStarted{Config: c}, event.RunEnded{Status: event.RunPaused}}
	c.Workers.Engine = onEngine
	for range 2 {
		c.Workers.Git = filepath.Join(t.TempDir(), "bare.git")
		testrepo.Git(t, dir, "init", "-q", "--bare", c.Workers.Git)
		testrepo.Git(t, dir, "push", "-q", c.Workers.Git, "HEAD:refs/wavex/"+c.Run+".logs/a/1")
		bodies = append(bodies, event.RunResumed{Config: c}, event.RunEnded{Status: event.RunPaused})
	}
	bodies = append(bodies, event.RunResumed{Config: c}, event.RunEnded{Status: event.RunComplete})
	testrepo.Journal(t, c.Loop, bodies...)
	for _, dry := range []bool{true, false} {
		items, err := remoteItems(t.Context(), dir, "", dry)
		if err != nil || len(items) != 2 || slices.ContainsFunc(items, func(it gitwork.CleanupItem) bool {
			return it.Run != c.Run || it.Kind != "refs"
		}) {
			t.Errorf("%+v, %v", items, err)
		}
	}
	if refs := testrepo.Git(t, c.Workers.Git, "for-each-ref"); refs != "" {
		t.Errorf("the last remote still has %s", refs)
	}
}
