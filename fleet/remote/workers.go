package remote

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"wavex/internal/async"
)

// This file asks the engine whether there are workers that would take an attempt, and whether they are busy.

// known holds the knowledge about the workers that the attempts of a run share.
type known struct {
	made    atomic.Int64 // awaited attempts that a worker makes
	busy    shared[bool]
	workers shared[[]Worker]
	unsure  sync.Once   // Warn was told that the engine does not tell whether workers are busy
	alone   atomic.Bool // Warn was told that there is no worker
}

// ask asks the engine about the workers of the run, unless another attempt did within Poll.
func ask[T any](ctx context.Context, a *attempt, s *shared[T], f func(context.Context, string) (T, error)) (T, error) {
	return s.get(ctx, a.Poll, func(ctx context.Context) (T, error) {
		ctx, cancel := context.WithTimeout(ctx, max(a.Poll, time.Second))
		defer cancel()
		return f(ctx, a.Key.Queue(""))
	})
}

// busy reports whether workers make attempts, of this run or of others.
func (a *attempt) busy(ctx context.Context) (bool, error) {
	if a.known.made.Load() > 0 {
		return true, nil
	}
	return ask(ctx, a, &a.known.busy, a.Engine.Busy)
}

// seenRecently is the time for which a worker counts as there after it asked for attempts: an idle one asks again each
// minute, and engines go on to list one that was killed.
const seenRecently = 75 * time.Second

// warnAlone waits until there is no worker which would take the attempt, and tells that once.
func (a *attempt) warnAlone(ctx context.Context) {
	for async.Sleep(ctx, 2*a.Poll) == nil && !a.taken.Load() && !a.known.alone.Load() {
		list, err := ask(ctx, a, &a.known.workers, a.Engine.Workers)
		if err != nil || slices.ContainsFunc(list, func(w Worker) bool { return time.Since(w.Seen) < seenRecently }) {
			continue
		}
		if busy, err := a.busy(ctx); err == nil && !busy && a.known.alone.CompareAndSwap(false, true) {
			a.Warn(fmt.Errorf("no worker asks for attempts of queue %s; %s waits for one", a.Key.Queue(""), a.id))
		}
	}
}
