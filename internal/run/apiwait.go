package run

import (
	"sync"
	"time"
)

// spareDelay is how long an agent must have waited for the API before a spare is started beside it.
// An API that answers sooner leaves the processors no time to start a process: it would slow the
// agents down.
const spareDelay = 200 * time.Millisecond

// apiWaits reports the agents that wait for their first response. A nil *apiWaits reports none.
type apiWaits struct {
	slow chan string // receives the tasks whose agent has waited for spareDelay

	mu     sync.Mutex
	timers map[string]*time.Timer // of agents without a response, by task
}

func newAPIWaits() *apiWaits {
	return &apiWaits{slow: make(chan string, 64), timers: map[string]*time.Timer{}}
}

// reports returns the channel of the reported tasks.
func (w *apiWaits) reports() <-chan string {
	if w == nil {
		return nil
	}
	return w.slow
}

// begin notes that the agent of a task sends its first request.
func (w *apiWaits) begin(task string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop(task)
	w.timers[task] = time.AfterFunc(spareDelay, func() {
		select {
		case w.slow <- task:
		default: // no spare is wanted, or there are enough
		}
	})
}

// end notes that the agent of a task has a response.
func (w *apiWaits) end(task string) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop(task)
}

func (w *apiWaits) stop(task string) {
	if t := w.timers[task]; t != nil {
		t.Stop()
		delete(w.timers, task)
	}
}
