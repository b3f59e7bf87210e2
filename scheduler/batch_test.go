package scheduler

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"wavex/internal/event"
	"wavex/runner"
)

// If more attempts run than keep the machine busy, an end waits for later ends, for a bounded time;
// otherwise it is recorded at once.
func TestEndsShareASync(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ends     []time.Duration // durations of concurrent attempts
		patience time.Duration
		want     []string // ends that became durable together, and when
	}{
		"nobody waits": {ends: []time.Duration{10e6, 11e6, 12e6, 13e6, 14e6}, want: []string{"1 at 10ms", "1 at 11ms",
			"1 at 12ms", "1 at 13ms", "1 at 14ms"}},
		"until few run": {ends: []time.Duration{10e6, 11e6, 12e6, 20e6, 20.5e6}, patience: 2.5e6,
			want: []string{"3 at 12ms", "1 at 20ms", "1 at 20.5ms"}},
		"not for long": {ends: []time.Duration{10e6, 15e6, 16e6, 30e6, 31e6}, patience: 2.5e6,
			want: []string{"1 at 12.5ms", "2 at 16ms", "1 at 30ms", "1 at 31ms"}},
		"not for all": {ends: []time.Duration{10e6, 11e6, 40e6, 41e6, 42e6}, patience: 2.5e6,
			want: []string{"2 at 12.5ms", "1 at 40ms", "1 at 41ms", "1 at 42ms"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var tasks []string
				last := map[string]time.Duration{}
				for i, d := range c.ends {
					id := fmt.Sprintf("t%d", i)
					tasks, last[id] = append(tasks, task(id)), d
				}
				cfg := testConfig()
				cfg.Parallel = len(c.ends)
				b := newFixture(t, mustPlan(t, planText(tasks...)), cfg)
				j := &timedJournal{memJournal: b.journal, started: time.Now()}
				b.Journal, b.Runner, b.BatchAbove, b.BatchDelay = j, timedRunner(last), 2, c.patience
				if end, err := b.Run(t.Context()); err != nil || end.Status != "complete" {
					t.Fatal(end, err)
				}
				if !slices.Equal(j.syncs, c.want) {
					t.Errorf("made durable: %q, want %q", j.syncs, c.want)
				}
			})
		})
	}
}

// timedRunner is a Runner whose attempts succeed after a time, by task.
type timedRunner map[string]time.Duration

func (l timedRunner) Attempt(ctx context.Context, req runner.Request, _ runner.Hooks) runner.Result {
	select {
	case <-time.After(l[req.Task]):
	case <-ctx.Done():
	}
	return runner.Result{Outcome: runner.Done, Session: req.Session}
}

// timedJournal is a journal that stores when ends of attempts became durable.
type timedJournal struct {
	*memJournal
	started time.Time
	syncs   []string
}

func (d *timedJournal) Sync() error {
	n := 0
	for _, e := range d.pending {
		if _, ok := e.Body.(event.AttemptEnded); ok {
			n++
		}
	}
	if n > 0 {
		d.syncs = append(d.syncs, fmt.Sprintf("%d at %s", n, time.Since(d.started)))
	}
	return d.memJournal.Sync()
}
