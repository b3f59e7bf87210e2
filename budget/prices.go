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
	fast  int64 // factor of all rates in the fast mode of the API; 0: the model has none
}

// Tokens is the usage of one API response.
type Tokens struct {
	Input      int64
	Output     int64
	CacheRead  int64
	CacheWrite int64 // to the cache, for five minutes or an hour
	CacheHour  int64 // the part of CacheWrite that lives an hour
	Searches   int64 // web searches of the API's own tool
	Fast       bool  // served in the fast mode of the API (usage.speed is "fast")
}

// Pico is an amount of money in millionths of a micro-dollar. Sums of priced responses are kept
// in it, so that they are rounded once.
type Pico int64

// USD rounds to the nearest micro-dollar, half up.
func (p Pico) USD() USD { return USD(p/picos) + USD((p%picos+picos/2)/picos) }

const (
	picos       = 1_000_000
	searchPrice = 10_000 // micro-dollars of one web search (observed on claude 2.1.197 and 2.1.330)
)

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
	s, ok := p.sum(model, Tokens{Input: in, Output: out, CacheRead: cacheRead, CacheWrite: cacheWrite})
	return s.million(), ok
}

// Price prices one response. Model is as in Cost; an amount too large for a Pico stays at the
// largest. An hour's cache entry costs twice its input, whatever the model, and the fast mode a
// factor of all of it (both observed on claude 2.1.330).
func (p Prices) Price(model string, t Tokens) (Pico, bool) {
	s, ok := p.sum(model, t)
	if s.hi > 0 || s.lo > math.MaxInt64 {
		return math.MaxInt64, ok
	}
	return Pico(s.lo), ok
}

func (p Prices) sum(model string, t Tokens) (s sum, ok bool) {
	m, ok := p.find(model)
	if !ok {
		return s, false
	}
	in, write, read := max(t.Input, 0), max(t.CacheWrite, 0), max(t.CacheRead, 0)
	hour := min(max(t.CacheHour, 0), write)
	r := m.rates
	if m.above > 0 && add(add(in, read), write) > m.above {
		r = m.long
	}
	s.mul(in, r.Input)
	s.mul(hour, r.Input)
	s.mul(hour, r.Input)
	s.mul(max(t.Output, 0), r.Output)
	s.mul(read, r.CacheRead)
	s.mul(write-hour, r.CacheWrite)
	if t.Fast && m.fast > 1 {
		s.times(uint64(m.fast))
	}
	s.mul(max(t.Searches, 0), searchPrice*picos)
	return s, true
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

// times multiplies the sum, which stays at the largest there is.
func (s *sum) times(n uint64) {
	over, hi := bits.Mul64(s.hi, n)
	carry, lo := bits.Mul64(s.lo, n)
	hi, more := bits.Add64(hi, carry, 0)
	if s.hi, s.lo = hi, lo; over > 0 || more > 0 {
		s.hi, s.lo = math.MaxUint64, math.MaxUint64
	}
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
