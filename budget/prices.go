package budget

// This file prices tokens, for attempts that died before the CLI told their cost. It
// does not know what anybody was billed: list prices of the API, no discounts.

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/bits"
	"time"
)

// listed are the list prices of the Claude models in use, with the date they were
// read. Prices change: the file is data, to be replaced or overlaid.
//
//go:embed prices.json
var listed string

// Rates are micro-dollars per million tokens. CacheWrite is for entries that live
// five minutes. Those that live an hour cost twice Input with every model listed
// (2026-10-24): count each of their tokens as two of input.
type Rates struct {
	Input      USD
	Output     USD
	CacheRead  USD
	CacheWrite USD
}

// Prices are list prices by model. Make one with LoadPrices; it does not change.
type Prices struct {
	Date   string // of the newest source, as YYYY-MM-DD
	models map[string]price
}

// price is what one model costs. A few models cost more, for all tokens of a request,
// when its prompt is longer than a bound.
type price struct {
	rates Rates
	above int64 // tokens of prompt; 0: no such bound
	long  Rates
}

// priceFile is the form of prices.json and of an overlay.
type priceFile struct {
	Date   string                `json:"date"`
	Source string                `json:"source,omitempty"`
	Unit   string                `json:"unit,omitempty"` // priceUnit, or nothing
	Models map[string]priceEntry `json:"models"`
}

type priceEntry struct {
	rateEntry
	Long *longEntry `json:"long,omitempty"`
}

type longEntry struct {
	Above int64 `json:"above"` // tokens of prompt
	rateEntry
}

// rateEntry has pointers to tell a price of nothing from a price left out.
type rateEntry struct {
	Input      *int64 `json:"input"`
	Output     *int64 `json:"output"`
	CacheRead  *int64 `json:"cache_read"`
	CacheWrite *int64 `json:"cache_write"`
}

const priceUnit = "micro-dollars per million tokens"

// LoadPrices returns the embedded prices with an overlay of the same form on top: a
// model that it names is replaced whole or added, and its date wins where it gives
// one. A nil or empty overlay changes nothing. An unknown field, a missing or negative
// price, another unit or trailing data is an error.
func LoadPrices(overlay []byte) (Prices, error) {
	p := Prices{models: map[string]price{}}
	if err := p.read([]byte(listed)); err != nil {
		return Prices{}, fmt.Errorf("reading the embedded prices: %w", err)
	}
	if len(bytes.TrimSpace(overlay)) > 0 {
		if err := p.read(overlay); err != nil {
			return Prices{}, fmt.Errorf("reading prices: %w", err)
		}
	}
	return p, nil
}

func (p *Prices) read(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var f priceFile
	if err := dec.Decode(&f); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the object")
	}
	if f.Unit != "" && f.Unit != priceUnit {
		return fmt.Errorf("the unit is %q; it must be %q", f.Unit, priceUnit)
	}
	if f.Date != "" {
		if _, err := time.Parse(time.DateOnly, f.Date); err != nil {
			return fmt.Errorf("the date %q is not YYYY-MM-DD", f.Date)
		}
		p.Date = f.Date
	}
	models := maps.Clone(p.models)
	for name, e := range f.Models {
		if name == "" {
			return errors.New("a model has no name")
		}
		var m price
		var err error
		if m.rates, err = e.rates(); err != nil {
			return fmt.Errorf("model %q: %w", name, err)
		}
		if e.Long != nil {
			if m.long, err = e.Long.rates(); err != nil {
				return fmt.Errorf("model %q, long: %w", name, err)
			}
			if m.above = e.Long.Above; m.above <= 0 {
				return fmt.Errorf("model %q, long: above must be a number of tokens", name)
			}
		}
		models[name] = m
	}
	p.models = models
	return nil
}

func (e rateEntry) rates() (Rates, error) {
	var r Rates
	for _, f := range [...]struct {
		name string
		from *int64
		to   *USD
	}{{"input", e.Input, &r.Input}, {"output", e.Output, &r.Output},
		{"cache_read", e.CacheRead, &r.CacheRead}, {"cache_write", e.CacheWrite, &r.CacheWrite}} {
		if f.from == nil {
			return Rates{}, fmt.Errorf("%s is missing", f.name)
		}
		if *f.from < 0 {
			return Rates{}, fmt.Errorf("%s is negative", f.name)
		}
		*f.to = USD(*f.from)
	}
	return r, nil
}

// Cost prices tokens of a model in micro-dollars, rounded to the nearest. Model is
// the id that the API gives in its answers, such as "claude-sonnet-4-5-20250929": the
// longest listed name that it begins with is taken, and a name ends where a word of
// the id ends, so that claude-opus-4-1 does not price a claude-opus-4-10. It is false
// when no name fits. Counts below 0 are 0.
//
// Price one response at a time where its model has a bound for long prompts. A sum
// over several is priced as long when the sum of their prompts is: that may be too
// much, but with long prompts dearer than short ones it is never too little.
func (p Prices) Cost(model string, in, out, cacheRead, cacheWrite int64) (USD, bool) {
	m, ok := p.find(model)
	if !ok {
		return 0, false
	}
	in, out, cacheRead, cacheWrite = max(in, 0), max(out, 0), max(cacheRead, 0), max(cacheWrite, 0)
	r := m.rates
	if m.above > 0 && add(add(in, cacheRead), cacheWrite) > m.above {
		r = m.long
	}
	var s sum
	s.mul(in, r.Input)
	s.mul(out, r.Output)
	s.mul(cacheRead, r.CacheRead)
	s.mul(cacheWrite, r.CacheWrite)
	return s.million(), true
}

func (p Prices) find(model string) (price, bool) {
	for end := len(model); end > 0; end-- {
		if end < len(model) && alnum(model[end-1]) && alnum(model[end]) {
			continue
		}
		if m, ok := p.models[model[:end]]; ok {
			return m, true
		}
	}
	return price{}, false
}

func alnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// sum adds products of counts and rates in 128 bits, where they cannot overflow.
type sum struct{ hi, lo uint64 }

func (s *sum) mul(count int64, rate USD) {
	hi, lo := bits.Mul64(uint64(count), uint64(rate))
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi, _ = bits.Add64(s.hi, hi, carry)
}

// million is the sum over a million, rounded half up, at most the largest amount.
func (s sum) million() USD {
	const million = 1_000_000
	lo, carry := bits.Add64(s.lo, million/2, 0)
	hi := s.hi + carry
	if hi >= million {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, million)
	return USD(min(q, math.MaxInt64))
}
