package report

import (
	"fmt"
	"strings"

	"wavex/runner"
)

// WaveUsage is what the attempts of one wave's tasks used. Reads show what the shared
// beginning of the prompts saves; writes, how often it was paid for again.
type WaveUsage struct {
	Wave int // from 1
	runner.Usage
}

// Caches sums the tokens by wave, for the waves whose attempts wrote or read a prompt
// cache, in their order.
func (r *Summary) Caches() []WaveUsage {
	sums := make([]runner.Usage, r.Waves+1)
	for i := range r.Tasks {
		if w := r.Tasks[i].Wave; w > 0 && w < len(sums) {
			sums[w] = sums[w].Plus(r.Tasks[i].Usage)
		}
	}
	var out []WaveUsage
	for w, u := range sums {
		if u.CacheRead > 0 || u.CacheWrite > 0 {
			out = append(out, WaveUsage{w, u})
		}
	}
	return out
}

// cacheWaves bounds the waves that the totals name.
const cacheWaves = 8

// cacheLine is the cache reads and writes by wave for the totals; "" where there were none.
func (r *Summary) cacheLine() string {
	all := r.Caches()
	if len(all) == 0 {
		return ""
	}
	var parts []string
	for i, u := range all {
		if i == cacheWaves {
			parts = append(parts, fmt.Sprintf("%d more", len(all)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("wave %d read %s, wrote %s", u.Wave, Tokens(u.CacheRead), Tokens(u.CacheWrite)))
	}
	return "Cache: " + strings.Join(parts, " | ")
}
