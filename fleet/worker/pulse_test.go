package worker

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"wavex/internal/testrepo"
	"wavex/runner"
)

func TestMain(m *testing.M) { testrepo.Main(m) }

// fakeTask is a Task that answers each beat and each result as a function does.
type fakeTask struct {
	beat     func(n int) error
	slow     bool // a beat that fails does so at the end of its context
	complete func(n int) error
	beats    []time.Time
	results  int
}

func (f *fakeTask) ID() string               { return "wavex/r-1/a/1" }
func (f *fakeTask) Request() []byte          { return []byte("no message") }
func (f *fakeTask) Heartbeat() time.Duration { return time.Minute }

func (f *fakeTask) Beat(ctx context.Context, _ []byte) error {
	f.beats = append(f.beats, time.Now())
	err := f.beat(len(f.beats))
	if err != nil && f.slow {
		<-ctx.Done()
	}
	return err
}

func (f *fakeTask) Complete(context.Context, []byte) error {
	f.results++
	return f.complete(f.results)
}

var errAway = errors.New("away")

// TestPulse: the pulse beats twelve times in a heartbeat. It stops the attempt when it is cancelled, given up, or the
// engine was silent for nine tenths of a heartbeat.
func TestPulse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		beat    func(n int) error
		stopped time.Duration // 0: it is not
		cause   error
		beats   int // in two minutes
	}{
		"answered":  {func(int) error { return nil }, 0, nil, 25},
		"cancelled": {func(int) error { return ErrCancelled }, time.Nanosecond, ErrCancelled, 25},
		"given up": {func(n int) error {
			if n > 3 {
				return ErrGone
			}
			return nil
		}, 15 * time.Second, ErrGone, 4},
		"silent": {func(int) error { return errAway }, 54 * time.Second, errAway, 25},
		"silent for a while": {func(n int) error {
			if n > 1 && n < 11 {
				return errAway
			}
			return nil
		}, 0, nil, 25},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				task := &fakeTask{beat: c.beat}
				a := &attempt{Worker: New(Options{}), task: task}
				ctx, stop := context.WithCancelCause(t.Context())
				began := time.Now()
				var stopped time.Duration
				context.AfterFunc(ctx, func() { stopped = max(time.Since(began), time.Nanosecond) })
				end := a.pulse(t.Context(), stop)
				time.Sleep(2*time.Minute + time.Second)
				synctest.Wait()
				end()
				if stopped != c.stopped || !errors.Is(context.Cause(ctx), c.cause) || len(task.beats) != c.beats {
					t.Errorf("stopped after %s by %v, %d beats", stopped, context.Cause(ctx), len(task.beats))
				}
				stop(nil)
			})
		})
	}
}

// awayUntil returns the answers of an engine that is back at the nth call.
func awayUntil(back int) func(n int) error {
	return func(n int) error {
		if n < back {
			return errAway
		}
		return nil
	}
}

// A result is told until the engine takes it or has given up the attempt, and after the end of the worker for a while.
func TestTell(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		complete func(n int) error
		stopped  bool
		most     time.Duration
		warnings int
	}{
		"taken":                  {func(int) error { return nil }, false, 0, 0},
		"given up":               {func(int) error { return ErrGone }, false, 0, 0},
		"an engine that is away": {awayUntil(20), false, 75 * time.Second, 0},
		"the end of the worker":  {func(int) error { return errAway }, true, tellTimeout, 1},
		"taken after that":       {awayUntil(4), true, 2 * time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				warnings := 0
				task := &fakeTask{complete: c.complete}
				a := &attempt{Worker: New(Options{Warn: func(error) { warnings++ }}), task: task}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.stopped {
					cancel()
				}
				began := time.Now()
				a.tell(ctx, runner.Result{Outcome: runner.Done})
				if took := time.Since(began); took > c.most || warnings != c.warnings {
					t.Errorf("told for %s, with %d warnings, in %d tries", took, warnings, task.results)
				}
			})
		})
	}
}

// A request that is not a message, or is about another attempt, is broken, and nothing is started.
func TestUnreadableRequest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	task := &fakeTask{beat: func(int) error { return nil }, complete: func(int) error { return nil }}
	w := New(Options{Name: "w", Dir: dir, Warn: func(err error) { t.Error(err) }})
	w.Attempt(t.Context(), task)
	if files, err := os.ReadDir(dir); task.results != 1 || len(files) != 0 || err != nil {
		t.Errorf("%d results, files %v, %v", task.results, files, err)
	}
}

func TestMark(t *testing.T) {
	t.Parallel()
	if got := Mark("a/b", 7); got != "worker@a_b.7" {
		t.Errorf("the mark is %q", got)
	}
}

// An engine that does not answer is silent from the beat before, also while a beat waits for it: the engine's clock may
// have begun when it was sent.
func TestPulseOfASilentEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		task := &fakeTask{slow: true, beat: func(n int) error {
			if n > 4 {
				return errAway
			}
			time.Sleep(2 * time.Second) // virtual time: the way there and back
			return nil
		}}
		a := &attempt{Worker: New(Options{}), task: task}
		ctx, stop := context.WithCancelCause(t.Context())
		end := a.pulse(t.Context(), stop)
		<-ctx.Done()
		end()
		lastAnswered := 15 * time.Second // the fourth beat
		if silent := time.Since(began) - lastAnswered; silent != 54*time.Second || !errors.Is(context.Cause(ctx), errAway) {
			t.Errorf("stopped after %s by %v", silent, context.Cause(ctx))
		}
	})
}
