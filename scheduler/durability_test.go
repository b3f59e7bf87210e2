package scheduler

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"wavex/internal/event"
	"wavex/runner"
)

// These constants say how durable the record of a start was when the attempt began.
const (
	appended = "appended" // a kill of wavex would lose the record
	written  = "written"  // a failure of the machine would lose it
	durable  = "durable"
)

// seen returns how durable the record of an attempt's start is.
func (m *memJournal) seen(task string, attempt int) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	is := func(e event.Event) bool {
		b, ok := e.Body.(event.AttemptStarted)
		return ok && b.Task == task && b.Attempt == attempt
	}
	switch {
	case slices.ContainsFunc(m.events, is):
		return durable
	case slices.ContainsFunc(m.pending[:m.written], is):
		return written
	}
	return appended
}

// observingRunner is a Runner that stores how durable the start records were, by task and attempt. Each
// attempt takes a millisecond, and the first attempt at t3 is wrong.
type observingRunner struct {
	journal *memJournal
	mu      sync.Mutex
	saw     map[string]string
}

func (l *observingRunner) Attempt(_ context.Context, req runner.Request, _ runner.Hooks) runner.Result {
	l.mu.Lock()
	l.saw[fmt.Sprintf("%s/%d", req.Task, req.Attempt)] = l.journal.seen(req.Task, req.Attempt)
	l.mu.Unlock()
	time.Sleep(time.Millisecond) // virtual time of the synctest bubble
	if req.Task == "t3" && req.Attempt == 1 {
		return runner.Result{Outcome: runner.Wrong, Reason: "no", Signature: "no"}
	}
	return runner.Result{Outcome: runner.Done, Session: req.Session}
}

// A command that the durable record of its wave names starts when its start record is written. Work
// that costs money, cannot be undone, is a retry, has its own tree or starts together with its wave
// needs a durable start record.
func TestCommandStartsWhenWritten(t *testing.T) {
	t.Parallel()
	text := planText(`{"id":"t1","command":"true"}`, `{"id":"t2","command":"true"}`, `{"id":"t3","command":"true"}`,
		`{"id":"t4","command":"true","reversibility":"1"}`, task("t5"),
		`{"id":"t6","command":"true","blockedBy":["t1","t2","t3","t4","t5"]}`)
	for name, c := range map[string]struct {
		isolation event.Isolation
		want      map[string]string
	}{
		"shared": {"", map[string]string{"t1/1": durable, "t2/1": written, "t3/1": written, "t3/2": durable, "t4/1": durable,
			"t5/1": durable, "t6/1": durable}},
		"isolated": {event.Isolated, map[string]string{"t1/1": durable, "t2/1": durable, "t3/1": durable, "t3/2": durable,
			"t4/1": durable,
			"t5/1": durable, "t6/1": durable}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg := testConfig()
				cfg.Parallel, cfg.Isolation = 1, c.isolation
				b := newFixture(t, mustPlan(t, text), cfg)
				look := &observingRunner{journal: b.journal, saw: map[string]string{}}
				b.Runner, b.SyncDelay = look, 10*time.Millisecond
				if c.isolation == event.Isolated {
					b.Integrator = &fakeIntegrator{}
				}
				if end, err := b.Run(t.Context()); err != nil || end.Status != "complete" {
					t.Fatal(end, err)
				}
				for at, want := range c.want {
					if got := look.saw[at]; got != want {
						t.Errorf("%s began when its record was %s, want %s", at, got, want)
					}
				}
				if len(b.journal.pending) > 0 {
					t.Errorf("at the end %d records are not durable", len(b.journal.pending))
				}
			})
		})
	}
}

// A resumed session records its waves again: no command starts before that record is durable.
func TestNoCommandIsCoveredAfterAResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := mustPlan(t, planText(`{"id":"t1","command":"true"}`, `{"id":"t2","command":"true"}`,
			`{"id":"t9","command":"true","blockedBy":["t1","t2"]}`))
		cfg := testConfig()
		cfg.Parallel = 1
		first := newFixture(t, p, cfg)
		first.run(t)
		ended := slices.IndexFunc(first.journal.events, func(e event.Event) bool {
			_, ok := e.Body.(event.AttemptEnded)
			return ok
		})
		again := nextSession(t, p, cfg, first.journal.events[:ended+1])
		look := &observingRunner{journal: again.journal, saw: map[string]string{}}
		again.Runner, again.Journal, again.SyncDelay = look, slowJournal{again.journal}, 10*time.Millisecond
		again.run(t)
		if got := look.saw; len(got) != 2 || got["t2/1"] != durable || got["t9/1"] != durable {
			t.Errorf("%v", got)
		}
	})
}

// An agent that starts together with commands does not wait for the lag.
func TestAgentsDoNotWaitForTheLag(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Parallel = 2
		b := newFixture(t, mustPlan(t, planText(`{"id":"t1","command":"true"}`, `{"id":"t2","command":"true"}`,
			`{"id":"t3","command":"true"}`, task("a"))), cfg)
		b.Runner = timedRunner{"t1": time.Millisecond, "t2": time.Millisecond, "t3": time.Hour, "a": time.Hour}
		b.SyncDelay, b.BatchDelay = time.Minute, time.Millisecond
		began, waited := time.Now(), time.Duration(-1)
		b.Views = []View{viewFunc(func(e event.Event, _ *State) {
			if s, ok := e.Body.(event.AttemptStarted); ok && s.Task == "a" {
				waited = time.Since(began)
			}
		})}
		if _, err := b.Run(t.Context()); err != nil || waited < 0 || waited > time.Second {
			t.Errorf("it started after %s, %v", waited, err)
		}
	})
}

// Written events become durable after the lag, also if nothing else happens.
func TestSyncDelayEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Parallel = 2
		b := newFixture(t, mustPlan(t, planText(`{"id":"t1","command":"true"}`, `{"id":"t2","command":"true"}`,
			`{"id":"t3","command":"true"}`)), cfg)
		b.Runner = timedRunner{"t1": time.Millisecond, "t2": time.Hour, "t3": time.Hour}
		b.SyncDelay = 10 * time.Millisecond
		var shown []string
		b.Views = []View{viewFunc(func(e event.Event, _ *State) {
			if a, ok := e.Body.(event.AttemptStarted); ok && a.Task == "t3" {
				shown = append(shown, b.journal.seen("t3", 1))
			}
		})}
		done := make(chan error, 1)
		go func() {
			_, err := b.Run(t.Context())
			done <- err
		}()
		for _, c := range []struct {
			after time.Duration
			want  string
		}{{5 * time.Millisecond, written}, {10 * time.Millisecond, durable}} {
			time.Sleep(c.after) // virtual time of the synctest bubble
			synctest.Wait()
			if got := b.journal.seen("t3", 1); got != c.want {
				t.Errorf("the record is %s, want %s", got, c.want)
			}
		}
		if !slices.Equal(shown, []string{durable}) {
			t.Errorf("shown when %q", shown)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// slowJournal is a journal with a slow disk, so that a test sees work that starts before its record is
// durable.
type slowJournal struct{ *memJournal }

func (s slowJournal) Sync() error {
	time.Sleep(time.Millisecond) // virtual time of the synctest bubble
	return s.memJournal.Sync()
}
