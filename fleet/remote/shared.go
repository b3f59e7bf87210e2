package remote

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"
)

// shared is the last answer to a question that many goroutines have at the same time: one of them asks, and all wait
// for its answer. The zero value has none.
type shared[T any] struct {
	asking singleflight.Group
	last   atomic.Pointer[answer[T]]
}

type answer[T any] struct {
	told  time.Time
	value T
	err   error
}

// get returns an answer that is not older than fresh. It calls ask if there is none, which must end in time by itself.
func (s *shared[T]) get(ctx context.Context, fresh time.Duration, ask func(context.Context) (T, error)) (T, error) {
	if last := s.last.Load(); last != nil && time.Since(last.told) < fresh {
		return last.value, last.err
	}
	told := s.asking.DoChan("", func() (any, error) {
		value, err := ask(context.WithoutCancel(ctx))
		s.last.Store(&answer[T]{time.Now(), value, err})
		return value, err
	})
	select {
	case a := <-told:
		return a.Val.(T), a.Err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
