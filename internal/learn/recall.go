package learn

// This file finds the learnings that a request should know of: BM25 over their words,
// weighed by recurrence and recency (LEDGER S0-65). It is pure; the time is given.

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Top is how many learnings a recall surfaces.
const Top = 5

// Hit is a learning that fits, with how well.
type Hit struct {
	Learning
	Score   float64 // BM25, weighed; comparable within one recall only
	Matched int     // distinct words of the query that it has
}

// The usual parameters of BM25.
const (
	k1 = 1.2
	b  = 0.75
)

// Recall gives the learnings that fit a query best, best first, at most Top. query is the
// request, with file names and error signatures where they are known. A learning that
// shares a single word with a longer query does not fit.
func Recall(list []Learning, query string, now time.Time) []Hit {
	want := distinct(words(query))
	if len(want) == 0 || len(list) == 0 {
		return nil
	}
	docs := make([]map[string]int, len(list))
	length, total := make([]float64, len(list)), 0.0
	having := map[string]int{}
	for i, l := range list {
		docs[i] = map[string]int{}
		all := words(strings.Join(append([]string{l.Context, l.Failure, l.Cause, l.Prevention, l.Signature}, l.Files...), " "))
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
		h.Score *= recurrence(l.Count) * recency(now.Sub(l.Time))
		hits = append(hits, h)
	}
	slices.SortFunc(hits, func(x, y Hit) int {
		return cmp.Or(cmp.Compare(y.Score, x.Score), y.Time.Compare(x.Time), strings.Compare(x.ID, y.ID))
	})
	return hits[:min(Top, len(hits))]
}

// recurrence makes what happened twice count a quarter more, four times a half.
func recurrence(count int) float64 { return 1 + 0.25*math.Log2(float64(max(1, count))) }

// recency halves what is a year old, and no more than that: old is not wrong.
func recency(age time.Duration) float64 {
	years := max(0, age.Hours()) / (365 * 24)
	return max(0.5, math.Pow(0.5, years))
}

// Familiarity is what recall says of how well the domain is known, 0 to 10: up to two
// points for each hit, by the share of the query's words that it has.
func Familiarity(hits []Hit, query string) int {
	want := len(distinct(words(query)))
	if want == 0 {
		return 0
	}
	sum := 0.0
	for _, h := range hits {
		sum += min(2, 4*float64(h.Matched)/float64(want))
	}
	return int(min(10, math.Round(sum)))
}

// words are the words of a text in lower case: parts of paths and of camelCase names as
// well as the whole, without the commonest and without endings that only inflect.
func words(s string) []string {
	var out []string
	for _, f := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		parts := camel(f)
		if len(parts) > 1 {
			parts = append(parts, f)
		}
		for _, p := range parts {
			if w := stem(strings.ToLower(p)); len(w) > 1 && !strings.Contains(common, " "+w+" ") {
				out = append(out, w)
			}
		}
	}
	return out
}

const common = " the a an of to in on at by for and or is are be was it its as that this with from not no do does did has have had must should can will when if then into out up so we you "

// camel splits "parseURLPath" into parse, URL and Path.
func camel(s string) []string {
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

// stem cuts the plainest English endings: enough for "tests" to find "test".
func stem(w string) string {
	for _, end := range []string{"ing", "ed", "es", "s"} {
		if cut, ok := strings.CutSuffix(w, end); ok && len(cut) >= 3 && !strings.HasSuffix(cut, "s") {
			return cut
		}
	}
	return w
}

func distinct(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
