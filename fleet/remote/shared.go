package remote

import (
	"context"
	"sync/atomic"
	"time"
)

// shared is the last answer to a question that many goroutines have at the same time: one of them asks, and the others
// wait for its answer. The zero value has none.
type shared[T any] struct{ last atomic.Pointer[answer[T]] }

// answer is an answer, or the question while done is open.
type answer[T any] struct {
	done  chan struct{}
	told  time.Time // zero if the one who asked was stopped
	value T
	err   error
}

// get returns an answer that is not older than fresh. It calls ask if there is none.
func (s *shared[T]) get(ctx context.Context, fresh time.Duration, ask func(context.Context) (T, error)) (T, error) {
	for oldest := time.Now().Add(-fresh); ; {
		last := s.last.Load()
		if last != nil {
			select {
			case <-last.done:
			case <-ctx.Done():
				var none T
				return none, context.Cause(ctx)
			}
			if last.told.After(oldest) {
				return last.value, last.err
			}
		}
		own := &answer[T]{done: make(chan struct{})}
		if !s.last.CompareAndSwap(last, own) {
			continue // another asks
		}
		own.value, own.err = ask(ctx)
		if ctx.Err() == nil {
			own.told = time.Now()
		}
		close(own.done)
		return own.value, own.err
	}
}
