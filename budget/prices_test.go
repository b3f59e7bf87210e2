package budget

import (
	"cmp"
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func load(t *testing.T, overlay string) Prices {
	t.Helper()
	p, err := LoadPrices([]byte(overlay))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// cost returns the price of tokens in micro-dollars, and whether the table lists the model.
func cost(p Prices, model string, in, out, cacheRead, cacheWrite int64) (USD, bool) {
	c, ok := p.Price(model, Tokens{Input: in, Output: out, CacheRead: cacheRead, CacheWrite: cacheWrite})
	return c.USD(), ok
}

func TestListedPrices(t *testing.T) {
	t.Parallel()
	p := load(t, "")
	const m = 1_000_000
	for _, c := range []struct {
		model                string
		in, out, read, write int64
		want                 USD
		guess                bool
	}{
		{model: "claude-sonnet-4-5-20250929", in: m, out: m, read: m, write: m, want: 22_050_000},
		{model: "claude-opus-5-5", in: m, out: m, read: m, write: m, want: 29_200_000},
		{model: "claude-opus-5", in: m, out: m, read: m, write: m, want: 36_750_000},
		{model: "claude-opus-4-20250514", out: m, want: 75_000_000},
		{model: "claude-opus-4-5-20251101", out: m, want: 25_000_000},
		{model: "claude-opus-4-7[1m]", out: m, want: 25_000_000},
		{model: "claude-haiku-4-5", in: 1, want: 1},
		{model: "claude-haiku-4-5", read: 4, want: 0}, // 0.4 micro-dollars
		{model: "claude-haiku-4-5", read: 5, want: 1}, // half a micro-dollar is rounded up
		{model: "claude-haiku-4-5", in: -5, out: -5, read: -5, write: -5, want: 0},
		{model: "claude-haiku-5-5", in: 40_000, out: 1000, read: 40_000, write: 20_000, want: 4000 + 500 + 400 + 2500},
		{model: "claude-haiku-5-5", in: 40_001, out: 1000, read: 40_000, write: 20_000, want: 20_001 + 2500 + 2000 + 12_500},
		// 20,000.5 up
		{model: "claude-opus-5-5", in: math.MaxInt64, out: math.MaxInt64, want: Pico(math.MaxInt64).USD()},
		{model: "claude-fable-5-2", in: m, out: m, read: m, write: m, want: 58_200_000},
		{model: "claude-fable-5-2[1m]", out: m, want: 40_000_000},
		{model: "claude-mythos-5-2-20261101[1m]", out: m, want: 40_000_000},
		// A name guesses the price of a longer one: a word ends after opus-4, but not after opus-4-1.
		{model: "claude-opus-4-10", out: m, want: 75_000_000, guess: true},
		{model: "claude-fable-5-3", out: m, want: 50_000_000, guess: true},
		{model: "claude-opus-5-5-2026", out: m, want: 20_000_000, guess: true},
		{model: "claude-opus-5-5-latest", out: m, want: 20_000_000, guess: true},
		// Any other model has the price of the most expensive one.
		{model: "claude-opus", out: m, want: 75_000_000, guess: true},
		{model: "claude-opus-4a", out: m, want: 75_000_000, guess: true},
		{model: "claude-haiku-4-5A", out: m, want: 75_000_000, guess: true},
		{model: "claude-haiku-4-50", out: m, want: 75_000_000, guess: true},
		{model: "gpt-4", in: m, write: m, want: 33_750_000, guess: true},
		{model: "", read: m, want: 1_500_000, guess: true},
	} {
		got, ok := cost(p, c.model, c.in, c.out, c.read, c.write)
		if got != c.want || ok == c.guess {
			t.Errorf("%s %d/%d/%d/%d: %d, %v, want %d", c.model, c.in, c.out, c.read, c.write, got, ok, c.want)
		}
	}
}

// These are costs that claude 2.1.330 reported (costUSD) for one response of each usage, in
// micro-dollars.
func TestPriceIsTheCLIs(t *testing.T) {
	t.Parallel()
	p := load(t, "")
	for _, c := range []struct {
		model string
		use   Tokens
		want  Pico
	}{
		{"claude-sonnet-4-5", Tokens{Input: 10, Output: 8000, CacheRead: 100, CacheWrite: 1000, CacheHour: 600}, 125_160},
		{"claude-sonnet-4-5", Tokens{Input: 1000, Output: 100, Searches: 2}, 24_500},
		{"claude-opus-5-5", Tokens{CacheWrite: 10_000, CacheHour: 10_000, Fast: true}, 160_000},
		{"claude-opus-5-5", Tokens{CacheRead: 10_000, Fast: true}, 4000},
		{"claude-opus-5", Tokens{Output: 10_000, Fast: true}, 500_000},
		{"claude-opus-4-7", Tokens{Output: 10_000, Fast: true}, 1_500_000},
		{"claude-opus-4-6", Tokens{CacheWrite: 10_000, Fast: true}, 375_000},
		{"claude-opus-4-5", Tokens{Output: 10_000, Fast: true}, 250_000},
		{"claude-haiku-5-5", Tokens{Input: 100_000}, 10_000},
		{"claude-haiku-5-5", Tokens{Input: 110_000}, 55_000},
		{"claude-haiku-5-5", Tokens{CacheWrite: 60_000, CacheHour: 60_000}, 12_000},
		{"claude-haiku-5-5", Tokens{CacheWrite: 100_001, CacheHour: 100_001}, 100_001},
		{"claude-opus-5-5", Tokens{Input: -1, CacheHour: 5}, 0},
		{"claude-fable-5-2", Tokens{Input: 10_000, CacheRead: 10_000, Fast: true}, 164_000},
		{"claude-sonnet-4-5", Tokens{Output: 10_000, CacheWrite: 1000, CacheHour: 600, Searches: 1, Geo: "us"}, 180_610},
		{"claude-opus-5", Tokens{Output: 10_000, Fast: true, Geo: "us"}, 550_000},
		{"claude-opus-5", Tokens{Output: 10_000, Geo: "global"}, 250_000},
	} {
		if got, ok := p.Price(c.model, c.use); !ok || got != c.want*picoPerMicro {
			t.Errorf("%s %+v: %d, %v, want %d", c.model, c.use, got, ok, c.want*picoPerMicro)
		}
	}
	if got, ok := p.Price("claude-opus-5-5", Tokens{Output: math.MaxInt64, Fast: true}); !ok || got != math.MaxInt64 {
		t.Errorf("the largest: %d, %v", got, ok)
	}
	for pico, want := range map[Pico]USD{0: 0, 499_999: 0, 500_000: 1, 1_499_999: 1, math.MaxInt64: 9_223_372_036_855} {
		if got := pico.USD(); got != want {
			t.Errorf("%d pico: %d, want %d", pico, got, want)
		}
	}
}

// The embedded table has a date and a source, which hold for the rows without their own.
func TestOrigin(t *testing.T) {
	t.Parallel()
	type origin struct{ Date, Source string }
	var table struct {
		origin
		Models map[string]origin
	}
	if err := json.Unmarshal([]byte(embeddedPrices), &table); err != nil {
		t.Fatal(err)
	}
	for name, m := range table.Models {
		if cmp.Or(m.Date, table.Date) < "2026-10-24" || cmp.Or(m.Source, table.Source) == "" ||
			(m.Date == "") != (m.Source == "") {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// Every entry of the price list has the usual proportions, so that a wrong digit is found.
func TestListedProportions(t *testing.T) {
	t.Parallel()
	p := load(t, "")
	if len(p.models) < 10 {
		t.Fatalf("%d models", len(p.models))
	}
	for name, m := range p.models {
		for _, r := range []Rates{m.rates, m.long} {
			if r == (Rates{}) && m.above == 0 {
				continue
			}
			if !strings.HasPrefix(name, "claude-") || r.Input <= 0 || r.Output != 5*r.Input || r.CacheWrite*4 != 5*r.Input {
				t.Errorf("%s: %+v", name, r)
			}
			if x := r.Input / r.CacheRead; r.Input%r.CacheRead != 0 || x != 10 && x != 20 && x != 40 {
				t.Errorf("%s: cache read %d for input %d", name, r.CacheRead, r.Input)
			}
		}
	}
}

func TestOverlay(t *testing.T) {
	t.Parallel()
	p := load(t, `{"date":"2027-01-02","search":7,"geo":{"eu":120},"models":{
		"claude-opus-5-5":{"input":1,"output":2,"cache_read":3,"cache_write":4},
		"local/":{"input":0,"output":0,"cache_read":0,"cache_write":0},
		"long":{"input":1,"output":0,"cache_read":0,"cache_write":0,
			"long":{"above":1,"input":5,"output":0,"cache_read":0,"cache_write":0}}}}`)
	for model, want := range map[string]USD{"claude-opus-5-5": 10, "claude-haiku-4-5": 7_350_000, "local/llama": 0} {
		if got, ok := cost(p, model, 1e6, 1e6, 1e6, 1e6); got != want || ok == (model == "local/llama") {
			t.Errorf("%s: %d, %v, want %d", model, got, ok, want)
		}
	}
	for where, want := range map[string]USD{"eu": 6_000_007, "us": 5_500_007, "": 5_000_007} {
		if got, _ := p.Price("claude-haiku-4-5", Tokens{Output: 1e6, Searches: 1, Geo: where}); got.USD() != want {
			t.Errorf("in %q: %d, want %d", where, got.USD(), want)
		}
	}
	for in, want := range map[int64]Pico{1: 1, 2: 10} {
		if got, ok := p.Price("long", Tokens{Input: in}); got != want || !ok {
			t.Errorf("%d tokens, long above 1: %d, %v, want %d", in, got, ok, want)
		}
	}
	for bad, want := range map[string]string{
		`{`:                                  "unexpected EOF",
		`{} {}`:                              "something follows",
		`{"modles":{}}`:                      `unknown field "modles"`,
		`{"date":"24.10.2026"}`:              "not YYYY-MM-DD",
		`{"unit":"dollars"}`:                 `the unit is "dollars"`,
		`{"models":{"":{}}}`:                 "no name",
		`{"models":{"a":{"input":1}}}`:       `model "a": output is missing`,
		`{"models":{"a":{"input":-1}}}`:      `model "a": input: must be at least 0`,
		`{"models":{"a":{"input":1.5}}}`:     "1.5",
		`{"models":{"a":{"fast":0}}}`:        "fast: must be at least 1",
		`{"geo":{"eu":-1}}`:                  "geo: eu: must be at least 1",
		`{"search":-1}`:                      "search: must be at least 0",
		`{"cache_hour":"2"}`:                 "want a whole number",
		`{"models":{"a":{"date":"today"}}}`:  "not YYYY-MM-DD",
		`{"models":{"a":{"input":"cheap"}}}`: `want a whole number, not "cheap"`,
		`{"models":{"a":{"input":1,"output":1,"cache_read":1,"cache_write":1,"long":{"input":1,"output":1,"cache_read":1,"cache_write":1}}}}`: "above is missing",
		`{"models":{"a":{"input":1,"output":1,"cache_read":1,"cache_write":1,"long":{"above":5}}}}`:                                           `model "a", long: input is missing`,
	} {
		if p, err := LoadPrices([]byte(bad)); err == nil || !strings.Contains(err.Error(), want) || p.models != nil {
			t.Errorf("%s: error %v, want %q in it", bad, err, want)
		}
	}
}

// TestPriceIsExact compares Price with arbitrary-precision arithmetic.
func TestPriceIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var r, n [4]int64
		sum := new(big.Int)
		for i := range r {
			r[i] = rapid.Int64Range(0, math.MaxInt64).Draw(t, "rate")
			n[i] = rapid.Int64().Draw(t, "count")
			sum.Add(sum, new(big.Int).Mul(big.NewInt(r[i]), big.NewInt(max(n[i], 0))))
		}
		overlay, err := json.Marshal(map[string]any{"models": map[string]any{"m": map[string]int64{
			"input": r[0], "output": r[1], "cache_read": r[2], "cache_write": r[3]}}})
		if err != nil {
			t.Fatal(err)
		}
		p, err := LoadPrices(overlay)
		if err != nil {
			t.Fatal(err)
		}
		want := sum
		if most := big.NewInt(math.MaxInt64); want.Cmp(most) > 0 {
			want = most
		}
		tokens := Tokens{Input: n[0], Output: n[1], CacheRead: n[2], CacheWrite: n[3]}
		if got, ok := p.Price("m", tokens); !ok || int64(got) != want.Int64() {
			t.Fatalf("cost %d, %v, want %s", got, ok, want)
		}
	})
}
