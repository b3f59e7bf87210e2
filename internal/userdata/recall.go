package userdata

// This file finds the learnings for a request: BM25 over their words, weighted by recurrence and
// recency. It does no I/O; the caller supplies the time.

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
)

// MaxRecalled is the maximal number of learnings that a recall returns.
const MaxRecalled = 5

// Hit is a learning that fits, with its score.
type Hit struct {
	Learning
	Score   float64 // BM25, weighted; comparable within one recall only
	Matched int     // number of different words of the query in it
}

// The usual parameters of BM25.
const (
	k1 = 1.2
	b  = 0.75
)

// Recall returns the learnings that fit a query best first, at most MaxRecalled. query is the
// request, with file names and error signatures if these are known. A learning that shares a
// single word with a longer query does not fit.
func Recall(list []Learning, query string, now time.Time) []Hit {
	want := distinct(keywords(query))
	if len(want) == 0 || len(list) == 0 {
		return nil
	}
	docs := make([]map[string]int, len(list))
	length, total := make([]float64, len(list)), 0.0
	having := map[string]int{}
	for i, l := range list {
		docs[i] = map[string]int{}
		all := keywords(strings.Join(append([]string{l.Context, l.Failure, l.Cause, l.Prevention, l.Signature}, l.Files...),
			" "))
		for _, w := range all {
			docs[i][w]++
		}
		length[i] = float64(len(all))
		total += length[i]
		for w := range docs[i] {
			having[w]++
		}
	}
	mean := max(1, total/float64(len(list)))
	var hits []Hit
	for i, l := range list {
		h := Hit{Learning: l}
		for _, w := range want {
			tf := float64(docs[i][w])
			if tf == 0 {
				continue
			}
			n := float64(having[w])
			idf := math.Log(1 + (float64(len(list))-n+0.5)/(n+0.5))
			h.Score += idf * tf * (k1 + 1) / (tf + k1*(1-b+b*length[i]/mean))
			h.Matched++
		}
		if h.Matched == 0 || h.Matched == 1 && len(want) > 2 {
			continue
		}
		// Two occurrences weigh 1.25, four 1.5. Age halves the score at most, after a year: old learnings are not wrong.
		years := max(0, now.Sub(l.Time).Hours()) / (365 * 24)
		h.Score *= (1 + 0.25*math.Log2(float64(max(1, l.Count)))) * max(0.5, math.Pow(0.5, years))
		hits = append(hits, h)
	}
	slices.SortFunc(hits, func(x, y Hit) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), y.Time.Compare(x.Time), strings.Compare(x.ID, y.ID))
	})
	return hits[:min(MaxRecalled, len(hits))]
}

// Familiarity returns how well the domain is known, 0 to 10: up to two points for each hit, by
// its share of the query's words.
func Familiarity(hits []Hit, query string) int {
	want := len(distinct(keywords(query)))
	if want == 0 {
		return 0
	}
	sum := 0.0
	for _, h := range hits {
		sum += min(2, 4*float64(h.Matched)/float64(want))
	}
	return int(min(10, math.Round(sum)))
}

// keywords returns the words of a text in lower case: whole names, and the parts of paths and of
// camelCase names, without the most common words and without inflections.
func keywords(s string) []string {
	var out []string
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		parts := splitCamelCase(f)
		if len(parts) > 1 {
			parts = append(parts, f)
		}
		for _, p := range parts {
			if w := stem(strings.ToLower(p)); len(w) > 1 && !strings.Contains(stopWords, " "+w+" ") {
				out = append(out, w)
			}
		}
	}
	return out
}

const stopWords = " the a an of to in on at by for and or is are be was it its as that this with from not no do does did has have had must should can will when if then into out up so we you "

// splitCamelCase splits "parseURLPath" into parse, URL and Path.
func splitCamelCase(s string) []string {
	r := []rune(s)
	var out []string
	start := 0
	for i := 1; i < len(r); i++ {
		lowToUp := unicode.IsLower(r[i-1]) && unicode.IsUpper(r[i])
		endOfCaps := unicode.IsUpper(r[i-1]) && unicode.IsUpper(r[i]) && i+1 < len(r) && unicode.IsLower(r[i+1])
		if lowToUp || endOfCaps {
			out = append(out, string(r[start:i]))
			start = i
		}
	}
	return append(out, string(r[start:]))
}

// stem removes the plainest English endings: enough for "tests" to match "test".
func stem(w string) string {
	for _, end := range []string{"ing", "ed", "es", "s"} {
		if cut, ok := strings.CutSuffix(w, end); ok && len(cut) >= 3 && !strings.HasSuffix(cut, "s") {
			return cut
		}
	}
	return w
}

func distinct(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
