package statefiles

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"wavex/internal/event"
	"wavex/internal/report/reporttest"
	"wavex/runner"
)

// In a long run the files are written a few times per second, not once per event, and the last
// state is always written.
func TestWritesAreCoalesced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 500 // the keys of a hand-made plan are computed n times
		tasks := make(reporttest.Tasks, n)
		for i := range tasks {
			tasks[i].ID, tasks[i].Subject = fmt.Sprint(i+1), "Work"
		}
		var mu sync.Mutex
		var writes []int64
		w := newWriter(func(b *model) error {
			mu.Lock()
			defer mu.Unlock()
			writes = append(writes, b.seq)
			return nil
		}, minInterval, func(error) {})
		done := func() []int64 {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(writes)
		}
		s := reporttest.New(t, "long", tasks)
		s.Show = w.Event
		c := reporttest.Config()
		c.Limits.NoIterations, c.Limits.NoUSD = true, true
		s.StartRun(c).StartWave(1)
		began := time.Now()
		for i := range tasks {
			s.StartAttempt(tasks[i].ID, 0)
			time.Sleep(time.Millisecond) // fake time of the synctest bubble
			s.EndAttempt(tasks[i].ID, runner.Result{Outcome: runner.Done}, event.Completed, nil)
		}
		most := int(time.Since(began)/minInterval) + 2
		if seen := done(); len(seen) < 2 || len(seen) > most {
			t.Errorf("%d writes in %s, want at most %d", len(seen), time.Since(began), most)
		}
		time.Sleep(2 * minInterval)
		seen := done()
		if last := seen[len(seen)-1]; last != s.S.Seq {
			t.Errorf("in a pause the files are at event %d of %d", last, s.S.Seq)
		}
		if err := w.Close(); err != nil || len(done()) != len(seen) {
			t.Errorf("closing wrote again although nothing was new, %v", err)
		}
		if !slices.IsSorted(seen) {
			t.Errorf("the files went back: %v", seen)
		}
	})
}

// Close writes the changes that the pace has delayed.
func TestCloseWritesTheLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var last int64
		w := newWriter(func(b *model) error { last = b.seq; return nil }, time.Hour, func(error) {})
		s := reporttest.MixedRun(t, w.Event)
		if err := w.Close(); err != nil || last != s.S.Seq {
			t.Errorf("the files are at event %d of %d, %v", last, s.S.Seq, err)
		}
	})
}

// A write error is reported once, and the writer continues.
func TestFailuresAreReportedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		full := errors.New("disk full")
		var fail atomic.Bool
		var told, wrote atomic.Int32
		w := newWriter(func(b *model) error {
			if fail.Load() {
				return full
			}
			wrote.Add(1)
			return nil
		}, minInterval, func(err error) {
			if !errors.Is(err, full) {
				t.Errorf("told %v", err)
			}
			told.Add(1)
		})
		step := func() { time.Sleep(2 * minInterval); synctest.Wait() }
		s := reporttest.New(t, "", reporttest.Tasks{{"1", "", nil}})
		s.Show = w.Event
		fail.Store(true)
		s.StartRun(reporttest.Config())
		step()
		s.StartWave(1)
		step()
		if n := told.Load(); n != 1 {
			t.Errorf("told %d times, want once", n)
		}
		fail.Store(false)
		s.StartAttempt("1", 0)
		step()
		fail.Store(true)
		s.EndAttempt("1", runner.Result{Outcome: runner.Done}, event.Completed, nil)
		step()
		if err := w.Close(); !errors.Is(err, full) || told.Load() != 2 || wrote.Load() != 1 {
			t.Errorf("closed with %v, told %d times, wrote %d times", err, told.Load(), wrote.Load())
		}
	})
}
