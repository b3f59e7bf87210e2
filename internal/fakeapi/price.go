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
	CacheWrite int64
	CacheHour  int64  // the part of CacheWrite that lives for an hour; the rest lives for five minutes
	Searches   int64  // web searches
	Geo        string // inference_geo
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
	sum := u.Input*int64(p.Input) + u.Output*int64(p.Output) + u.CacheRead*int64(p.CacheRead) +
		(u.CacheWrite-u.CacheHour)*int64(p.CacheWrite) + u.CacheHour*2*int64(p.Input)
	if u.Geo == "us" {
		sum = sum / 10 * 11
	}
	return sum + u.Searches*10_000_000_000
}

func round(pico int64) budget.USD { return budget.USD((pico + 500_000) / 1_000_000) }
