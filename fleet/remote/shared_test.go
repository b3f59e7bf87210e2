package remote

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wavex/internal/async"
)

// One of many asks, and the others have its answer also if it is stopped. An answer is an answer also if it is an
// error, until it is old.
func TestShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s shared[int]
		calls, failure := 0, errors.New("the answer")
		ask := func(ctx context.Context) (int, error) {
			calls++
			if err := async.Sleep(ctx, 2*time.Minute); err != nil {
				return 0, err
			}
			return calls, failure
		}
		stopped, stop := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			if _, err := s.get(stopped, time.Minute, ask); !errors.Is(err, context.Canceled) {
				t.Errorf("stopped: %v", err)
			}
		})
		synctest.Wait()
		for range 9 {
			group.Go(func() {
				if n, err := s.get(t.Context(), time.Minute, ask); n != 1 || err != failure {
					t.Errorf("waits: %d, %v", n, err)
				}
			})
		}
		synctest.Wait()
		stop()
		group.Wait()
		if n, _ := s.get(t.Context(), time.Minute, ask); n != 1 {
			t.Errorf("a moment later: %d", n)
		}
		time.Sleep(time.Minute) // virtual time of the synctest bubble
		if n, _ := s.get(t.Context(), time.Minute, ask); n != 2 {
			t.Errorf("a minute later: %d", n)
		}
	})
}
