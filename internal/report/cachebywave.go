package report

import (
	"fmt"
	"strings"

	"wavex/runner"
)

// WaveUsage holds the tokens that the attempts of one wave's tasks used. The reads show the saving
// by the shared beginning of the prompts; the writes show how often it was paid for again.
type WaveUsage struct {
	Wave   int          `json:"wave"` // from 1
	Tokens runner.Usage `json:"tokens"`
}

// CacheByWave returns the tokens by wave, in order, for the waves whose attempts wrote or read a prompt
// cache.
func (r *Summary) CacheByWave() []WaveUsage {
	return r.Totals.Caches
}

// maxCacheWaves bounds the waves in the totals.
const maxCacheWaves = 8

// cacheLine returns the cache reads and writes by wave for the totals; "" if there were none.
func (r *Summary) cacheLine() string {
	all := r.CacheByWave()
	if len(all) == 0 {
		return ""
	}
	var parts []string
	for i, u := range all {
		if i == maxCacheWaves {
			parts = append(parts, fmt.Sprintf("%d more", len(all)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("wave %d read %s, wrote %s", u.Wave, FormatTokens(u.Tokens.CacheRead),
			FormatTokens(u.Tokens.CacheWrite)))
	}
	return "Cache: " + strings.Join(parts, " | ")
}
