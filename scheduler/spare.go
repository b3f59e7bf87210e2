package scheduler

import (
	"context"
	"reflect"
	"slices"
	"time"

	"wavex/budget"
	"wavex/internal/event"
	"wavex/runner"
)

// This file starts the process of the next task while every slot is taken: a spare. It is used
// once, by exactly that attempt, with the slot and the money that were reserved for it.

// spareOf returns the spare of an attempt, or nil.
func (s *State) spareOf(task string, attempt int) *event.SpareStarted {
	for k := range s.openSpares {
		if b := &s.openSpares[k]; b.Task == task && b.Attempt == attempt {
			return b
		}
	}
	return nil
}

func (s *State) applySpareStarted(b event.SpareStarted) error {
	if err := s.purse(spareJob(&b)).reserve(spareJob(&b)); err != nil {
		return err
	}
	s.slots.acquire(b.Slot)
	s.openSpares = append(s.openSpares, b)
	return nil
}

// spareJob returns the reservation of a spare, under the key of its attempt.
func spareJob(b *event.SpareStarted) job {
	return job{key: attemptKey(b.Task, b.Attempt), wave: b.Wave, task: b.Task, cap: b.Cap}
}

// applySpareEnded releases a spare's reservations, unless an attempt has taken them over.
func (s *State) applySpareEnded(b event.SpareEnded) {
	if s.spareOf(b.Task, b.Attempt) != nil {
		s.releaseSpare(b.Task, b.Attempt, b.Cost)
		return
	}
	p := s.purse(spareJob(&event.SpareStarted{Task: b.Task, Wave: b.Wave, Attempt: b.Attempt}))
	for _, l := range []*budget.Ledger{p.run, p.wave, p.group} {
		if l != nil {
			l.Spend(b.Cost, 0)
		}
	}
}

// releaseSpare replaces the reservation of a spare, if the attempt has one, by its cost in
// micro-dollars.
func (s *State) releaseSpare(task string, attempt int, cost budget.USD) {
	b := s.spareOf(task, attempt)
	if b == nil {
		return
	}
	s.purse(spareJob(b)).commit(attemptKey(task, attempt), cost, 0, false)
	s.slots.release(b.Slot)
	s.openSpares = slices.DeleteFunc(slices.Clone(s.openSpares), func(b event.SpareStarted) bool {
		return b.Task == task && b.Attempt == attempt
	})
}

// freeSpares returns how many more processes may be started ahead now.
func (s *State) freeSpares() int {
	if s.Config.Isolation == event.Isolated {
		return 0
	}
	return max(s.Config.Spares-len(s.openSpares), 0)
}

// decideSpare returns the SpareStarted of the next task, or nil. It is called when decideNext returns nil. No
// process is started ahead of a question to a person, of a panel, or of a task that needs a
// question first.
func decideSpare(s *State, now time.Time) event.Body {
	switch {
	case s.freeSpares() == 0, s.Wave == 0, s.Running() < s.Limiter.Limit, s.Stop != nil, s.Phase != Executing,
		s.openQuestion != nil, s.Config.Attended, s.warming, now.Before(s.PauseUntil), len(s.queue.panels) > 0,
		s.Ledger.IterationsLeft() == 0:
		return nil
	}
	pick := -1
	s.queue.scan(s.queueIndex(s.Wave), s.isReady, func(i int) next {
		eager := s.Config.Schedule == event.Eager
		switch {
		case s.spareOf(s.Plan.Tasks[i].ID, s.Tasks[i].Attempts+1) != nil:
			return nextTask
		case eager && s.isGroupFull(i):
			return nextGroup
		case !s.isTurn(i) || now.Before(s.Tasks[i].NotBefore) || !s.files.free(i) || s.groupWaits(i):
			if eager {
				return nextTask
			}
		default:
			pick = i
		}
		return noneNext
	})
	if pick < 0 {
		return nil
	}
	t, p := &s.Tasks[pick], &s.Plan.Tasks[pick]
	// MCP servers would start too, and a continued session still belongs to the previous attempt.
	if p.Command != "" || p.Reversibility == "1" || t.Continue || t.Turn != nil || s.Plan.Settings(pick).MCPConfig != "" {
		return nil
	}
	limit, wait, short := s.fund(slices.Repeat([]int{pick}, s.freeSpares()))
	if wait || short != nil {
		return nil
	}
	b := event.SpareStarted{Task: p.ID, Key: t.Key, Wave: t.Wave, Attempt: t.Attempts + 1, Slot: s.slots.nextFree(),
		Session: sessionID(s.Config.Run+s.nonce, p.ID, t.Attempts+1), Cap: limit}
	if s.admits(spareJob(&b)) != nil {
		return nil
	}
	return b
}

// obsoleteSpares returns the spares that must end: those whose attempt is no longer the next one, those
// whose attempt would now have a cap where the spare has none, or the reverse, and all of them if
// a panel waits for money or their reservations change the kind of the next decision.
func obsoleteSpares(s *State, now time.Time) []event.SpareStarted {
	if len(s.openSpares) == 0 {
		return nil
	}
	free := s.withoutSpares()
	_, kept := decidePanels(s)
	if s.Stop != nil || s.Phase == Ended || s.openQuestion != nil || now.Before(s.PauseUntil) ||
		len(kept.groups) > 0 ||
		reflect.TypeOf(decideNext(s, now)) != reflect.TypeOf(decideNext(free, now)) {
		return s.openSpares
	}
	var out []event.SpareStarted
	for _, b := range s.openSpares {
		i, ok := s.Index(b.Task)
		if ok {
			t := &s.Tasks[i]
			limit, short := free.share(b.Wave, 1, s.taskBudget(i))
			limit = free.groupCap([]int{i}, limit)
			ok = t.Status == event.Pending && t.Key == b.Key && t.Attempts+1 == b.Attempt && !t.Continue &&
				(short != nil || (limit == 0) == (b.Cap == 0))
		}
		if !ok {
			out = append(out, b)
		}
	}
	return out
}

// withoutSpares returns a copy of the state in which spares hold no reservations.
func (s *State) withoutSpares() *State {
	c := *s
	c.waveLedgers = map[int]*budget.Ledger{}
	for wave, p := range s.waveLedgers {
		purse := *p
		c.waveLedgers[wave] = &purse
	}
	c.groups = map[string]*group{}
	for id, g := range s.groups {
		own := *g
		c.groups[id] = &own
	}
	c.slots.used = slices.Clone(s.slots.used)
	for _, b := range s.openSpares {
		c.releaseSpare(b.Task, b.Attempt, 0)
	}
	return &c
}

// spareProcess is a spare whose process is running or starting.
type spareProcess struct {
	event.SpareStarted
	process   runner.Spare
	assigned  chan struct{} // closed when the attempt takes the process
	cancel    context.CancelFunc
	cancelled bool          // leave was called
	ended     chan struct{} // closed after the process, or its attempt, has ended
}

// startSpare starts a spare. It sends a message when the spare ends, unless the attempt takes it.
func (r *running) startSpare(b event.SpareStarted) {
	end := event.SpareEnded{Task: b.Task, Wave: b.Wave, Attempt: b.Attempt}
	i, _ := r.s.Index(b.Task)
	req, err := r.Request(r.s, i, b.Start())
	ctx, cancel := context.WithCancel(r.kill)
	p := &spareProcess{SpareStarted: b, assigned: make(chan struct{}), cancel: cancel, ended: make(chan struct{})}
	if r.NewSpare != nil && err == nil {
		p.process = r.NewSpare(req)
	}
	r.spares[attemptKey(b.Task, b.Attempt)] = p
	r.background.Go(func() error {
		defer close(p.ended)
		defer cancel()
		used := false
		if p.process != nil {
			end.Cost, used = p.process.Run(ctx)
		} else {
			select {
			case <-p.assigned:
			case <-ctx.Done():
			}
		}
		select {
		case <-p.assigned: // the attempt is on record, so nothing is released
			used = used || end.Cost == 0
		default:
		}
		if !used {
			r.results <- func() event.Body {
				delete(r.spares, attemptKey(b.Task, b.Attempt))
				return end
			}
		}
		return nil
	})
}

// assignSpare returns the process that was started for an attempt, or nil. The caller must call release
// after the attempt, also if the attempt did not take the process.
func (r *running) assignSpare(b event.AttemptStarted) (process runner.Spare, release func()) {
	key := attemptKey(b.Task, b.Attempt)
	p := r.spares[key]
	if p == nil {
		return nil, func() {}
	}
	delete(r.spares, key)
	close(p.assigned)
	return p.process, func() {
		p.cancel()
		<-p.ended
	}
}

// endObsoleteSpares ends the unwanted spares and reports whether one is still ending. The loop makes no
// decision until its end is on record.
func (r *running) endObsoleteSpares() (leaving bool) {
	for _, b := range obsoleteSpares(r.s, r.Now()) {
		if p := r.spares[attemptKey(b.Task, b.Attempt)]; p != nil {
			p.cancel()
			p.cancelled = true
		}
	}
	for _, p := range r.spares {
		leaving = leaving || p.cancelled
	}
	return leaving
}
