package temporal_test

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"wavex/fleet/remote"
	"wavex/fleet/worker"
	"wavex/internal/testrepo"
)

// This file measures the figures of docs/workers.md.

// BenchmarkDispatch measures the time from a start to the worker, with one attempt at a time.
func BenchmarkDispatch(b *testing.B) {
	r := newRig(b, sharedServer(b))
	given := make(chan time.Time, 1)
	r.serve(func(task worker.Task) {
		given <- time.Now()
		testrepo.Must(b, task.Complete(context.Background(), nil))
	})
	var times []time.Duration
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		id := fmt.Sprint("d", i)
		testrepo.Must(b, r.client.Start(b.Context(), r.activity(id)))
		times = append(times, (<-given).Sub(began))
		if _, end, err := r.client.Wait(b.Context(), r.id(id)); end != remote.Completed {
			b.Fatal(end, err)
		}
	}
	slices.Sort(times)
	b.ReportMetric(times[len(times)/2].Seconds()*1000, "p50-ms")
}

// BenchmarkEmptyAttempts measures 1,000 attempts without work, 64 at a time.
func BenchmarkEmptyAttempts(b *testing.B) {
	r := newRig(b, sharedServer(b))
	r.serve(func(task worker.Task) { testrepo.Must(b, task.Complete(context.Background(), nil)) })
	for round := 0; b.Loop(); round++ {
		ids := make(chan string)
		var waiting sync.WaitGroup
		for range 64 {
			waiting.Go(func() {
				for id := range ids {
					testrepo.Must(b, r.client.Start(b.Context(), r.activity(id)))
					if _, end, err := r.client.Wait(b.Context(), r.id(id)); end != remote.Completed {
						b.Error(id, end, err)
					}
				}
			})
		}
		for i := range 1000 {
			ids <- fmt.Sprintf("e%d-%d", round, i)
		}
		close(ids)
		waiting.Wait()
	}
}

// BenchmarkMemory measures the memory of a worker that waits, of a process that waits for 300 attempts beyond its own
// before, and of a coordinator with 300 attempts.
func BenchmarkMemory(b *testing.B) {
	r := newRig(b, sharedServer(b))
	for b.Loop() {
		p := r.startProcess("w1")
		for list := []remote.Worker(nil); len(list) == 0; {
			var err error
			list, err = r.client.Workers(b.Context(), r.queue())
			testrepo.Must(b, err)
		}
		b.ReportMetric(resident(b, p.Process.Pid, "VmRSS"), "worker-MB")
		p.kill()
	}
	before := resident(b, os.Getpid(), "VmRSS")
	ctx, cancel := context.WithCancel(b.Context())
	var waiting sync.WaitGroup
	for i := range 300 {
		id := fmt.Sprint("m", i)
		testrepo.Must(b, r.client.Start(b.Context(), r.activity(id)))
		waiting.Go(func() { _, _, _ = r.client.Wait(ctx, r.id(id)) })
	}
	b.ReportMetric(resident(b, os.Getpid(), "VmRSS")-before, "300-waits-MB")
	cancel()
	waiting.Wait()
	own, program := coordinatorMemory(b, r, 300)
	b.ReportMetric(own, "coordinator-MB")
	b.ReportMetric(program, "program-MB")
}

// coordinatorMemory returns the memory of a coordinator whose attempts are all with workers, and that of the pages of
// its program, in MB.
func coordinatorMemory(b *testing.B, r *rig, attempts int) (own, program float64) {
	p := r.place
	p.Name, p.Parallel, p.Heartbeat = fmt.Sprintf("20260101-000000-m%d", os.Getpid()), attempts, 10*time.Minute
	p.Dir = testrepo.Repo(b, testrepo.Files{".gitignore": ".loop\n", "f": "1\n"})
	var tasks []string
	for i := range attempts {
		tasks = append(tasks, fmt.Sprintf(`{"id":"m%d","subject":"Do it","command":"true"}`, i))
	}
	p.Plan = `{"tasks":[` + strings.Join(tasks, ",") + `]}`
	ctx, cancel := context.WithCancel(b.Context())
	taken := make(chan struct{}, attempts)
	var serving sync.WaitGroup
	defer serving.Wait()
	defer cancel()
	serving.Go(func() {
		err := r.client.Serve(ctx, []string{r.queue()}, attempts, func(worker.Task) {
			taken <- struct{}{}
			<-ctx.Done()
		})
		if err != nil {
			b.Error(err)
		}
	})
	c := start(b, "coordinate", encode(b, p))
	for range attempts {
		<-taken
	}
	return resident(b, c.Process.Pid, "RssAnon"), resident(b, c.Process.Pid, "RssFile")
}

// resident returns the memory of a process of a kind, as the kernel names it, in MB.
func resident(b *testing.B, pid int, kind string) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	testrepo.Must(b, err)
	m := regexp.MustCompile(kind + `:\s+(\d+) kB`).FindSubmatch(text)
	kb, err := strconv.Atoi(string(m[1]))
	testrepo.Must(b, err)
	return float64(kb) / 1024
}
