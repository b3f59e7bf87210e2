package budget

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestParseUSD(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]USD{
		"25": 25 * Dollar, "$25": 25 * Dollar, " $0.05 ": 50_000, "0": 0, "0.0000005": 1, "0.0000004": 0, "1e2": 100 * Dollar,
	} {
		if got, err := ParseUSD(in); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "$", "-1", "NaN", "Inf", "1e10", "25 dollars", "$$1", "none"} {
		if got, err := ParseUSD(in); err == nil {
			t.Errorf("%q: %d, want an error", in, got)
		}
	}
}

func TestUSDTexts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		u            USD
		spent, limit string
	}{
		{0, "$0.00", "$0"},
		{2_500_000, "$2.50", "$2.5"},
		{25 * Dollar, "$25.00", "$25"},
		{50_000, "$0.05", "$0.05"},
		{7_660, "$0.0077", "$0.00766"},
		{Dollar / 100, "$0.01", "$0.01"},
		{Dollar/100 - 1, "$0.0100", "$0.009999"},
		{-50_000, "$-0.05", "$-0.05"},
	} {
		if c.u.Spent() != c.spent || c.u.String() != c.limit {
			t.Errorf("%d: %s, %s, want %s, %s", c.u, c.u.Spent(), c.u, c.spent, c.limit)
		}
	}
}

func TestFromFloat(t *testing.T) {
	t.Parallel()
	for in, want := range map[float64]USD{0.00765: 7_650, 0.0306: 30_600, 1e-7: 0, -0.5: -500_000, 1e300: math.MaxInt64,
		-1e300: math.MinInt64, math.MaxInt64 / 1e6: math.MaxInt64, math.Inf(1): 0, math.Inf(-1): 0} {
		if got := FromFloat(in); got != want {
			t.Errorf("%v: %d, want %d", in, got, want)
		}
	}
	if got := FromFloat(math.NaN()); got != 0 {
		t.Errorf("not a number: %d", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		u := USD(rapid.Int64Range(0, int64(1e9*Dollar)).Draw(t, "amount"))
		if back := FromFloat(u.Float()); back != u {
			t.Fatalf("%d came back as %d", u, back)
		}
		if back, err := ParseUSD(u.String()); err != nil || back != u {
			t.Fatalf("%s came back as %d, %v", u, back, err)
		}
	})
}

func TestRaise(t *testing.T) {
	t.Parallel()
	for u, want := range map[USD]string{
		-1: "+0.10", 0: "+0.10", 1: "+0.10", 100_000: "+0.10", 100_001: "+0.20", 900_000: "+0.90", 900_001: "+1",
		Dollar: "+1", Dollar + 1: "+2", 25 * Dollar: "+25", math.MaxInt64: "+9223372036855",
	} {
		if got := u.Raise(); got != want {
			t.Errorf("%d: %s, want %s", u, got, want)
		}
	}
}
