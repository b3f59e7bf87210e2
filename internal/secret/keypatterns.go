package secret

// This file knows keys of common services by their form. keys.txt lists the forms, with their source.

import (
	"bytes"
	_ "embed"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed keys.txt
var keyText string

// keyPattern is one kind of key.
type keyPattern struct {
	what string
	how  []string // words of keys.txt
	re   func() *regexp.Regexp
}

// marker is a text that every match of a pattern contains.
type marker struct {
	text    []byte
	pattern int
}

// keyTable holds keys.txt in the form of a search.
type keyTable struct {
	patterns []keyPattern
	markers  [1 << 16][]marker // by their first two bytes
}

var keyPatterns = sync.OnceValue(func() *keyTable {
	t := &keyTable{}
	for line := range strings.Lines(keyText) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 {
			continue
		}
		for _, text := range strings.Fields(f[1]) {
			at := &t.markers[int(text[0])<<8|int(text[1])]
			*at = append(*at, marker{[]byte(text), len(t.patterns)})
		}
		t.patterns = append(t.patterns, keyPattern{f[0], strings.Fields(f[2]), sync.OnceValue(func() *regexp.Regexp {
			return regexp.MustCompile(f[3])
		})})
	}
	return t
})

// span is the secret b[from:to].
type span struct {
	from, to int
	what     string
}

// find appends the spans of keys in b to all. It searches only for those with a marker in b, and in data not for those
// whose form matches code.
func (t *keyTable) find(b []byte, data bool, all []span) []span {
	var marked []int
	for i := range len(b) - 1 {
		for _, m := range t.markers[int(b[i])<<8|int(b[i+1])] {
			if bytes.HasPrefix(b[i:], m.text) && !slices.Contains(marked, m.pattern) {
				marked = append(marked, m.pattern)
			}
		}
	}
	slices.Sort(marked)
	for _, n := range marked {
		f := t.patterns[n]
		if data && slices.Contains(f.how, "text") {
			continue
		}
		group := f.re().NumSubexp()
		for _, m := range f.re().FindAllSubmatchIndex(b, -1) {
			from, to := m[2*group], m[2*group+1]
			if from < to && (group > 0 || startsWord(b, from)) && looksLike(b[from:to], f.how) {
				all = append(all, span{from, to, f.what})
			}
		}
	}
	return all
}

// startsWord reports whether a word may begin at b[i]: not after a letter or a digit, unless that is
// the end of a JSON escape sequence, as in "\\nghp_" or "\\u001bghp_".
func startsWord(b []byte, i int) bool {
	switch {
	case i == 0 || !isWordByte(b[i-1]):
		return true
	case i >= 2 && b[i-2] == '\\':
		return bytes.IndexByte([]byte("bfnrt"), b[i-1]) >= 0
	}
	return i >= 6 && b[i-6] == '\\' && b[i-5] == 'u'
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// looksLike reports whether a text looks like a secret, and not like a name, by words of keys.txt.
func looksLike(b []byte, how []string) bool {
	digits, capitals, small := 0, 0, 0
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'A' && c <= 'Z':
			capitals++
		case c >= 'a' && c <= 'z':
			small++
		}
	}
	return (!slices.Contains(how, "random") || digits >= 4 && capitals > 0) &&
		(!slices.Contains(how, "mixed") || digits >= 2 && capitals+small >= 2)
}
