package budget

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"
)

// limitOf returns the *LimitError of err; it fails the test for any other error.
func limitOf(t *testing.T, err error) *LimitError {
	t.Helper()
	var le *LimitError
	if !errors.As(err, &le) {
		t.Fatalf("error %v, want a *LimitError", err)
	}
	return le
}

// A cost that is corrected counts as if it had been the corrected one from the begin.
func TestCorrect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ was, cost, want USD }{{500, 200, 300}, {500, 900, 1000}, {0, 5, 605}, {9999, 5, 5},
		{-1, -1, 600}} {
		l := NewLedger(Limits{USD: Dollar, Iterations: 1})
		l.Spend(600, 3)
		l.Correct(c.was, c.cost, 4)
		if l.Spent() != c.want || l.tokens != 7 || l.Available() != Dollar-c.want {
			t.Errorf("%d instead of %d: %d, %d tokens", c.cost, c.was, l.Spent(), l.tokens)
		}
	}
}

func TestReserveAndCommit(t *testing.T) {
	t.Parallel()
	l := NewLedger(Limits{USD: 10 * Dollar, Iterations: 3})
	for _, key := range []string{"b", "a"} {
		if err := l.Reserve(key, 4*Dollar, true); err != nil {
			t.Fatal(err)
		}
	}
	if l.Reserved() != 8*Dollar || l.Available() != 2*Dollar || l.Spent() != 0 || l.Iterations() != 2 ||
		l.IterationsLeft() != 1 {
		t.Errorf("held: %+v", l)
	}
	want := LimitError{Limit: LimitMoney, Value: int64(10 * Dollar), Reserved: int64(8 * Dollar),
		Wanted: int64(2*Dollar + 1)}
	if e := limitOf(t, l.Reserve("c", 2*Dollar+1, true)); *e != want || e.Reached() {
		t.Errorf("too much: %+v", e)
	}
	if err := l.Reserve("c", 2*Dollar, true); err != nil {
		t.Errorf("the last dollar: %v", err)
	}
	if e := limitOf(t, l.Reserve("d", 0, true)); e.Limit != LimitIterations || e.Reserved != 3 || e.Wanted != 1 ||
		e.Reached() {
		t.Errorf("a fourth iteration: %+v", e)
	}
	if err := l.Reserve("panel", 0, false); err != nil {
		t.Errorf("what costs nothing and is no iteration: %v", err)
	}
	l.Commit("panel", 0, 0, true) // key held no iteration, so there is none to charge
	l.Commit("a", 5*Dollar, 700, true)
	l.Commit("b", Dollar, 30, false)
	l.Commit("c", 0, 0, false)
	if l.Spent() != 6*Dollar || l.Reserved() != 0 || l.Available() != 4*Dollar || l.tokens != 730 ||
		l.Iterations() != 1 || l.IterationsLeft() != 2 {
		t.Errorf("settled: %+v", l)
	}
	l.Spend(5*Dollar, 1)
	if l.Spent() != 11*Dollar || l.Available() != 0 || l.tokens != 731 {
		t.Errorf("overspent: %+v", l)
	}
	if e := limitOf(t, l.Reserve("e", 1, false)); !e.Reached() || e.Spent != int64(11*Dollar) {
		t.Errorf("nothing left: %+v", e)
	}
}

func TestMistakesOfTheCaller(t *testing.T) {
	t.Parallel()
	l := NewLedger(Limits{USD: Dollar, Iterations: 10})
	if err := l.Reserve("a", 1, true); err != nil {
		t.Fatal(err)
	}
	before := l
	for name, err := range map[string]error{"held twice": l.Reserve("a", 1, true), "negative": l.Reserve("b", -1, true)} {
		if le := new(LimitError); err == nil || errors.As(err, &le) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !reflect.DeepEqual(l, before) {
		t.Errorf("a refused reservation changed the ledger: %+v", l)
	}
	defer func() {
		want := `budget: settling "b", which holds no reservation`
		if got := recover(); got != want {
			t.Errorf("panic %v, want %q", got, want)
		}
	}()
	l.Commit("b", 0, 0, true)
}

func TestUnlimited(t *testing.T) {
	t.Parallel()
	l := NewLedger(Limits{NoUSD: true, NoIterations: true})
	for i := range 3 {
		if err := l.Reserve(fmt.Sprint(i), math.MaxInt64, true); err != nil {
			t.Fatal(err)
		}
	}
	if l.Reserved() != math.MaxInt64 || l.Available() != math.MaxInt64 || l.IterationsLeft() != math.MaxInt {
		t.Errorf("%v reserved, %v available, %d left", l.Reserved(), l.Available(), l.IterationsLeft())
	}
	l.Spend(math.MaxInt64, math.MaxInt64)
	l.Commit("1", math.MaxInt64, math.MaxInt64, true)
	if l.Spent() != math.MaxInt64 || l.tokens != math.MaxInt64 || l.Shortage() != nil ||
		l.CrossedPercents(0) != nil {
		t.Errorf("at the end of the numbers: %+v", l)
	}
	for _, own := range []USD{0, 7, -7} {
		if got, ok := l.Share(4, own); got != max(own, 0) || !ok {
			t.Errorf("share with own cap %d: %d, %v", own, got, ok)
		}
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	const cent = Dollar / 100
	for _, c := range []struct {
		name      string
		available USD
		slots     int
		own       USD
		want      USD
		ok        bool
	}{
		{"even", 10 * Dollar, 4, 0, 2500_000, true},
		{"the task's own cap", 10 * Dollar, 4, Dollar, Dollar, true},
		{"own cap above the share", 10 * Dollar, 4, 9 * Dollar, 2500_000, true},
		{"no slots is one", 10 * Dollar, 0, 0, 10 * Dollar, true},
		{"too little for all: enough for some", 3 * cent, 8, 0, cent, true},
		{"the last cent", cent, 1, 0, cent, true},
		{"less than the least", cent - 1, 1, 0, 0, false},
		{"a small wish can be met", cent - 1, 1, 100, 100, true},
		{"a small wish cannot be met", 99, 1, 100, 0, false},
		{"nothing", 0, 1, 0, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(Limits{USD: 20*Dollar + c.available, NoIterations: true})
			l.Spend(15*Dollar, 0)
			if err := l.Reserve("other", 5*Dollar, false); err != nil {
				t.Fatal(err)
			}
			got, ok := l.Share(c.slots, c.own)
			if got != c.want || ok != c.ok {
				t.Errorf("share %d, %v, want %d, %v", got, ok, c.want, c.ok)
			}
		})
	}
	l := NewLedger(Limits{USD: Dollar})
	l.Spend(995_000, 0)
	if e := l.Shortage(); e.Reached() || e.Limit != LimitMoney || e.Wanted != int64(MinReservation) {
		t.Errorf("shortage %+v", e)
	}
}

func TestReserveAtALimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		limits Limits
		cost   USD
		tokens int64
		runs   int
		want   string
	}{
		{"below all", Limits{USD: 100, Iterations: 3, Tokens: 10}, 99, 9, 2, ""},
		{"money, equal", Limits{USD: 100, Iterations: 3}, 100, 0, 0, LimitMoney},
		{"money, above", Limits{USD: 100, Iterations: 3}, 101, 0, 0, LimitMoney},
		{"iterations, equal", Limits{USD: 100, Iterations: 3}, 0, 0, 3, LimitIterations},
		{"tokens, equal", Limits{USD: 100, Iterations: 3, Tokens: 10}, 0, 10, 0, LimitTokens},
		{"all: money first", Limits{USD: 1, Iterations: 1, Tokens: 1}, 1, 1, 1, LimitMoney},
		{"iterations before tokens", Limits{NoUSD: true, Iterations: 1, Tokens: 1}, 1, 1, 1, LimitIterations},
		{"a limit of zero money", Limits{Iterations: 1}, 0, 0, 0, LimitMoney},
		{"a limit of zero iterations", Limits{NoUSD: true}, 0, 0, 0, LimitIterations},
		{"no limits", Limits{NoUSD: true, NoIterations: true}, 1e12, 1e12, 9, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := NewLedger(c.limits)
			for i := range c.runs {
				if err := l.Reserve(fmt.Sprint(i), 0, true); err != nil {
					t.Fatal(err)
				}
			}
			for i := range c.runs {
				l.Commit(fmt.Sprint(i), 0, 0, true)
			}
			l.Spend(c.cost, c.tokens)
			err := l.Reserve("more", 1, true)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
			} else if e := limitOf(t, err); e.Limit != c.want || !e.Reached() {
				t.Errorf("reserving beyond: %+v, want %q", e, c.want)
			}
		})
	}
}

// A running iteration may still be released, so it blocks others, and does not reach the limit.
func TestRunningDoesNotReachALimit(t *testing.T) {
	t.Parallel()
	l := NewLedger(Limits{USD: 100, Iterations: 1})
	if err := l.Reserve("a", 100, true); err != nil {
		t.Fatal(err)
	}
	if e := limitOf(t, l.Reserve("b", 0, true)); e.Limit != LimitIterations || e.Reached() {
		t.Errorf("with one running: %+v", e)
	}
	l.Commit("a", 99, 0, false)
	if err := l.Reserve("b", 1, true); err != nil {
		t.Errorf("after the iteration came back: %v", err)
	}
}

func TestOverWall(t *testing.T) {
	t.Parallel()
	l := NewLedger(Limits{Wall: time.Hour})
	if e := l.OverWall(time.Hour - 1); e != nil {
		t.Errorf("before: %v", e)
	}
	if e := l.OverWall(time.Hour); e == nil || e.Limit != LimitWall || !e.Reached() {
		t.Errorf("at the hour: %v", e)
	}
	l.SetLimits(Limits{})
	if e := l.OverWall(math.MaxInt64); e != nil {
		t.Errorf("without a limit: %v", e)
	}
}

func TestSetLimits(t *testing.T) {
	t.Parallel()
	l := NewLedger(Limits{USD: 10, Iterations: 1})
	if err := l.Reserve("a", 10, true); err != nil {
		t.Fatal(err)
	}
	l.SetLimits(Limits{USD: 5, Iterations: -4, Tokens: -1, Wall: -1})
	if l.Available() != 0 || l.IterationsLeft() != 0 || l.Limits() != (Limits{USD: 5}) {
		t.Errorf("lowered: %v available, %d left, limits %+v", l.Available(), l.IterationsLeft(), l.Limits())
	}
	l.Commit("a", 10, 0, true)
	l.SetLimits(Limits{USD: 15, Iterations: 2})
	if l.Available() != 5 || l.IterationsLeft() != 1 {
		t.Errorf("raised: %v available, %d left", l.Available(), l.IterationsLeft())
	}
}

func TestCrossedPercents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit, before, now USD
		want               []int
	}{
		{100, 0, 49, nil},
		{100, 0, 50, []int{50}},
		{100, 50, 74, nil},
		{100, 49, 75, []int{50, 75}},
		{100, 0, 200, []int{50, 75, 90}},
		{100, 90, 100, nil},
		{3, 0, 1, nil}, // half of 3 is reached at 2
		{3, 1, 2, []int{50}},
		{0, 0, 5, nil},
		{math.MaxInt64, 0, math.MaxInt64/2 + 1, []int{50}},
		{math.MaxInt64, math.MaxInt64 / 2, math.MaxInt64, []int{50, 75, 90}},
	} {
		l := NewLedger(Limits{USD: c.limit})
		l.Spend(c.now, 0)
		if got := l.CrossedPercents(c.before); !slices.Equal(got, c.want) {
			t.Errorf("limit %d, %d to %d: %v, want %v", c.limit, c.before, c.now, got, c.want)
		}
	}
	l := NewLedger(Limits{USD: 100, NoUSD: true})
	l.Spend(100, 0)
	if got := l.CrossedPercents(0); got != nil {
		t.Errorf("without a limit: %v", got)
	}
}

func TestLimitErrorText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e    LimitError
		want string
	}{
		{LimitError{Limit: LimitMoney, Value: 25e6, Spent: 25_120_000},
			"budget of $25 reached ($25.12 spent); raise it with --budget"},
		{LimitError{Limit: LimitMoney, Value: 50_000, Spent: 30_000, Reserved: 12_500, Wanted: 10_000},
			"budget of $0.05 has no room for $0.01 ($0.03 spent, $0.01 reserved); raise it with --budget"},
		{LimitError{Limit: LimitMoney, Value: 1, Reserved: 1, Wanted: 1},
			"budget of $0.000001 has no room for $0.000001 ($0.00 spent, $0.0000 reserved); raise it with --budget"},
		{LimitError{Limit: LimitMoney, Value: 5e6, Spent: 1e6},
			"budget of $5 has no room ($1.00 spent); raise it with --budget"},
		{LimitError{Limit: LimitIterations, Value: 1, Reserved: 1, Wanted: 1},
			"limit of 1 iterations has no room (0 made, 1 running); raise it with --max-iterations"},
		{LimitError{Limit: LimitIterations, Value: 10, Spent: 10},
			"limit of 10 iterations reached (10 made); raise it with --max-iterations"},
		{LimitError{Limit: LimitIterations, Value: 10, Spent: 8, Reserved: 2, Wanted: 1},
			"limit of 10 iterations has no room (8 made, 2 running); raise it with --max-iterations"},
		{LimitError{Limit: LimitTokens, Value: 1000, Spent: 1200},
			"limit of 1000 tokens reached (1200 used); raise it with --max-tokens"},
		{LimitError{Limit: LimitWall, Value: int64(time.Hour), Spent: int64(time.Hour + 90*time.Second + 1)},
			"wall-clock limit of 1h0m0s reached (1h1m30s elapsed); raise it with --wall-clock"},
	} {
		if got := c.e.Error(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
