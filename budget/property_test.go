package budget

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// ledgerModel is a model of the ledger: maps and plain additions.
type ledgerModel struct {
	limits       Limits
	spent        USD
	tokens       int64
	charged      int
	reservations map[string]reservation
	over         USD // sum of costs above their reservations, and of costs without one
}

func (m *ledgerModel) reserved() (usd USD, iterations int) {
	for _, h := range m.reservations {
		usd += h.USD
		if h.Iteration {
			iterations++
		}
	}
	return usd, iterations
}

// TestLedgerKeepsItsPromise runs any sequence of reservations, ends, crashes and resumes, and
// compares the ledger with the model.
func TestLedgerKeepsItsPromise(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{
			USD:          USD(rapid.Int64Range(0, int64(5*MinReservation)).Draw(t, "limit")),
			NoUSD:        rapid.IntRange(0, 4).Draw(t, "no money limit") == 0,
			Iterations:   rapid.IntRange(0, 20).Draw(t, "iterations"),
			NoIterations: rapid.IntRange(0, 4).Draw(t, "no iteration limit") == 0,
			Tokens:       rapid.SampledFrom([]int64{0, 0, 300}).Draw(t, "tokens"),
		}
		l := NewLedger(limits)
		m := ledgerModel{limits: limits, reservations: map[string]reservation{}}
		key := rapid.Map(rapid.IntRange(0, 5), func(n int) string { return fmt.Sprintf("T-%d", n) })

		t.Repeat(map[string]func(*rapid.T){
			"reserve": func(t *rapid.T) {
				k := key.Draw(t, "key")
				h := reservation{k, USD(rapid.Int64Range(0, int64(MinReservation)).Draw(t, "usd")),
					rapid.Bool().Draw(t, "iteration")}
				reserved, running := m.reserved()
				_, twice := m.reservations[k]
				fits := !twice && (limits.NoUSD || h.USD == 0 || m.spent+reserved+h.USD <= limits.USD) &&
					(!h.Iteration || limits.NoIterations || m.charged+running < limits.Iterations) &&
					(limits.Tokens == 0 || m.tokens < limits.Tokens)
				before := l
				err := l.Reserve(k, h.USD, h.Iteration)
				if (err == nil) != fits {
					t.Fatalf("reserving %+v: %v; fits: %v", h, err, fits)
				}
				if err == nil {
					m.reservations[k] = h
				} else if !reflect.DeepEqual(l, before) {
					t.Fatalf("a refusal changed the ledger")
				}
			},
			"share and reserve": func(t *rapid.T) {
				k := key.Draw(t, "key")
				slots, own := rapid.IntRange(-1, 8).Draw(t, "slots"),
					USD(rapid.Int64Range(0, 2*int64(MinReservation)).Draw(t, "own"))
				usd, ok := l.Share(slots, own)
				if own > 0 && usd > own {
					t.Fatalf("a share of %d for a task with a cap of %d", usd, own)
				}
				if enough := l.Available() >= MinReservation || own > 0 && l.Available() >= own; !limits.NoUSD && ok != enough {
					t.Fatalf("share %d, %v, with %d available for a task with a cap of %d", usd, ok, l.Available(), own)
				}
				if least := min(MinReservation, max(own, 0)); ok && !limits.NoUSD && usd < max(least, 1) {
					t.Fatalf("a useless share of %d", usd)
				}
				if _, twice := m.reservations[k]; !ok || twice || limits.Tokens > 0 && m.tokens >= limits.Tokens {
					return
				}
				if err := l.Reserve(k, usd, false); err != nil {
					t.Fatalf("a share of %d was refused: %v", usd, err)
				}
				m.reservations[k] = reservation{k, usd, false}
			},
			"settle": func(t *rapid.T) {
				k := key.Draw(t, "key")
				h, ok := m.reservations[k]
				if !ok {
					return
				}
				cost := USD(rapid.Int64Range(0, int64(h.USD)+500).Draw(t, "cost"))
				tokens, charged := rapid.Int64Range(0, 50).Draw(t, "tokens"), rapid.Bool().Draw(t, "charged")
				l.Commit(k, cost, tokens, charged)
				delete(m.reservations, k)
				m.spent += cost
				m.tokens += tokens
				m.over += max(cost-h.USD, 0)
				if charged && h.Iteration {
					m.charged++
				}
			},
			"a fact found after a crash": func(t *rapid.T) {
				cost := USD(rapid.Int64Range(-5, 500).Draw(t, "cost"))
				l.Spend(cost, -3)
				m.spent += max(cost, 0)
				m.over += max(cost, 0)
			},
			"a copy is independent": func(t *rapid.T) {
				before := l
				before.reservations = slices.Clone(l.reservations)
				ended, begun := l, l
				for k := range m.reservations {
					ended.Commit(k, 1000, 1, true)
				}
				begun.SetLimits(Limits{NoUSD: true, NoIterations: true})
				for _, k := range []string{"", "T-00", "T-9"} { // before, between and after the others
					if err := begun.Reserve(k, 0, false); err != nil {
						t.Fatal(err)
					}
				}
				if !reflect.DeepEqual(l, before) {
					t.Fatalf("a copy changed its original: %+v, was %+v", l, before)
				}
			},
			"": func(t *rapid.T) {
				reserved, running := m.reserved()
				if l.Spent() != m.spent || l.Reserved() != reserved || l.tokens != m.tokens ||
					l.Iterations() != m.charged+running {
					t.Fatalf("%+v, want %+v", l, m)
				}
				if l.Available() < 0 || l.IterationsLeft() < 0 || l.Iterations() < 0 {
					t.Fatalf("something is negative: %+v", l)
				}
				if !limits.NoIterations && l.Iterations() > limits.Iterations {
					t.Fatalf("%d iterations with a limit of %d", l.Iterations(), limits.Iterations)
				}
				if !limits.NoUSD {
					// The invariant: only costs above their reservations can exceed the limit.
					if l.Spent()+l.Reserved() > limits.USD+m.over {
						t.Fatalf("spent %d, reserved %d, limit %d, overshoot %d", l.Spent(), l.Reserved(), limits.USD, m.over)
					}
					if want := max(limits.USD-m.spent-reserved, 0); l.Available() != want {
						t.Fatalf("available %d, want %d", l.Available(), want)
					}
				}
			},
		})
		// After all reservations have ended nothing is held, for any order.
		for k := range m.reservations {
			l.Commit(k, 0, 0, false)
		}
		if l.Reserved() != 0 || l.Spent() != m.spent || l.Iterations() != m.charged {
			t.Fatalf("after the end: %+v, want %+v", l, m)
		}
	})
}
