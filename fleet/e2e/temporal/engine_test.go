package temporal_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"wavex/fleet/remote"
	"wavex/fleet/remote/wire"
	"wavex/fleet/worker"
	"wavex/internal/testrepo"
)

// This file tests the engine without agents and git.

// id returns the id of an attempt of the rig.
func (r *rig) id(task string) string { return wire.ID(r.run(), task, 1) }

// activity returns an activity of the rig.
func (r *rig) activity(task string) remote.Activity {
	return remote.Activity{ID: r.id(task), Queue: r.queue(), Request: []byte("request of " + task),
		Limits: remote.Limits{Queue: time.Minute, Heartbeat: heartbeat, Run: time.Minute}}
}

// expect waits for the end of an attempt.
func (r *rig) expect(task, result string, end remote.End) {
	r.t.Helper()
	got, ended, err := r.client.Wait(r.t.Context(), r.id(task))
	if string(got) != result || ended != end || err != nil {
		r.t.Errorf("%s ends as %q with %q, %v; want %q with %q", task, ended, got, err, end, result)
	}
}

// serve gives attempts of a rig to work until the end of the test.
func (r *rig) serve(work func(worker.Task)) (stop func()) {
	client := r.dial()
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := client.Serve(ctx, []string{r.queue()}, slots, work); err != nil {
			r.t.Error(err)
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		serving.Wait()
	})
	r.t.Cleanup(stop)
	return stop
}

// An attempt is started once, also after its end, and any client gets its result.
func TestStartIsRepeated(t *testing.T) {
	t.Parallel()
	r := newRig(t, sharedServer(t))
	given := make(chan string, 9)
	r.serve(func(task worker.Task) {
		given <- task.ID() + ": " + string(task.Request())
		if err := task.Complete(t.Context(), []byte("result")); err != nil {
			t.Error(err)
		}
		if err := task.Complete(t.Context(), []byte("another")); !errors.Is(err, worker.ErrGone) {
			t.Errorf("told twice: %v", err)
		}
	})
	a := r.activity("a")
	for range 3 {
		testrepo.Must(t, r.client.Start(t.Context(), a))
	}
	for range 2 {
		r.expect("a", "result", remote.Completed)
		testrepo.Must(t, r.client.Start(t.Context(), a))
	}
	if got := <-given; got != r.id("a")+": request of a" || len(given) != 0 {
		t.Errorf("given %q and %d more", got, len(given))
	}
}

// Each end of an attempt without a result is told as such.
func TestEngineEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, sharedServer(t))
	r.expect("unknown", "", remote.Gone)
	testrepo.Must(t, r.client.Cancel(t.Context(), r.id("unknown"), "test"))
	if message, err := r.client.Progress(t.Context(), r.id("unknown")); message != nil || err != nil {
		t.Errorf("unknown: %q, %v", message, err)
	}
	early := r.activity("not taken")
	early.Limits.Queue = time.Second
	testrepo.Must(t, r.client.Start(t.Context(), early))
	r.expect("not taken", "", remote.NotTaken)
	testrepo.Must(t, r.client.Start(t.Context(), r.activity("cancelled")))
	testrepo.Must(t, r.client.Cancel(t.Context(), r.id("cancelled"), "test"))
	r.expect("cancelled", "", remote.Cancelled)

	over := make(chan struct{})
	t.Cleanup(r.serve(func(task worker.Task) {
		if task.ID() == r.id("timed out") {
			for task.Beat(t.Context(), nil) == nil {
				time.Sleep(task.Heartbeat() / 12)
			}
		}
		<-over
	}))
	t.Cleanup(func() { close(over) })
	testrepo.Must(t, r.client.Start(t.Context(), r.activity("lost")))
	long := r.activity("timed out")
	long.Limits.Run = time.Second
	testrepo.Must(t, r.client.Start(t.Context(), long))
	r.expect("lost", "", remote.Lost)
	r.expect("timed out", "", remote.TimedOut)
}

// A worker that beats with its token keeps a cancelled attempt alive for longer than a heartbeat. Its result counts.
func TestPulseAfterCancel(t *testing.T) {
	t.Parallel()
	r := newRig(t, sharedServer(t))
	r.serve(func(task worker.Task) {
		var cancelled time.Time
		for cancelled.IsZero() || time.Since(cancelled) < 2*heartbeat {
			switch err := task.Beat(t.Context(), []byte("stopping")); {
			case errors.Is(err, worker.ErrCancelled) && cancelled.IsZero():
				cancelled = time.Now()
			case err != nil && !errors.Is(err, worker.ErrCancelled):
				t.Error(err)
				return
			}
			time.Sleep(task.Heartbeat() / 12)
		}
		testrepo.Must(t, task.Complete(t.Context(), []byte("result")))
	})
	testrepo.Must(t, r.client.Start(t.Context(), r.activity("a")))
	for message := []byte(nil); string(message) != "stopping"; {
		var err error
		message, err = r.client.Progress(t.Context(), r.id("a"))
		testrepo.Must(t, err)
	}
	testrepo.Must(t, r.client.Cancel(t.Context(), r.id("a"), "test"))
	r.expect("a", "result", remote.Completed)
}

// Messages with another key are not opened, on either side. A name of a queue is no secret, so a program without the
// key may use it.
func TestWrongKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, sharedServer(t))
	r.serve(func(task worker.Task) {
		testrepo.Must(t, task.Beat(t.Context(), []byte("secret")))
		testrepo.Must(t, task.Complete(t.Context(), []byte("secret")))
	})
	other := r.place
	other.Key = bytes.Repeat([]byte{7}, len(other.Key))
	stranger, err := other.dial(t.Context())
	testrepo.Must(t, err)
	t.Cleanup(stranger.Close)
	testrepo.Must(t, stranger.Start(t.Context(), r.activity("forged")))
	r.expect("forged", "", remote.Refused)
	testrepo.Must(t, r.client.Start(t.Context(), r.activity("true")))
	r.expect("true", "secret", remote.Completed)
	if result, _, err := stranger.Wait(t.Context(), r.id("true")); result != nil || err != nil {
		t.Errorf("a stranger reads %q, %v", result, err)
	}
	if message, err := stranger.Progress(t.Context(), r.id("true")); message != nil || err == nil {
		t.Errorf("a stranger sees %q", message)
	}
}

// Workers tells the words of workers about themselves, and Check the state of the server.
func TestWorkersAndCheck(t *testing.T) {
	t.Parallel()
	r := newRig(t, sharedServer(t))
	r.place.Name = "w 1"
	r.serve(func(worker.Task) {})
	var list []remote.Worker
	for len(list) == 0 {
		var err error
		list, err = r.client.Workers(t.Context(), r.queue())
		testrepo.Must(t, err)
	}
	if w := list[0]; len(list) != 1 || w.Name != "w 1" || w.Slots != slots || time.Since(w.Seen) > time.Minute {
		t.Errorf("workers %+v", list)
	}
	if list, err := r.client.Workers(t.Context(), r.queue()+".none"); len(list) != 0 || err != nil {
		t.Errorf("workers of another queue: %+v, %v", list, err)
	}
	s, err := r.client.Check(t.Context())
	if !strings.HasPrefix(s.Version, "1.") || !s.Standalone || s.Retention <= 0 || err != nil {
		t.Errorf("%+v, %v", s, err)
	}
	missing := r.place
	missing.Namespace = "missing"
	client, err := missing.dial(t.Context())
	testrepo.Must(t, err)
	t.Cleanup(client.Close)
	if s, err := client.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a namespace that is not there: %+v, %v", s, err)
	}
	if err := client.Serve(t.Context(), []string{"q"}, 1, func(worker.Task) {}); err == nil {
		t.Error("a namespace that is not there is served")
	}
	if err := client.Start(t.Context(), r.activity("x")); err == nil {
		t.Error("a namespace that is not there takes an attempt")
	}
	if _, end, err := client.Wait(t.Context(), r.id("x")); err == nil {
		t.Errorf("in a namespace that is not there an attempt ends as %q", end)
	}
}

// Workers are busy while one makes an attempt, of a queue or of one of its workers, and not while attempts wait.
func TestBusy(t *testing.T) {
	t.Parallel()
	r := newRig(t, sharedServer(t))
	await := func(queue string, want bool) {
		t.Helper()
		for busy := !want; busy != want; { // the server lists attempts a moment later
			var err error
			busy, err = r.client.Busy(t.Context(), queue)
			testrepo.Must(t, err)
		}
	}
	waits := r.activity("waits")
	waits.Queue += ".w1"
	testrepo.Must(t, r.client.Start(t.Context(), waits))
	testrepo.Must(t, r.client.Start(t.Context(), r.activity("a")))
	await(r.queue(), false)
	begun, gate := make(chan struct{}), make(chan struct{})
	r.serve(func(task worker.Task) {
		close(begun)
		<-gate
		testrepo.Must(t, task.Complete(t.Context(), []byte("result")))
	})
	<-begun
	await(r.queue(), true)
	await(r.queue()+".w1", false)
	await(r.queue()[:len(r.queue())-1], false)
	close(gate)
	r.expect("a", "result", remote.Completed)
	await(r.queue(), false)
}

// A worker that is stopped takes nothing more, and ends with its last attempt.
func TestServeDrains(t *testing.T) {
	t.Parallel()
	r := newRig(t, sharedServer(t))
	begun, gate := make(chan struct{}), make(chan struct{})
	stop := r.serve(func(task worker.Task) {
		close(begun)
		<-gate
		testrepo.Must(t, task.Complete(t.Context(), []byte("result")))
	})
	testrepo.Must(t, r.client.Start(t.Context(), r.activity("first")))
	<-begun
	stopped := make(chan struct{})
	go func() {
		stop()
		close(stopped)
	}()
	select {
	case <-stopped:
		t.Error("it has ended before its attempt")
	case <-time.After(time.Second):
	}
	close(gate)
	<-stopped
	r.expect("first", "result", remote.Completed)
	second := r.activity("second")
	second.Limits.Queue = time.Second
	testrepo.Must(t, r.client.Start(t.Context(), second))
	r.expect("second", "", remote.NotTaken)
}
