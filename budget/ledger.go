package budget

// This file implements the ledger: work must reserve its money before it starts, and its end
// replaces the reservation by the actual cost. It reads no clock.

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// MinReservation is the least money worth starting an agent with: one cent, about one short
// response of a small model. The first response would exceed a smaller cap, and no work would be
// done.
const MinReservation = Dollar / 100

// Ledger holds the money, iterations and tokens of a run, spent and reserved. It is a value: a copy
// is independent of its original. It belongs to one goroutine. The zero value has limits of zero
// and admits nothing that costs money; use NewLedger.
//
// Invariant: a reservation never raises the sum of spent and reserved money above the limit. If
// every cost stays within its reservation, the spent money never exceeds the limit. Otherwise it
// exceeds the limit by at most the sum of the excess costs.
type Ledger struct {
	limits       Limits
	spent        USD
	charged      int // iterations that have ended
	tokens       int64
	reservations []reservation // sorted by key; never changed in place, because copies share it
}

// reservation is one reservation.
type reservation struct {
	Key       string
	USD       USD
	Iteration bool
}

// NewLedger returns a ledger without costs.
func NewLedger(l Limits) Ledger { return Ledger{limits: l.normal()} }

// Limits returns the current limits.
func (l *Ledger) Limits() Limits { return l.limits }

// SetLimits changes the limits, up or down. Costs and reservations are unchanged, even above the
// new limits.
func (l *Ledger) SetLimits(n Limits) { l.limits = n.normal() }

// Reserve holds money, and an iteration if asked, under key until Commit. It holds all or nothing,
// and returns a *LimitError if the limits do not allow it. A reservation of 0 is for work that
// costs no money. Any other error is a mistake of the caller: a key that already holds a
// reservation, or a negative amount.
func (l *Ledger) Reserve(key string, usd USD, iteration bool) error {
	at, found := l.find(key)
	if found {
		return fmt.Errorf("reserving for %q: it holds a reservation already", key)
	}
	if usd < 0 {
		return fmt.Errorf("reserving for %q: the amount %d is negative", key, usd)
	}
	if !l.limits.NoUSD && usd > l.Available() {
		return l.shortage(usd)
	}
	if iteration && l.IterationsLeft() == 0 {
		return &LimitError{Limit: LimitIterations, Value: int64(l.limits.Iterations),
			Spent: int64(l.charged), Reserved: int64(l.reservedIterations()), Wanted: 1}
	}
	if l.limits.Tokens > 0 && l.tokens >= l.limits.Tokens {
		return &LimitError{Limit: LimitTokens, Value: l.limits.Tokens, Spent: l.tokens}
	}
	l.reservations = slices.Insert(slices.Clone(l.reservations), at, reservation{key, usd, iteration})
	return nil
}

// Commit replaces the reservation under key by the actual cost in micro-dollars and the tokens.
// charged reports whether a reserved iteration counts; otherwise it is released. Negative values
// count as 0. Commit panics if key holds no reservation, because money would be counted twice or
// not at all.
func (l *Ledger) Commit(key string, cost USD, tokens int64, charged bool) {
	at, found := l.find(key)
	if !found {
		panic(fmt.Sprintf("budget: settling %q, which holds no reservation", key))
	}
	if charged && l.reservations[at].Iteration {
		l.charged++
	}
	l.reservations = slices.Concat(l.reservations[:at], l.reservations[at+1:])
	if len(l.reservations) == 0 {
		l.reservations = nil // as in a new ledger
	}
	l.Spend(cost, tokens)
}

// Spend adds a cost without a reservation, such as that of an attempt found after a crash. Negative
// values count as 0.
func (l *Ledger) Spend(cost USD, tokens int64) {
	l.spent = addSaturating(l.spent, max(cost, 0))
	l.tokens = addSaturating(l.tokens, max(tokens, 0))
}

// Correct replaces a cost that was spent by another one, and adds its tokens. Negative values count as 0.
func (l *Ledger) Correct(was, cost USD, tokens int64) {
	l.spent = max(l.spent-max(was, 0), 0)
	l.Spend(cost, tokens)
}

// Spent returns the actual cost so far.
func (l *Ledger) Spent() USD { return l.spent }

// Reserved returns the money reserved by running work.
func (l *Ledger) Reserved() USD {
	var sum USD
	for _, h := range l.reservations {
		sum = addSaturating(sum, h.USD)
	}
	return sum
}

// Available returns the money that can still be reserved, at least 0. Without a limit it returns
// math.MaxInt64.
func (l *Ledger) Available() USD {
	if l.limits.NoUSD {
		return math.MaxInt64
	}
	return max(l.limits.USD-addSaturating(l.spent, l.Reserved()), 0)
}

// Iterations returns the number of attempts that count or are still running.
func (l *Ledger) Iterations() int { return l.charged + l.reservedIterations() }

// Charged returns the number of iterations that have ended; Iterations adds the running ones.
func (l *Ledger) Charged() int { return l.charged }

// IterationsLeft returns how many more attempts may begin, at least 0; math.MaxInt without a limit.
func (l *Ledger) IterationsLeft() int {
	if l.limits.NoIterations {
		return math.MaxInt
	}
	return max(l.limits.Iterations-l.Iterations(), 0)
}

// Share returns the cap for the next attempt when slots attempts could start: an even share of the
// available money, at least MinReservation, and at most own, the cap of the task itself, if that is
// above 0. It returns false if less than that minimum is available (or less than own, if own is
// smaller); Shortage then returns the reason. Without a money limit it returns own, where 0 means
// no cap, and true.
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
	// If an even share is below the minimum, fewer attempts get enough.
	share := max(left/USD(max(slots, 1)), least)
	if own > 0 {
		share = min(share, own)
	}
	return share, true
}

// Shortage returns the money limit with its current use, to report if Share returns false. It
// returns nil without a money limit.
func (l *Ledger) Shortage() *LimitError {
	if l.limits.NoUSD {
		return nil
	}
	return l.shortage(MinReservation)
}

func (l *Ledger) shortage(wanted USD) *LimitError {
	return &LimitError{Limit: LimitMoney, Value: int64(l.limits.USD),
		Spent: int64(l.spent), Reserved: int64(l.Reserved()), Wanted: int64(wanted)}
}

// OverWall returns the wall-clock limit if a run has reached it after the time elapsed, or nil.
func (l *Ledger) OverWall(elapsed time.Duration) *LimitError {
	if l.limits.Wall > 0 && elapsed >= l.limits.Wall {
		return &LimitError{Limit: LimitWall, Value: int64(l.limits.Wall), Spent: int64(elapsed)}
	}
	return nil
}

// reservedIterations returns the number of reserved iterations.
func (l *Ledger) reservedIterations() int {
	n := 0
	for _, h := range l.reservations {
		if h.Iteration {
			n++
		}
	}
	return n
}

// Holds reports whether a reservation is held under key.
func (l *Ledger) Holds(key string) bool {
	_, found := l.find(key)
	return found
}

func (l *Ledger) find(key string) (int, bool) {
	return slices.BinarySearchFunc(l.reservations, key, func(h reservation, key string) int {
		return strings.Compare(h.Key, key)
	})
}

// addSaturating returns the sum of two amounts that are not negative, at most the largest value of T.
func addSaturating[T ~int64](a, b T) T {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
