// Package count counts words.
package count

import (
	"cmp"
	"slices"
)

// Entry is a word and how often it occurs.
type Entry struct {
	Word string
	N    int
}

// Top gives the n most frequent words, ties in alphabetical order.
func Top(words []string, n int) []Entry {
	counts := map[string]int{}
	for _, w := range words {
		counts[w]++
	}
	var out []Entry
	for w, c := range counts {
		out = append(out, Entry{w, c})
	}
	slices.SortFunc(out, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Word, b.Word))
	})
	return out[:min(n, len(out))]
}
