package fleet

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"wavex/runner"
)

// BenchmarkAttempt measures attempts at a command that does nothing, one at a time, with an engine in memory: the git
// of both machines, with the worktree.
func BenchmarkAttempt(b *testing.B) {
	f := newCrew(b, nil)
	dir, req := f.request("a")
	req.Command = "true"
	r := f.runner(dir)
	var times []time.Duration
	for b.Loop() {
		req.Attempt++
		req.LogDir = filepath.Join(b.TempDir(), fmt.Sprint("attempt-", req.Attempt))
		began := time.Now()
		if res := r.Attempt(b.Context(), req, runner.Hooks{}); res.Outcome != runner.Done {
			b.Fatalf("%+v", res)
		}
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	b.ReportMetric(times[len(times)/2].Seconds()*1000, "p50-ms")
}
