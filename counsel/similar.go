// This file measures the likeness of two texts by the words they share. It does not understand
// them; it only has to distinguish one recipe from another.

package counsel

import (
	"strings"
	"unicode"
)

// Two approaches are alike if they share this percentage of the shorter one's words, and at least
// two words unless the shorter one has fewer. Experts word the same advice differently, so the
// bar is low. Two recipes against one failure share the names of its parts, so it is not lower.
const (
	similarPercent = 35
	similarWords   = 2
)

// similar is symmetric. Texts without significant words are alike only if they are equal.
func similar(a, b string) bool {
	wa, wb := keywords(a), keywords(b)
	if len(wa) == 0 || len(wb) == 0 {
		return strings.TrimSpace(a) == strings.TrimSpace(b)
	}
	shared := 0
	for w := range wa {
		if wb[w] {
			shared++
		}
	}
	shorter := min(len(wa), len(wb))
	return shared >= min(similarWords, shorter) && shared*100 >= shorter*similarPercent
}

// keywords returns the set of significant words of a text: lower case, without endings and without
// the words that every advice has.
func keywords(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	}) {
		if len(w) < 3 || isCommonWord(w) {
			continue
		}
		set[stem(w)] = true
	}
	return set
}

func stem(w string) string {
	for _, end := range []string{"ing", "ed", "es", "s", "e"} {
		if len(w) >= len(end)+4 && strings.HasSuffix(w, end) {
			return strings.TrimSuffix(w, end)
		}
	}
	return w
}

func isCommonWord(w string) bool {
	const list = " the and for not that this with from into then than its it's are was were will would should could must can may " +
		"has have had but one two all any you your they them their which what when where while does did done use using used " +
		"make makes made instead before after first next again also only just more most out off over under between about " +
		"code file files task tests test check fix add change changes attempt agent problem error errors fails failure failed "
	return strings.Contains(list, " "+w+" ")
}
