package runner

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"wavex/budget"
	"wavex/internal/proc"
)

// Warm keeps processes of the CLI between attempts. A cold process costs a second of CPU
// before its first request, one that waits a tenth of that (observed on claude
// 2.1.197). It decides which of them serves whom; it does not know what is said to them.
// Its methods may be called from many goroutines at once.
type Warm struct {
	most int // processes that wait
	all  int // processes, with those that work; 0: no bound
	// patience is how long one that waits may take to get ready: it has only to answer. A
	// new one has to start first, on a machine that may be busy.
	patience, starting time.Duration
	// rest is how long one waits for work before it goes: a run may wait for a person, or
	// for a limit to be reset, for hours.
	rest time.Duration

	mu       sync.Mutex
	idle     []*cli // the longest waiting first
	busy     int
	expected int   // processes that are wanted beside those at work
	coming   int   // of these, those that start just now
	begun    int   // all of these so far
	last     breed // the newest that was started
	refusals int   // in a row, of processes that had waited
	closed   bool
	others   sync.WaitGroup // goroutines that start and end processes
	guards   sync.WaitGroup // goroutines that watch those that wait
}

// breed is what it takes to start one more of a kind.
type breed struct {
	shape string
	limit budget.USD
	spec  proc.Spec
}

// NewWarm keeps at most most processes waiting, and none while all or more are there,
// waiting or at work. The caller closes it.
func NewWarm(most, all int) *Warm {
	return &Warm{most: most, all: all, patience: 30 * time.Second, starting: 2 * time.Minute, rest: 10 * time.Minute}
}

// take returns a process of the shape that may spend limit micro-dollars more and not much
// less, nil where none waits. With resume it must have the session. In both cases the
// caller has a process from now on, that it gives back or ends.
func (w *Warm) take(shape, session string, resume bool, limit budget.USD) *cli {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy++
	w.drop()
	best := -1
	for i, c := range w.idle {
		switch {
		case c.shape != shape || !c.affords(limit):
		case resume && c.left.session == session:
			best = i
		case resume || c.left.served > 0 && !c.left.clears:
		case best < 0 || c.left.served < w.idle[best].left.served:
			best = i
		}
	}
	if best >= 0 {
		c := w.idle[best]
		w.idle = append(w.idle[:best], w.idle[best+1:]...)
		close(c.off)
		return c
	}
	for w.all > 0 && len(w.idle) > 0 && w.busy+len(w.idle) > w.all {
		w.evict()
	}
	return nil
}

// affords tells whether the process's own cap fits an attempt's: never more than that, so
// that the promise holds, and at least the half, so that the attempt is not cut short.
func (c *cli) affords(limit budget.USD) bool {
	if c.limit == 0 || limit == 0 {
		return c.limit == limit
	}
	rest := c.limit - c.left.spent
	return rest > 0 && rest <= limit && rest >= limit/2
}

// wants tells whether one more process may wait.
func (w *Warm) wants() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.closed && w.most > 0
}

// Expect says that n attempts follow soon that no process at work can serve. For as many,
// as far as they may wait, processes like the newest are started: a cold one has a second's
// work to do before it can do any.
func (w *Warm) Expect(n int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expected = n
	w.fill()
}

// more says what the newest process is like.
func (w *Warm) more(like breed) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = like
	w.fill()
}

// fill starts what is expected and not there. The caller holds mu.
func (w *Warm) fill() {
	if w.last.shape == "" {
		return
	}
	here := w.coming
	for _, c := range w.idle {
		if c.shape == w.last.shape && c.fit() {
			here++
		}
	}
	for ; here < min(w.expected, w.most) && !w.closed && (w.all == 0 || w.busy+len(w.idle)+w.coming < w.all); here++ {
		like := w.last
		w.coming++
		w.begun++
		// Of its own: what it leaves alive may carry it when the process serves an attempt.
		like.spec.Mark += "/" + strconv.Itoa(w.begun)
		w.others.Go(func() {
			c, err := launch(like.spec, nil, nil)
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.coming--; err != nil {
				w.expected = 0 // an attempt will say why
				return
			}
			c.shape, c.limit = like.shape, like.limit
			w.keep(c)
		})
	}
}

// giveUp stops the keeping: the CLI lacks what it takes.
func (w *Warm) giveUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shut()
}

// refusedBy says that a process that had waited would not do what comes before a prompt, or
// that it did. That one has died or does not answer is its own matter; another after it is
// the CLI's, or its hooks', and every attempt would have to wait for that.
func (w *Warm) refusedBy(waited bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !waited {
		w.refusals = 0
	} else if w.refusals++; w.refusals > 1 {
		w.shut()
	}
}

// give puts a process among those that wait, for another if there are too many.
func (w *Warm) give(c *cli) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	w.keep(c)
}

// keep lets a process wait, and the one go that has waited longest where there are too
// many. The caller holds mu.
func (w *Warm) keep(c *cli) {
	w.idle = append(w.idle, c)
	c.off = make(chan struct{})
	off := c.off
	w.guards.Go(func() { w.guard(c, off) })
	for len(w.idle) > 0 && (w.closed || len(w.idle) > w.most || w.all > 0 && w.busy+len(w.idle) > w.all) {
		w.evict()
	}
}

// guard lets a process go that has waited for too long, or does not wait as it should. off
// closes when it does not wait any more.
func (w *Warm) guard(c *cli, off chan struct{}) {
	timer := time.NewTimer(w.rest)
	defer timer.Stop()
	select {
	case <-off:
		return
	case <-c.strayed:
	case <-c.p.Done():
	case <-timer.C:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.idle, c); i >= 0 && c.off == off {
		w.idle = slices.Delete(w.idle, i, i+1)
		w.leave(c)
	}
}

// end says that a process that was taken is gone.
func (w *Warm) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
}

// drop lets those go that have ended or said what nobody asked. The caller holds mu.
func (w *Warm) drop() {
	kept := w.idle[:0]
	for _, c := range w.idle {
		if c.fit() {
			kept = append(kept, c)
		} else {
			w.leave(c)
		}
	}
	w.idle = kept
}

// evict lets the one go that has waited longest. The caller holds mu.
func (w *Warm) evict() {
	w.leave(w.idle[0])
	w.idle = w.idle[1:]
}

// leave ends a process that waits, beside everything else. The caller holds mu.
func (w *Warm) leave(c *cli) {
	close(c.off)
	w.others.Go(func() {
		_ = c.p.Stdin.Close() // closed by the exit already is as good
		for _, harder := range []func() error{c.p.Terminate, c.p.Kill} {
			timer := time.NewTimer(leaveWait)
			select {
			case <-c.p.Done():
			case <-timer.C:
				_ = harder() // gone already is as good
			}
			timer.Stop()
		}
		c.p.Wait()
		<-c.read
	})
}

// leaveWait is how long a process that nobody needs may take to go, before it is asked
// harder.
const leaveWait = 3 * time.Second

// Close ends the processes that wait and returns when they are gone. Those at work are
// not kept any more. Nothing waits in nil.
func (w *Warm) Close() {
	if w == nil {
		return
	}
	w.giveUp()
	w.others.Wait()
	w.guards.Wait()
}

// shut keeps nothing from now on. The caller holds mu.
func (w *Warm) shut() {
	w.closed = true
	for len(w.idle) > 0 {
		w.evict()
	}
}
