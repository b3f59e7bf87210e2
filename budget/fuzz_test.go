package budget

import (
	"testing"
)

// FuzzParseUSD checks that an accepted amount is not negative, and can be formatted and parsed
// again.
func FuzzParseUSD(f *testing.F) {
	for _, s := range []string{"25", "$0.05", "-1", "1e9", "0x1p-2", "NaN", "1_000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseUSD(s)
		if err != nil {
			return
		}
		if back, err := ParseUSD(u.String()); u < 0 || err != nil || back != u {
			t.Errorf("%q is %d, written %s, read %d, %v", s, u, u, back, err)
		}
	})
}

// FuzzLoadPrices checks that an accepted table yields no negative sum and keeps all listed models.
func FuzzLoadPrices(f *testing.F) {
	f.Add([]byte(embeddedPrices), int64(1000))
	f.Add([]byte(`{"models":{"claude-opus-5-5":{"input":1,"output":2,"cache_read":3,"cache_write":4}}}`), int64(1))
	f.Add([]byte(`{"date":"2026-01-01"}`), int64(-1))
	f.Fuzz(func(t *testing.T, overlay []byte, n int64) {
		p, err := LoadPrices(overlay)
		if err != nil {
			return
		}
		for name := range p.models {
			if usd, ok := cost(p, name, n, n, n, n); usd < 0 || !ok {
				t.Errorf("%q: %d, %v", name, usd, ok)
			}
			if pico, ok := p.Price(name, Tokens{n, n, n, n, n, n, true, "us"}); pico < 0 || !ok {
				t.Errorf("%q: %d pico, %v", name, pico, ok)
			}
		}
		if _, ok := cost(p, "claude-opus-5-5", n, n, n, n); !ok {
			t.Error("a listed model is unknown")
		}
	})
}
