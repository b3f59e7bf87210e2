package scheduler

import (
	"context"
	"slices"
	"time"

	"wavex/budget"
	"wavex/runner"
)

// This file starts the process of the next task while every slot is taken: a spare. It is used
// once, by exactly that attempt, with the slot and the money that were reserved for it.

// SpareStarted reserves the money of the next attempt at a task, under the attempt's key, and a
// slot. The process then starts, without a prompt. AttemptStarted for the same attempt takes both
// over.
type SpareStarted struct {
	Task    string     `json:"task"`
	Key     string     `json:"key"` // content key of the task
	Wave    int        `json:"wave"`
	Attempt int        `json:"attempt"` // the attempt that it is for
	Slot    int        `json:"slot"`
	Session string     `json:"session"`
	Cap     budget.USD `json:"cap,omitempty"` // micro-dollars reserved; 0: no limit
}

// SpareEnded says that a spare's process ended without an attempt. Its reservations are released.
type SpareEnded struct {
	Task    string     `json:"task"`
	Wave    int        `json:"wave"`
	Attempt int        `json:"attempt"`
	Cost    budget.USD `json:"cost"` // micro-dollars; 0 unless the CLI worked without a prompt
}

// Type names the event.
func (SpareStarted) Type() string { return "spare_started" }

// Type names the event.
func (SpareEnded) Type() string { return "spare_ended" }

// start returns the known part of the attempt's start.
func (b *SpareStarted) start() AttemptStarted {
	return AttemptStarted{Task: b.Task, Key: b.Key, Wave: b.Wave, Attempt: b.Attempt, Slot: b.Slot,
		Session: b.Session, Cap: b.Cap}
}

// spareOf returns the spare of an attempt, or nil.
func (s *State) spareOf(task string, attempt int) *SpareStarted {
	for k := range s.ahead {
		if b := &s.ahead[k]; b.Task == task && b.Attempt == attempt {
			return b
		}
	}
	return nil
}

func (s *State) spareStarted(b SpareStarted) error {
	if err := s.reserve(attemptKey(b.Task, b.Attempt), b.Wave, b.Cap, false); err != nil {
		return err
	}
	s.slots.take(b.Slot)
	s.ahead = append(s.ahead, b)
	return nil
}

// spareEnded releases a spare's reservations, unless an attempt has taken them over.
func (s *State) spareEnded(b SpareEnded) {
	if s.spareOf(b.Task, b.Attempt) != nil {
		s.dropSpare(b.Task, b.Attempt, b.Cost)
		return
	}
	s.Ledger.Spend(b.Cost, 0)
	s.purse(b.Wave).Spend(b.Cost, 0)
}

// dropSpare replaces the reservation of a spare, if the attempt has one, by its cost in
// micro-dollars.
func (s *State) dropSpare(task string, attempt int, cost budget.USD) {
	b := s.spareOf(task, attempt)
	if b == nil {
		return
	}
	s.pay(attemptKey(task, attempt), b.Wave, cost, 0, false)
	s.slots.release(b.Slot)
	s.ahead = slices.DeleteFunc(slices.Clone(s.ahead), func(b SpareStarted) bool {
		return b.Task == task && b.Attempt == attempt
	})
}

// affords reports whether the reservation of a spare still fits the limits. Costs above their
// reservations may have used up the money.
func (s *State) affords(b *SpareStarted) bool {
	key := attemptKey(b.Task, b.Attempt)
	for _, l := range []budget.Ledger{s.Ledger, *s.purse(b.Wave)} {
		l.Settle(key, 0, 0, false)
		if l.Reserve(key, b.Cap, false) != nil {
			return false
		}
	}
	return true
}

// spares returns how many more processes may be started ahead now.
func (s *State) spares() int {
	if s.Config.Isolation == Isolated {
		return 0
	}
	return max(s.Config.Spares-len(s.ahead), 0)
}

// spare returns the SpareStarted of the next task, or nil. It is called when next returns nil. No
// process is started ahead of a question to a person, of a panel, or of a task that needs a
// question first.
func spare(s *State, now time.Time) Body {
	switch {
	case s.spares() == 0, s.Wave == 0, s.running < s.Fleet.Limit, s.Stop != nil, s.Ended != nil, s.busy,
		s.asking != nil, s.Config.Attended, s.cold, now.Before(s.Hold), len(s.queue.panels) > 0,
		s.Ledger.IterationsLeft() == 0:
		return nil
	}
	pick := -1
	s.queue.scan(s.list(s.Wave), func(i int) bool { return s.Tasks[i].Status == Pending }, func(i int) bool {
		if s.spareOf(s.Plan.Tasks[i].ID, s.Tasks[i].Attempts+1) != nil {
			return true
		}
		if !s.turn(i) || now.Before(s.Tasks[i].NotBefore) || !s.files.free(i) {
			return s.Config.Schedule == "eager"
		}
		pick = i
		return false
	})
	if pick < 0 {
		return nil
	}
	t, p := &s.Tasks[pick], &s.Plan.Tasks[pick]
	// MCP servers would start too, and a continued session still belongs to the previous attempt.
	if p.Command != "" || p.Reversibility == "1" || t.Continue || s.Plan.Settings(pick).MCPConfig != "" {
		return nil
	}
	limit, short := s.share(t.Wave, s.spares(), s.own(pick))
	if short != nil {
		return nil
	}
	b := SpareStarted{Task: p.ID, Key: t.Key, Wave: t.Wave, Attempt: t.Attempts + 1, Slot: s.slots.free(),
		Session: session(s.Config.Run+s.nonce, p.ID, t.Attempts+1), Cap: limit}
	probe := s.Ledger
	if probe.Reserve(attemptKey(b.Task, b.Attempt), limit, false) != nil {
		return nil
	}
	return b
}

// unwanted returns the spares that must end: those whose attempt is no longer the next one, those
// whose attempt would now have a cap where the spare has none, or the reverse, and all of them if
// their reservations change the kind of the next decision.
func unwanted(s *State, now time.Time) []SpareStarted {
	if len(s.ahead) == 0 {
		return nil
	}
	free := s.withoutSpares()
	if s.Stop != nil || s.Ended != nil || s.asking != nil || now.Before(s.Hold) ||
		kind(next(s, now)) != kind(next(free, now)) {
		return s.ahead
	}
	var out []SpareStarted
	for _, b := range s.ahead {
		i, ok := s.Index(b.Task)
		if ok {
			t := &s.Tasks[i]
			limit, short := free.share(b.Wave, 1, s.own(i))
			ok = t.Status == Pending && t.Key == b.Key && t.Attempts+1 == b.Attempt && !t.Continue &&
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
	c.purses = map[int]*budget.Ledger{}
	for wave, p := range s.purses {
		purse := *p
		c.purses[wave] = &purse
	}
	c.slots.used = slices.Clone(s.slots.used)
	for _, b := range s.ahead {
		c.dropSpare(b.Task, b.Attempt, 0)
	}
	return &c
}

func kind(b Body) string {
	if b == nil {
		return ""
	}
	return b.Type()
}

// preparing is a spare whose process is running or starting.
type preparing struct {
	SpareStarted
	process *runner.Spare
	handed  chan struct{} // closed when the attempt takes the process
	leave   context.CancelFunc
	leaving bool          // leave was called
	over    chan struct{} // closed after the process, or its attempt, has ended
}

// prepare starts a spare. It sends a message when the spare ends, unless the attempt takes it.
func (r *running) prepare(b SpareStarted) {
	end := SpareEnded{Task: b.Task, Wave: b.Wave, Attempt: b.Attempt}
	i, _ := r.s.Index(b.Task)
	req, err := r.Request(r.s, i, b.start())
	ctx, leave := context.WithCancel(r.kill)
	p := &preparing{SpareStarted: b, handed: make(chan struct{}), leave: leave, over: make(chan struct{})}
	if r.Prepare != nil && err == nil {
		p.process = r.Prepare(req)
	}
	r.ahead[attemptKey(b.Task, b.Attempt)] = p
	r.side.Go(func() error {
		defer close(p.over)
		defer leave()
		used := false
		if p.process != nil {
			end.Cost, used = p.process.Keep(ctx)
		} else {
			select {
			case <-p.handed:
			case <-ctx.Done():
			}
		}
		select {
		case <-p.handed: // the attempt is on record, so nothing is released
			used = used || end.Cost == 0
		default:
		}
		if !used {
			r.done <- message{event: end}
		}
		return nil
	})
}

// hand gives an attempt the process that was started for it. The caller must call release after the
// attempt, also if the attempt did not take the process.
func (r *running) hand(b AttemptStarted, req *runner.Request) (release func()) {
	key := attemptKey(b.Task, b.Attempt)
	p := r.ahead[key]
	if p == nil {
		return func() {}
	}
	delete(r.ahead, key)
	req.Spare = p.process
	close(p.handed)
	return func() {
		p.leave()
		<-p.over
	}
}

// relieve ends the unwanted spares and reports whether one is still ending. The loop makes no
// decision until its end is on record.
func (r *running) relieve() (leaving bool) {
	for _, b := range unwanted(r.s, r.Now()) {
		if p := r.ahead[attemptKey(b.Task, b.Attempt)]; p != nil {
			p.leave()
			p.leaving = true
		}
	}
	for _, p := range r.ahead {
		leaving = leaving || p.leaving
	}
	return leaving
}

// recoverSpares closes spares that an earlier session left open. They had no prompt.
func (r *running) recoverSpares(ctx context.Context) error {
	for _, b := range r.s.ahead {
		if r.Recover != nil {
			r.Recover(ctx, b.start()) // ends leftover processes
		}
		if err := r.stage(SpareEnded{Task: b.Task, Wave: b.Wave, Attempt: b.Attempt}); err != nil {
			return err
		}
	}
	return nil
}
