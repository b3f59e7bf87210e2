// Package words splits a text into words.
package words

import (
	"strings"
	"unicode"
)

// Split gives the words of a text in lower case. An apostrophe is part of a word.
func Split(text string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\''
	}) {
		if strings.Trim(w, "'") != "" {
			out = append(out, w)
		}
	}
	return out
}
