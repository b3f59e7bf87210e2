package budget

// This file prices tokens, for attempts that died before the CLI told their cost. It
// does not know what anybody was billed: list prices of the API, no discounts.

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"math/bits"
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

const priceUnit = "micro-dollars per million tokens"

// LoadPrices returns the embedded prices with an overlay of the same form on top: a
// model that it names is replaced whole or added, and its date wins where it gives
// one. A nil or empty overlay changes nothing. An unknown field, a missing or negative
// price, a name that comes twice, another unit or trailing data is a *PriceError.
func LoadPrices(overlay []byte) (Prices, error) {
	p := Prices{models: map[string]price{}}
	if err := p.read([]byte(listed)); err != nil {
		return Prices{}, fmt.Errorf("reading the embedded prices: %w", err)
	}
	if len(bytes.TrimSpace(overlay)) > 0 {
		if err := p.read(overlay); err != nil {
			return Prices{}, err
		}
	}
	return p, nil
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
