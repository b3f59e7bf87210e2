package async_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"wavex/internal/async"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// calls records the calls of a worker, with their times since the start.
type calls struct {
	mu   sync.Mutex
	from time.Time
	at   []time.Duration
	last []bool
}

func (c *calls) add(last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.last = append(c.at, time.Since(c.from)), append(c.last, last)
}

func TestWorkerSharesCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := calls{from: time.Now()}
		w := async.Start(func(last bool) time.Duration {
			c.add(last)
			return time.Second
		})
		w.Wake()
		synctest.Wait()
		for range 10 { // during the pause
			w.Wake()
		}
		time.Sleep(5 * time.Second) // fake time of the bubble
		synctest.Wait()
		if want := []time.Duration{0, time.Second}; !slices.Equal(c.at, want) {
			t.Errorf("calls at %v, want %v", c.at, want)
		}
		w.Close()
		w.Wake()
		w.Close()
		synctest.Wait()
		if want := []bool{false, false, true}; !slices.Equal(c.last, want) {
			t.Errorf("calls with last %v, want %v", c.last, want)
		}
	})
}

// Close does not wait for the pause, and Stop does not wait for the call.
func TestWorkerStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, release := time.Now(), make(chan struct{})
		var ended atomic.Bool
		w := async.Start(func(last bool) time.Duration {
			if last {
				<-release
				ended.Store(true)
			}
			return time.Hour
		})
		w.Wake()
		synctest.Wait()
		done := w.Stop()
		synctest.Wait()
		if ended.Load() || time.Since(began) > 0 {
			t.Errorf("ended: %t, after %s", ended.Load(), time.Since(began))
		}
		close(release)
		<-done
		if !ended.Load() || time.Since(began) > 0 {
			t.Errorf("ended: %t, after %s", ended.Load(), time.Since(began))
		}
	})
}

// Every value that was put before Close is taken once, in the order of its sender.
func TestQueueLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		senders, values := rapid.IntRange(1, 4).Draw(rt, "senders"), rapid.IntRange(0, 200).Draw(rt, "values")
		var got [][2]int
		q := async.NewQueue(func(batch [][2]int) {
			if len(batch) == 0 {
				t.Error("an empty batch")
			}
			got = append(got, batch...)
		})
		var all sync.WaitGroup
		for s := range senders {
			all.Go(func() {
				for v := range values {
					q.Put([2]int{s, v})
				}
			})
		}
		all.Wait()
		q.Close()
		q.Put([2]int{-1, -1})
		q.Close()
		next := make([]int, senders)
		for _, v := range got {
			if v[0] < 0 || v[1] != next[v[0]] {
				rt.Fatalf("got %v, want value %v", v, next)
			}
			next[v[0]]++
		}
		if len(got) != senders*values {
			rt.Fatalf("%d of %d values", len(got), senders*values)
		}
	})
}

func TestSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, why := time.Now(), errors.New("enough")
		if err := async.Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != time.Minute {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		if err := async.Sleep(ctx, time.Hour); !errors.Is(err, why) || time.Since(began) != time.Minute {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}

// Put does not wait for the function, and Drop removes only values that wait.
func TestQueueDrop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var got []int
		q := async.NewQueue(func(batch []int) {
			got = append(got, batch...)
			<-release
		})
		q.Put(1)
		synctest.Wait()
		q.Put(2)
		q.Drop()
		q.Put(3)
		close(release)
		q.Close()
		if want := []int{1, 3}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
