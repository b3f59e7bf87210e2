package fakeapi

import (
	"strings"

	"wavex/budget"
)

// Usage counts the tokens of one response.
type Usage struct {
	Input      int64
	Output     int64
	CacheRead  int64
	CacheWrite int64 // to the five-minute cache
}

// defaultUsage is charged for a reply without a usage.
var defaultUsage = Usage{Input: 100, Output: 20}

// Price is the price of a million tokens, in micro-dollars.
type Price struct{ Input, Output, CacheRead, CacheWrite budget.USD }

// Prices holds prices by the start of a model's name; the longest match counts.
type Prices map[string]Price

// Of returns the price of a model.
func (p Prices) Of(model string) (Price, bool) {
	best, found := "", false
	for name := range p {
		if strings.HasPrefix(model, name) && len(name) >= len(best) {
			best, found = name, true
		}
	}
	return p[best], found
}

// Cost returns the cost of one response, rounded to the micro-dollar.
func (p Price) Cost(u Usage) budget.USD { return round(p.pico(u)) }

// pico returns the exact cost in millionths of a micro-dollar.
func (p Price) pico(u Usage) int64 {
	return u.Input*int64(p.Input) + u.Output*int64(p.Output) +
		u.CacheRead*int64(p.CacheRead) + u.CacheWrite*int64(p.CacheWrite)
}

func round(pico int64) budget.USD { return budget.USD((pico + 500_000) / 1_000_000) }
