package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"wavex/runner"
)

// Server takes attempts from an engine and makes them, until it is told to stop.
type Server struct {
	Attempt func(context.Context, Task) runner.Result // makes one: Worker.Attempt
	// Serve hands attempts to work, at most slots at a time, until ctx ends. It returns after the last of them. An error
	// means that the engine cannot be asked at all.
	Serve func(ctx context.Context, slots int, work func(Task)) error
	Slots int
	Once  int           // ends after this number of attempts; 0: it goes on
	Drain time.Duration // how long attempts may go on after the first request to stop
	// Full says why this machine must not take attempts now; "": it may. It is called every Look.
	Full func() string
	Look time.Duration // also until an engine that refused is asked again
	Say  func(Event)   // shows an event
}

// Event is something that a Server tells.
type Event struct {
	Time    time.Time      `json:"time"`
	Type    string         `json:"type"`              // "serving", "full", "started", "ended", "draining", "interrupting"
	ID      string         `json:"id,omitempty"`      // of the attempt
	Outcome runner.Outcome `json:"outcome,omitempty"` // of an attempt that ended
	Cost    float64        `json:"cost_usd,omitempty"`
	Text    string         `json:"text,omitempty"`
}

var (
	errStopped  = errors.New("the worker was asked to stop")
	errDrained  = errors.New("the worker was asked to stop, and its attempts took longer than it may wait")
	errNoServer = errors.New("the engine gives this worker no attempts any more")
)

// serving is one call of Run. Its goroutine owns the fields below.
type serving struct {
	*Server
	taken    int       // attempts so far
	running  int       // attempts that run
	limited  time.Time // the login of this worker may not be used before
	refused  error     // why the engine hands out no attempts; it is asked again
	stopping bool      // takes no more attempts
	pause    func()    // makes Serve hand out no more attempts; nil: it does not run
	messages chan func()
	served   chan error
}

// Run serves until it is stopped, Once attempts have ended, or the engine cannot be asked. The first value of stops
// drains, the second interrupts. It returns when no attempt runs.
func (s *Server) Run(ctx context.Context, stops <-chan struct{}) error {
	r := &serving{Server: s, messages: make(chan func()), served: make(chan error, 1)}
	working, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	var all sync.WaitGroup
	defer all.Wait()
	look := time.NewTicker(s.Look)
	defer look.Stop()
	var drained <-chan time.Time
	ended := ctx.Done()
	said := "nothing yet"
	for {
		full := r.full()
		switch {
		case r.pause != nil && (full != "" || r.stopping):
			r.pause()
		case r.pause == nil && r.stopping:
			return nil
		case r.pause == nil && full == "":
			r.serve(working, &all)
		}
		if full != said && !r.stopping {
			said = full
			if full == "" {
				r.Say(Event{Type: "serving", Text: "takes attempts"})
			} else {
				r.Say(Event{Type: "full", Text: "takes no attempts: " + full})
			}
		}
		select {
		case m := <-r.messages:
			m()
		case r.refused = <-r.served:
			r.pause = nil
			if r.refused != nil && !r.stopping && r.taken == 0 {
				return fmt.Errorf("%w: %w", errNoServer, r.refused)
			}
		case <-stops:
			if r.stopping && drained != nil {
				r.Say(Event{Type: "interrupting", Text: "interrupting its attempts"})
				interrupt(errStopped)
				continue
			}
			r.stopping, drained = true, time.After(s.Drain)
			r.Say(Event{Type: "draining", Text: fmt.Sprintf("takes no more attempts; %d running may go on for %s (again to "+
				"interrupt them)", r.running, s.Drain)})
		case <-drained:
			interrupt(errDrained)
		case <-ended:
			r.stopping, ended = true, nil
		case <-look.C:
			r.refused = nil
		}
	}
}

// full says why this worker takes no attempts now.
func (r *serving) full() string {
	if time.Now().Before(r.limited) {
		return "its login has reached a usage limit until " + r.limited.UTC().Format(time.RFC3339)
	}
	if r.refused != nil {
		return r.refused.Error()
	}
	return r.Full()
}

// serve lets the engine hand out attempts.
func (r *serving) serve(ctx context.Context, all *sync.WaitGroup) {
	serving, cancel := context.WithCancel(ctx)
	r.pause = cancel
	slots := r.Slots
	if r.Once > 0 {
		slots = min(slots, r.Once-r.taken)
	}
	all.Go(func() {
		defer cancel()
		r.served <- r.Serve(serving, slots, func(task Task) { r.work(ctx, task) })
	})
}

// work makes an attempt. Its messages are read, since Run returns after Serve.
func (r *serving) work(ctx context.Context, task Task) {
	id := task.ID()
	r.messages <- func() {
		r.running++
		if r.taken++; r.Once > 0 && r.taken >= r.Once {
			r.stopping = true
		}
		r.Say(Event{Type: "started", ID: id})
	}
	res := r.Attempt(ctx, task)
	r.messages <- func() {
		r.running--
		if res.Outcome == runner.Limited {
			r.limited = res.ResetsAt
		}
		r.Say(Event{Type: "ended", ID: id, Outcome: res.Outcome, Cost: res.Cost.Float(), Text: res.Reason})
	}
}
