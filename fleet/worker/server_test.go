package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wavex/internal/async"
	"wavex/runner"
)

// handout is an engine with attempts of an hour.
type handout struct {
	slots  []int // of each call of serve
	left   int   // attempts that it has
	refuse error // the answer to the next call
}

func (h *handout) serve(ctx context.Context, slots int, work func(Task)) error {
	h.slots = append(h.slots, slots)
	if err := h.refuse; err != nil {
		h.refuse = nil
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	for range slots {
		running.Go(func() {
			for ctx.Err() == nil && h.left > 0 {
				h.left--
				work(&fakeTask{})
				synctest.Wait() // the Server has seen it
			}
			<-ctx.Done()
		})
	}
	return nil
}

// hour is an attempt.
func hour(ctx context.Context, _ Task) (res runner.Result) {
	res.Outcome = runner.Done
	if async.Sleep(ctx, time.Hour) != nil {
		res.Outcome = runner.Interrupted
	}
	return res
}

// shown runs a Server for a test, and returns the types of its events with the hours at which they came. It stops the
// server at the given hours.
func shown(t *testing.T, s *Server, stopAt ...time.Duration) (string, error) {
	t.Helper()
	began := time.Now()
	var said []string
	s.Look = time.Minute
	s.Say = func(e Event) {
		said = append(said, strings.TrimSpace(fmt.Sprintf("%s %.1f %s", e.Type, time.Since(began).Hours(), e.Outcome)))
	}
	if s.Attempt == nil {
		s.Attempt = hour
	}
	if s.Full == nil {
		s.Full = func() string { return "" }
	}
	stops := make(chan struct{}, 2)
	for _, at := range stopAt {
		time.AfterFunc(at, func() { stops <- struct{}{} })
	}
	err := s.Run(t.Context(), stops)
	return strings.Join(said, ", "), err
}

// TestServer: a Server takes as many attempts as it has slots, and ends after Once of them. Asked to stop, it lets
// attempts finish for a while.
func TestServer(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	for name, c := range map[string]struct {
		left   int
		server Server
		refuse error
		stops  []time.Duration
		want   string
		slots  []int
		err    string
	}{
		"once": {left: 9, server: Server{Slots: 4, Once: 1}, want: "serving 0.0, started 0.0, ended 1.0 done",
			slots: []int{1}},
		"drains": {left: 9, server: Server{Slots: 1, Drain: 2 * time.Hour}, stops: []time.Duration{30 * minute},
			want: "serving 0.0, started 0.0, draining 0.5, ended 1.0 done", slots: []int{1}},
		"drains too long": {left: 9, server: Server{Slots: 1, Drain: 6 * minute}, stops: []time.Duration{30 * minute},
			want: "serving 0.0, started 0.0, draining 0.5, ended 0.6 interrupted", slots: []int{1}},
		"second stop": {left: 9, server: Server{Slots: 1, Drain: time.Hour}, stops: []time.Duration{30 * minute, 42 * minute},
			want: "serving 0.0, started 0.0, draining 0.5, interrupting 0.7, ended 0.7 interrupted", slots: []int{1}},
		"refused": {server: Server{Slots: 1}, refuse: errors.New("no namespace"), want: "serving 0.0", slots: []int{1},
			err: "no namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &handout{left: c.left, refuse: c.refuse}
				c.server.Serve = h.serve
				said, err := shown(t, &c.server, c.stops...)
				if said != c.want || !slices.Equal(h.slots, c.slots) || (err == nil) != (c.err == "") ||
					err != nil && !strings.Contains(err.Error(), c.err) {
					t.Errorf("%s, slots %v, %v", said, h.slots, err)
				}
			})
		})
	}
}

// A full machine takes no attempts until it has room, and one whose login is limited none until the limit resets.
func TestServerPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		h := &handout{}
		s := &Server{Serve: h.serve, Slots: 2, Full: func() string {
			if d := time.Since(began); d > time.Hour && d < 3*time.Hour {
				return "no room"
			}
			return ""
		}}
		said, err := shown(t, s, 4*time.Hour)
		if want := "serving 0.0, full 1.0, serving 3.0, draining 4.0"; said != want || err != nil || len(h.slots) != 2 {
			t.Errorf("%s, %v; %v", said, err, h.slots)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		h := &handout{left: 2}
		s := &Server{Serve: h.serve, Slots: 1, Attempt: func(context.Context, Task) runner.Result {
			if h.left > 0 {
				return runner.Result{Outcome: runner.Limited, ResetsAt: time.Now().Add(5 * time.Hour)}
			}
			return runner.Result{Outcome: runner.Done}
		}}
		said, err := shown(t, s, 6*time.Hour)
		want := "serving 0.0, started 0.0, ended 0.0 limited, full 0.0, serving 5.0, started 5.0, ended 5.0 done, " +
			"draining 6.0"
		if said != want || err != nil {
			t.Errorf("%s, %v", said, err)
		}
	})
}
