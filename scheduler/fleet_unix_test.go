//go:build unix

package scheduler

import (
	"context"
	"encoding/json"
	"flag"
	"math"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/internal/testrepo"
	"wavex/runner"
)

var fleetTasks = flag.Int("fleet", 2000, "tasks of TestFleet, with one worker for each hundred")

// fleet makes attempts on workers that take them from one queue, each after the delay of an engine.
type fleet struct {
	queue  chan fleetTask
	length func(task string) time.Duration
}

type fleetTask struct {
	length time.Duration
	over   chan struct{}
}

// dispatch is the time from a start to a worker, as measured with Temporal on one machine.
const dispatch = 50 * time.Millisecond

func (f *fleet) Attempt(_ context.Context, req runner.Request, _ runner.Hooks) runner.Result {
	t := fleetTask{f.length(req.Task), make(chan struct{})}
	f.queue <- t
	<-t.over
	return runner.Result{Outcome: runner.Done, Session: req.Session, Cost: 1000, Priced: "result", Turns: 1}
}

func (f *fleet) work() {
	for t := range f.queue {
		time.Sleep(dispatch + t.length) // the clock of the test
		close(t.over)
	}
}

// encoded is a journal that encodes its records and drops them.
type encoded struct{ bytes int }

func (j *encoded) Append(e event.Event) error {
	data, err := json.Marshal(e)
	j.bytes += len(data)
	return err
}

func (*encoded) Write() error { return nil }
func (*encoded) Sync() error  { return nil }

// TestFleet runs many agents of simulated length on many workers. The run takes little longer than the lower bound of
// every schedule. With -v it prints the cost of the loop, see fleet/docs/workers.md.
func TestFleet(t *testing.T) {
	workers := max(1, *fleetTasks/100)
	rnd := rand.New(rand.NewPCG(5, 6))
	p := mustPlan(t, layered(rnd, *fleetTasks, 10*workers, func() (string, float64) {
		return `"subject":"x","verify":["true"]`, 300 * math.Exp(0.5*rnd.NormFloat64())
	}))
	length := func(task string) time.Duration {
		i, _ := p.Lookup(task)
		return time.Duration(p.Tasks[i].Estimate.Seconds * float64(time.Second))
	}
	c := testConfig()
	c.Schedule, c.Parallel, c.Review, c.Counsel = event.Eager, workers, event.ReviewOff, false
	c.Limits = budget.Limits{NoUSD: true, NoIterations: true}
	least := makespanLowerBound(p, workers, func(i int) float64 { return length(p.Tasks[i].ID).Seconds() })
	var took time.Duration
	began := cpuTime(t)
	journal := &encoded{}
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{queue: make(chan fleetTask), length: length}
		for range workers {
			go f.work()
		}
		defer close(f.queue)
		b := newFixture(t, p, c)
		b.Runner, b.Journal = f, journal
		start := time.Now()
		if end := b.run(t); end.Status != event.RunComplete || end.Tasks.Completed != *fleetTasks {
			t.Fatalf("%+v", end)
		}
		took = time.Since(start)
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		t.Logf("%d workers: heap %d MB", workers, m.HeapAlloc>>20)
	})
	ratio := took.Seconds() / least
	t.Logf("%d tasks: %s of work in %s, %.3f of the bound; %s of CPU and %d bytes of journal a task", *fleetTasks,
		time.Duration(least*float64(workers)*float64(time.Second)).Round(time.Hour), took.Round(time.Minute), ratio,
		(cpuTime(t)-began)/time.Duration(*fleetTasks), journal.bytes / *fleetTasks)
	if ratio < 1 || ratio > 1.15 {
		t.Errorf("the run took %.3f of the bound", ratio)
	}
}

// cpuTime returns the CPU time of this process.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	testrepo.Must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
