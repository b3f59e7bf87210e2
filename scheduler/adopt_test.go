package scheduler

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/runner"
)

// adopting is a Recovery whose attempts run on elsewhere.
type adopting struct{ atCap }

func (adopting) Adopts(event.AttemptStarted) bool { return true }

// elsewhere is a Runner whose attempts do not end with their session. Each takes an hour from its first start, or the
// time of its task.
type elsewhere struct {
	mu      sync.Mutex
	started map[string]time.Time // by task and attempt
	calls   []runner.Request
	took    map[string]time.Duration
	running int
	most    int // attempts at a time
}

func newElsewhere() *elsewhere {
	return &elsewhere{started: map[string]time.Time{}, took: map[string]time.Duration{}}
}

// begin returns the time that an attempt still needs.
func (r *elsewhere) begin(req runner.Request) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := attemptKey(req.Task, req.Attempt)
	if _, known := r.started[key]; !known {
		r.started[key] = time.Now()
	}
	r.calls = append(r.calls, req)
	r.running++
	r.most = max(r.most, r.running)
	return cmp.Or(r.took[req.Task], time.Hour) - time.Since(r.started[key])
}

func (r *elsewhere) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
}

func (r *elsewhere) Attempt(ctx context.Context, req runner.Request, _ runner.Hooks) runner.Result {
	left := r.begin(req)
	defer r.end()
	res := runner.Result{Outcome: runner.Done, Session: req.Session, Cost: 1000, Priced: "result", Turns: 1,
		Contained: true}
	select {
	case <-time.After(left):
	case <-ctx.Done():
		res.Outcome = runner.Interrupted
	}
	if req.Turn != nil {
		res.Cost, res.Priced = 0, ""
	}
	return res
}

// cutOff returns the events of a run whose wavex was killed after a minute, and adds the ends of turns.
func cutOff(t *testing.T, b *fixture, r *elsewhere, turns ...event.TurnEnded) []event.Event {
	t.Helper()
	ctx, kill := context.WithCancel(t.Context())
	b.Loop.Runner = r
	go func() {
		time.Sleep(time.Minute) // of the synctest bubble
		kill()
	}()
	if _, err := b.Run(ctx); err != nil {
		t.Fatal(err)
	}
	events := b.journal.events
	last := slices.IndexFunc(events, func(e event.Event) bool { _, is := e.Body.(event.Draining); return is })
	events = slices.Clone(events[:last])
	for _, turn := range turns {
		events = append(events, event.Event{Seq: int64(len(events)) + 1, Time: time.Now(), Body: turn})
	}
	return events
}

// resumedElsewhere returns a fixture with the next session over events, which adopts attempts.
func resumedElsewhere(t *testing.T, text string, c event.Config, events []event.Event, r *elsewhere) *fixture {
	t.Helper()
	b := resumed(t, text, c, events)
	b.Loop.Runner, b.Loop.Recover = r, func(context.Context) Recovery { return adopting{} }
	return b
}

func TestResumeAdoptsAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		text := planText(task("a"), task("b"), task("c"), task("d", "a", "b", "c"))
		c := testConfig()
		c.Review = event.ReviewOff
		r := newElsewhere()
		events := cutOff(t, newFixture(t, mustPlan(t, text), c), r)
		c.Parallel = 1 // less than what runs on
		b := resumedElsewhere(t, text, c, events, r)
		begun := time.Now()
		end := b.run(t)
		if end.Tasks.Completed != 4 {
			t.Fatalf("ended as %+v", end)
		}
		if adopted := of[event.AttemptAdopted](b.journal); len(adopted) != 3 {
			t.Errorf("adopted %+v", adopted)
		}
		if ended := of[event.AttemptEnded](b.journal); len(ended) != 4 || end.Cost != 4000 || end.Iterations != 4 {
			t.Errorf("%d ends, cost %d, %d iterations", len(ended), end.Cost, end.Iterations)
		}
		if started := of[event.AttemptStarted](b.journal); len(started) != 4 || len(r.started) != 4 || r.most != 3 {
			t.Errorf("%d starts on record, %d attempts, %d at a time", len(started), len(r.started), r.most)
		}
		if took := time.Since(begun); took != 2*time.Hour-time.Minute {
			t.Errorf("the session took %s", took) // the rest of the adopted ones, then d
		}
	})
}

// While adopted attempts run, the state holds their money and slots, and a replay leads to the same state.
func TestAdoptedAttemptsKeepTheirSlotsAndMoney(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		text := planText(task("a"), task("b"), task("c"))
		c := testConfig()
		c.Parallel, c.Review = 2, event.ReviewOff
		r := newElsewhere()
		r.took["a"] = 3 * time.Hour
		events := cutOff(t, newFixture(t, mustPlan(t, text), c), r)
		b := resumedElsewhere(t, text, c, events, r)
		reserved, slot := b.State.Ledger.Reserved(), b.State.Tasks[0].Slot
		var checked int
		b.Loop.Views = []View{viewFunc(func(e event.Event, s *State) {
			if i, _ := s.Index("a"); s.Tasks[i].Status == event.InProgress && s.Tasks[i].Slot != slot {
				t.Errorf("record %d: slot %d, want %d", e.Seq, s.Tasks[i].Slot, slot)
			}
			switch e.Body.(type) {
			case event.AttemptAdopted:
				checked++
				if s.Ledger.Reserved() != reserved || s.Running() != 2 || len(s.Activities()) == 0 {
					t.Errorf("reserved %s of %s, %d run, %+v", s.Ledger.Reserved(), reserved, s.Running(), s.Activities())
				}
			case event.AttemptStarted: // of c, in the slot of b
				checked++
				if i, _ := s.Index("c"); s.Tasks[i].Slot == slot || s.Running() != 2 {
					t.Errorf("c has slot %d, %d run", s.Tasks[i].Slot, s.Running())
				}
			}
			again := NewState(mustPlan(t, text))
			if err := again.Replay(b.journal.events[:e.Seq]); err != nil {
				t.Error(err)
			} else if e.Seq == s.Seq && !reflect.DeepEqual(visible(again), visible(s)) {
				t.Errorf("record %d: the replay differs:\n%+v\n%+v", e.Seq, visible(again), visible(s))
			}
		})}
		if end := b.run(t); end.Tasks.Completed != 3 || checked != 3 {
			t.Errorf("%+v, %d events looked at", end, checked)
		}
	})
}

// An attempt whose turn is on record is not paid a second time, and an attempt at a task that the plan has changed
// ends.
func TestAdoptionOfTurnsAndOfChangedTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		text := planText(task("a"), task("b"))
		c := testConfig()
		c.Review = event.ReviewOff
		r := newElsewhere()
		first := newFixture(t, mustPlan(t, text), c)
		key := first.State.Tasks[0].Key
		turn := runner.Result{Outcome: runner.Done, Cost: 700, Priced: "result", Turns: 1, Session: "s", Contained: true}
		events := cutOff(t, first, r, event.TurnEnded{Task: "a", Key: key, Attempt: 1, Turn: runner.Turn{Result: turn}})
		changed := planText(task("a"), `{"id":"b","subject":"another","prompt":"do"}`)
		b := resumedElsewhere(t, changed, c, events, r)
		end := b.run(t)
		adopted, ends := of[event.AttemptAdopted](b.journal), of[event.AttemptEnded](b.journal)
		if len(adopted) != 1 || adopted[0].Task != "a" {
			t.Errorf("adopted %+v", adopted)
		}
		k := slices.IndexFunc(ends, func(e event.AttemptEnded) bool { return e.Task == "b" })
		if ends[k].Result.Priced != "cap" || ends[k].Result.Outcome != runner.Interrupted {
			t.Errorf("the attempt at the old task: %+v", ends[k])
		}
		if end.Tasks.Completed != 2 || b.State.Tasks[0].Cost != 700 || b.State.Tasks[0].Attempts != 1 {
			t.Errorf("%+v; a cost %s in %d attempts", end, b.State.Tasks[0].Cost, b.State.Tasks[0].Attempts)
		}
		for _, req := range r.calls[2:] {
			if req.Task == "a" && req.Turn == nil {
				t.Error("the turn of a is made again")
			}
		}
	})
}

// TestAdoptionAfterACrashAnywhere cuts the journal after any record and resumes with another limit, where every open
// attempt is adopted: no attempt has two ends, and the ledger is the sum of the costs.
func TestAdoptionAfterACrashAnywhere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, c := genPlan(t), genConfig(t)
		c.Limits = budget.Limits{NoUSD: true, NoIterations: true}
		d := randomRunner{seed: rapid.Uint64().Draw(t, "seed")}
		_, whole, _ := runRandom(t, p, c, nil, d)
		cut := rapid.IntRange(1, len(whole)).Draw(t, "cut")
		c.Parallel = rapid.IntRange(1, 5).Draw(t, "parallel of the resume")
		s, events, end := runSession(t, p, c, slices.Clone(whole[:cut]), func(l *Loop) {
			l.Runner, l.Panel, l.Review, l.Verify = d, d, d.review, d.verify
			l.Recover = func(context.Context) Recovery { return adopting{} }
		})
		started, ended := map[string]bool{}, map[string]bool{}
		for _, e := range events {
			switch b := e.Body.(type) {
			case event.AttemptStarted:
				started[attemptKey(b.Task, b.Attempt)] = true
			case event.AttemptAdopted:
				if key := attemptKey(b.Task, b.Attempt); !started[key] || ended[key] {
					t.Fatalf("record %d adopts %s: started %t, ended %t", e.Seq, key, started[key], ended[key])
				}
			case event.AttemptEnded:
				key := attemptKey(b.Task, b.Attempt)
				if !started[key] || ended[key] {
					t.Fatalf("record %d ends %s: started %t, ended %t", e.Seq, key, started[key], ended[key])
				}
				ended[key] = true
				if b.Note == interruptedEarlier {
					t.Fatalf("record %d gives %s up", e.Seq, key)
				}
			}
		}
		if len(started) != len(ended) || s.Running() != 0 {
			t.Fatalf("%d started, %d ended, %d run: %+v", len(started), len(ended), s.Running(), end)
		}
		mustAddUp(t, s, events)
		mustReplayAs(t, s, p, events)
	})
}
