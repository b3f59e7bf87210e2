package budget

// This file prices the tokens of attempts that died before the CLI reported their cost. It uses the
// API's list prices, without discounts, so actual bills may differ.

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"
)

// embeddedPrices holds the list prices of the Claude models in use. Each row has the source and the date of the table,
// or its own. It is embedded data, because prices change; the user can overlay it.
//
//go:embed prices.json
var embeddedPrices string

// Rates are micro-dollars per million tokens. CacheWrite is for entries that live five minutes.
type Rates struct {
	Input      USD
	Output     USD
	CacheRead  USD
	CacheWrite USD
}

// Prices holds list prices by model. LoadPrices returns one; it is immutable.
type Prices struct {
	models map[string]price
	hour   int64            // factor of the price of input for cache entries that live an hour
	search int64            // micro-dollars of one web search
	geo    map[string]int64 // percent of the price of all tokens, by inference_geo; 100 if it is not there
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
	CacheWrite int64  // to the cache, for five minutes or an hour
	CacheHour  int64  // the part of CacheWrite that lives for an hour
	Searches   int64  // web searches of the API's own tool
	Fast       bool   // served in the fast mode of the API (usage.speed is "fast")
	Geo        string // where it was served (usage.inference_geo)
}

// Pico is an amount of money in millionths of a micro-dollar. Sums of priced responses use it, so
// that they are rounded once.
type Pico int64

// USD rounds to the nearest micro-dollar, half up.
func (p Pico) USD() USD {
	return USD(p/picoPerMicro) + USD((p%picoPerMicro+picoPerMicro/2)/picoPerMicro)
}

const picoPerMicro = 1_000_000

const priceUnit = "micro-dollars per million tokens"

// LoadPrices returns the embedded prices with an overlay of the same form. A model in the overlay
// is replaced whole or added. A nil or empty overlay changes nothing. An unknown field, a missing or
// negative price, a duplicate name, another unit or trailing data is a *PriceError.
func LoadPrices(overlay []byte) (Prices, error) {
	p := Prices{models: map[string]price{}, geo: map[string]int64{}}
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
// id in the API's responses, such as "claude-sonnet-4-5-20250929". listed reports whether the table has
// that model, with or without a date. If not, the price is a guess: that of the longest name that is a
// prefix of the id and ends at the end of a word, so that claude-opus-4-1 does not stand for
// claude-opus-4-10, or else that of the model for which the response costs most. Counts below 0 are 0.
func (p Prices) Price(model string, t Tokens) (cost Pico, listed bool) {
	for end := len(model); end > 0; end-- {
		if end < len(model) && alnum(model[end-1]) && alnum(model[end]) {
			continue
		}
		if m, ok := p.models[model[:end]]; ok {
			return p.cost(m, t), isSnapshot(model[end:])
		}
	}
	for _, m := range p.models {
		cost = max(cost, p.cost(m, t))
	}
	return cost, false
}

// isSnapshot reports whether a name with this suffix means the same model: a date, and the CLI's mark
// of a long context.
func isSnapshot(suffix string) bool {
	suffix = strings.TrimSuffix(suffix, "[1m]")
	_, err := time.Parse("-20060102", suffix)
	return suffix == "" || err == nil
}

// cost returns the price of a response at the prices of a model.
func (p Prices) cost(m price, t Tokens) Pico {
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
	add(hour, r.Input)
	sum.Mul(sum, big.NewInt(p.hour))
	add(in, r.Input)
	add(max(t.Output, 0), r.Output)
	add(read, r.CacheRead)
	add(write-hour, r.CacheWrite)
	if t.Fast {
		sum.Mul(sum, big.NewInt(m.fast))
	}
	if percent, ok := p.geo[t.Geo]; ok {
		sum.Mul(sum, big.NewInt(percent))
		sum.Quo(sum, big.NewInt(100))
	}
	searches := big.NewInt(max(t.Searches, 0))
	searches.Mul(searches, big.NewInt(p.search))
	sum.Add(sum, searches.Mul(searches, big.NewInt(picoPerMicro)))
	if !sum.IsInt64() {
		return math.MaxInt64
	}
	return Pico(sum.Int64())
}

func alnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
