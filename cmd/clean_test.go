package cmd

import (
	"context"
	"slices"
	"strings"
	"testing"

	"wavex/internal/event"
	"wavex/internal/gitwork"
	"wavex/internal/loop"
	"wavex/internal/testrepo"
)

// cleaner is a Fleet that records the remotes that it cleans.
type cleaner struct {
	Fleet
	cleaned []string
}

func (f *cleaner) Clean(_ context.Context, _ string, c event.Config, dry bool) (int, error) {
	if !dry {
		f.cleaned = append(f.cleaned, c.Workers.Git)
	}
	return 1, nil
}

// The refs of a run are found on each remote that one of its sessions used for workers. The core leaves them.
func TestCleanAllRemotes(t *testing.T) {
	t.Parallel()
	dir := testrepo.Repo(t, nil)
	c := event.Config{Run: "20260102-030405-abcd", Dir: dir, Loop: loop.In(dir)}
	bodies := []event.Body{event.RunStarted{Config: c}, event.RunEnded{Status: event.RunPaused}}
	c.Workers.Engine = "temporal://127.0.0.1:7233/default"
	for _, c.Workers.Git = range []string{"one", "other"} {
		bodies = append(bodies, event.RunResumed{Config: c}, event.RunEnded{Status: event.RunPaused})
	}
	bodies = append(bodies, event.RunResumed{Config: c}, event.RunEnded{Status: event.RunComplete})
	testrepo.Journal(t, c.Loop, bodies...)
	fleet := &cleaner{}
	for _, f := range []Fleet{fleet, nil} {
		for _, dry := range []bool{true, false} {
			items, err := remoteItems(t.Context(), f, dir, "", dry)
			if err != nil || len(items) != 2 || slices.ContainsFunc(items, func(it gitwork.CleanupItem) bool {
				return it.Run != c.Run || it.Kind != "refs" || it.Removed == (f == nil)
			}) {
				t.Errorf("%+v, %v", items, err)
			}
		}
	}
	if got := strings.Join(fleet.cleaned, " "); got != "one other" {
		t.Errorf("cleaned %s", got)
	}
}
