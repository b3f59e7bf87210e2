package budget

// This file prices the tokens of attempts that died before the CLI reported their cost. It uses the
// API's list prices, without discounts, so actual bills may differ.

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"math/big"
)

// embeddedPrices holds the list prices of the Claude models in use, with the date on which they were read.
// It is embedded data, because prices change; the user can overlay it.
//
//go:embed prices.json
var embeddedPrices string

// Rates are micro-dollars per million tokens. CacheWrite is for entries that live
// five minutes. Those that live an hour cost twice Input with every model listed
// (2026-10-24): count each of their tokens as two of input.
type Rates struct {
	Input      USD
	Output     USD
	CacheRead  USD
	CacheWrite USD
}

// Prices holds list prices by model. LoadPrices returns one; it is immutable.
type Prices struct {
	Date   string // of the newest source, as YYYY-MM-DD
	models map[string]price
}

// price holds the prices of one model. A few models cost more, for all tokens of a request, if its
// prompt exceeds a bound.
type price struct {
	rates Rates
	above int64 // tokens of prompt; 0: no bound
	long  Rates
	fast  int64 // factor of all rates in the API's fast mode; 1: the model has no fast mode
}

// Tokens holds the usage of one API response.
type Tokens struct {
	Input      int64
	Output     int64
	CacheRead  int64
	CacheWrite int64 // to the cache, for five minutes or an hour
	CacheHour  int64 // the part of CacheWrite that lives for an hour
	Searches   int64 // web searches of the API's own tool
	Fast       bool  // served in the fast mode of the API (usage.speed is "fast")
}

// Pico is an amount of money in millionths of a micro-dollar. Sums of priced responses use it, so
// that they are rounded once.
type Pico int64

// USD rounds to the nearest micro-dollar, half up.
func (p Pico) USD() USD {
	return USD(p/picoPerMicro) + USD((p%picoPerMicro+picoPerMicro/2)/picoPerMicro)
}

const (
	picoPerMicro = 1_000_000
	searchPrice  = 10_000 // micro-dollars of one web search (observed on claude 2.1.330)
)

const priceUnit = "micro-dollars per million tokens"

// LoadPrices returns the embedded prices with an overlay of the same form. A model in the overlay
// is replaced whole or added, and the overlay's date wins if it has one. A nil or empty overlay
// changes nothing. An unknown field, a missing or negative price, a duplicate name, another unit or
// trailing data is a *PriceError.
func LoadPrices(overlay []byte) (Prices, error) {
	p := Prices{models: map[string]price{}}
	if err := p.read([]byte(embeddedPrices)); err != nil {
		return Prices{}, fmt.Errorf("reading the embedded prices: %w", err)
	}
	if len(bytes.TrimSpace(overlay)) > 0 {
		if err := p.read(overlay); err != nil {
			return Prices{}, err
		}
	}
	return p, nil
}

// Price returns the price of one response of a model; it saturates at the largest Pico. Model is the
// id in the API's responses, such as "claude-sonnet-4-5-20250929". The longest listed name counts that
// is a prefix of it and ends at the end of a word, so that claude-opus-4-1 does not price
// claude-opus-4-10. It returns false if no name matches. Counts below 0 are 0.
//
// For every model, a cache entry of an hour costs twice the price of input. The fast mode
// multiplies the whole price (both observed on claude 2.1.330).
func (p Prices) Price(model string, t Tokens) (Pico, bool) {
	m, ok := p.find(model)
	if !ok {
		return 0, false
	}
	sum := new(big.Int) // in millionths of a micro-dollar; an int64 could overflow
	add := func(count int64, rate USD) {
		product := big.NewInt(count)
		sum.Add(sum, product.Mul(product, big.NewInt(int64(rate))))
	}
	in, write, read := max(t.Input, 0), max(t.CacheWrite, 0), max(t.CacheRead, 0)
	hour := min(max(t.CacheHour, 0), write)
	r := m.rates
	if m.above > 0 && addSaturating(addSaturating(in, read), write) > m.above {
		r = m.long
	}
	add(in, r.Input)
	add(hour, r.Input)
	add(hour, r.Input)
	add(max(t.Output, 0), r.Output)
	add(read, r.CacheRead)
	add(write-hour, r.CacheWrite)
	if t.Fast {
		sum.Mul(sum, big.NewInt(m.fast))
	}
	add(max(t.Searches, 0), searchPrice*picoPerMicro)
	if !sum.IsInt64() {
		return math.MaxInt64, true
	}
	return Pico(sum.Int64()), true
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
