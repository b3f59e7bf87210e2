package budget

// This file is the arithmetic of the promise: nothing starts unreserved, and an end
// replaces its reservation by the fact. It does not know what an attempt is, and it
// reads no clock.

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// MinReservation is the least money worth starting an agent with: one cent, about
// one short response of a small model. With less, the first response would already
// pass the cap, and nothing would be done for it.
const MinReservation = Dollar / 100

// Ledger keeps what is spent and what is held. It is a value: a copy is independent
// of its original. It belongs to one goroutine. The zero value has limits of zero and
// admits nothing that costs; use NewLedger.
//
// The invariant: reserving alone never takes spent plus reserved above the limit. So
// where every cost stays within its reservation, spent never passes the limit, and
// otherwise it passes by no more than the sum of what the costs passed theirs.
type Ledger struct {
	limits  Limits
	spent   USD
	charged int // iterations, as facts
	tokens  int64
	held    []hold // sorted by key; never changed in place, so that copies stay apart
}

// hold is one reservation.
type hold struct {
	Key       string `json:"key"`
	USD       USD    `json:"usd"`
	Iteration bool   `json:"iteration,omitempty"`
}

// NewLedger returns a ledger with nothing spent.
func NewLedger(l Limits) Ledger { return Ledger{limits: l.normal()} }

// Limits are the limits in force.
func (l *Ledger) Limits() Limits { return l.limits }

// SetLimits changes the limits, up or down. What is spent and held stays, even above
// the new ones.
func (l *Ledger) SetLimits(n Limits) { l.limits = n.normal() }

// Reserve holds money, and an iteration if asked, under key until Settle. It holds
// all or nothing, and returns a *LimitError when it does not fit. A reservation of 0
// needs no money, for work that costs none. Any other error is a mistake of the
// caller: a key that holds something already, or a negative amount.
func (l *Ledger) Reserve(key string, usd USD, iteration bool) error {
	at, found := l.find(key)
	if found {
		return fmt.Errorf("reserving for %q: it holds a reservation already", key)
	}
	if usd < 0 {
		return fmt.Errorf("reserving for %q: the amount %d is negative", key, usd)
	}
	if !l.limits.NoUSD && usd > l.Available() {
		return l.short(usd)
	}
	if iteration && l.IterationsLeft() == 0 {
		return &LimitError{Limit: LimitIterations, Value: int64(l.limits.Iterations),
			Spent: int64(l.charged), Reserved: int64(l.running()), Wanted: 1}
	}
	if l.limits.Tokens > 0 && l.tokens >= l.limits.Tokens {
		return &LimitError{Limit: LimitTokens, Value: l.limits.Tokens, Spent: l.tokens}
	}
	l.held = slices.Insert(slices.Clone(l.held), at, hold{key, usd, iteration})
	return nil
}

// Settle replaces the reservation under key by the fact: cost in micro-dollars and
// tokens. charged tells whether an iteration that was held counts; otherwise it is
// given back. Negative facts count as 0. A key that holds nothing panics: money would
// be counted twice or not at all.
func (l *Ledger) Settle(key string, cost USD, tokens int64, charged bool) {
	at, found := l.find(key)
	if !found {
		panic(fmt.Sprintf("budget: settling %q, which holds no reservation", key))
	}
	if charged && l.held[at].Iteration {
		l.charged++
	}
	l.held = slices.Concat(l.held[:at], l.held[at+1:])
	if len(l.held) == 0 {
		l.held = nil // as in a new ledger
	}
	l.Spend(cost, tokens)
}

// Spend adds a fact that had no reservation, such as the cost of an attempt found
// after a crash. Negative facts count as 0.
func (l *Ledger) Spend(cost USD, tokens int64) {
	l.spent = add(l.spent, max(cost, 0))
	l.tokens = add(l.tokens, max(tokens, 0))
}

// Holds tells whether key holds a reservation, and of how much.
func (l *Ledger) Holds(key string) (USD, bool) {
	at, found := l.find(key)
	if !found {
		return 0, false
	}
	return l.held[at].USD, true
}

// Spent is the money spent, as a fact.
func (l *Ledger) Spent() USD { return l.spent }

// Reserved is the money held by what still runs.
func (l *Ledger) Reserved() USD {
	var sum USD
	for _, h := range l.held {
		sum = add(sum, h.USD)
	}
	return sum
}

// Available is the money that can still be reserved, never negative. Without a limit
// it is math.MaxInt64.
func (l *Ledger) Available() USD {
	if l.limits.NoUSD {
		return math.MaxInt64
	}
	return max(l.limits.USD-add(l.spent, l.Reserved()), 0)
}

// Iterations are the attempts begun and not given back: those that count and those
// that still run.
func (l *Ledger) Iterations() int { return l.charged + l.running() }

// Charged counts the iterations that have ended as such; Iterations adds those under way.
func (l *Ledger) Charged() int { return l.charged }

// IterationsLeft is how many more attempts can begin, never negative; math.MaxInt
// without a limit.
func (l *Ledger) IterationsLeft() int {
	if l.limits.NoIterations {
		return math.MaxInt
	}
	return max(l.limits.Iterations-l.Iterations(), 0)
}

// Tokens are the tokens used, as a fact.
func (l *Ledger) Tokens() int64 { return l.tokens }

// Share is the cap for the next attempt when slots of them are free: an even share of
// what is available, at least MinReservation, and at most own, the cap of the task
// itself, where that is above 0. It is false when less than that minimum is available
// (or less than own, where that is smaller still); Shortage then tells why. Without a
// money limit the cap is own, where 0 means none, and Share is true.
func (l *Ledger) Share(slots int, own USD) (USD, bool) {
	own = max(own, 0)
	if l.limits.NoUSD {
		return own, true
	}
	left := l.Available()
	least := MinReservation
	if own > 0 {
		least = min(least, own)
	}
	if left < least {
		return 0, false
	}
	// Where an even share is too little for anybody, fewer get enough.
	share := max(left/USD(max(slots, 1)), least)
	if own > 0 {
		share = min(share, own)
	}
	return share, true
}

// Shortage is the money limit as it stands, to report when Share is false; nil
// without a money limit.
func (l *Ledger) Shortage() *LimitError {
	if l.limits.NoUSD {
		return nil
	}
	return l.short(MinReservation)
}

func (l *Ledger) short(wanted USD) *LimitError {
	return &LimitError{Limit: LimitMoney, Value: int64(l.limits.USD),
		Spent: int64(l.spent), Reserved: int64(l.Reserved()), Wanted: int64(wanted)}
}

// Over returns the first limit that the facts have reached, in the order money,
// iterations, tokens, or nil. Reaching is being equal or above (LEDGER S4-20).
// Reservations do not count: they may come back.
func (l *Ledger) Over() *LimitError {
	n := l.limits
	switch {
	case !n.NoUSD && l.spent >= n.USD:
		return &LimitError{Limit: LimitMoney, Value: int64(n.USD), Spent: int64(l.spent), Reserved: int64(l.Reserved())}
	case !n.NoIterations && l.charged >= n.Iterations:
		return &LimitError{Limit: LimitIterations, Value: int64(n.Iterations), Spent: int64(l.charged), Reserved: int64(l.running())}
	case n.Tokens > 0 && l.tokens >= n.Tokens:
		return &LimitError{Limit: LimitTokens, Value: n.Tokens, Spent: l.tokens}
	}
	return nil
}

// OverWall returns the wall-clock limit when a run that lasted elapsed has reached
// it, or nil.
func (l *Ledger) OverWall(elapsed time.Duration) *LimitError {
	if l.limits.Wall > 0 && elapsed >= l.limits.Wall {
		return &LimitError{Limit: LimitWall, Value: int64(l.limits.Wall), Spent: int64(elapsed)}
	}
	return nil
}

// Notices tells which of 50, 75 and 90 percent of the money limit were crossed since
// before was the sum spent, ascending; nil when none were, or there is no limit.
func (l *Ledger) Notices(before USD) []int {
	if l.limits.NoUSD || l.limits.USD == 0 {
		return nil
	}
	var crossed []int
	for _, percent := range [...]int{50, 75, 90} {
		if mark := part(l.limits.USD, percent); before < mark && l.spent >= mark {
			crossed = append(crossed, percent)
		}
	}
	return crossed
}

// part is that percentage of an amount, rounded up, without overflow.
func part(u USD, percent int) USD {
	p := USD(percent)
	return u/100*p + (u%100*p+99)/100
}

// running counts the iterations held.
func (l *Ledger) running() int {
	n := 0
	for _, h := range l.held {
		if h.Iteration {
			n++
		}
	}
	return n
}

func (l *Ledger) find(key string) (int, bool) {
	return slices.BinarySearchFunc(l.held, key, func(h hold, key string) int {
		return strings.Compare(h.Key, key)
	})
}

// add sums two amounts that are not negative, and stays at the largest there is.
func add[T ~int64](a, b T) T {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
