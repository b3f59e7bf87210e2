package lint

import (
	"regexp"
	"strings"
)

// whatClause matches a noun clause that begins with "what". Per 1000 comment lines of wavex before this lint existed it
// found 111, and 0 to 4 in River, restic, go-task, net/http and cmd/go. A clause may run over the end of a line.
var whatClause = regexp.MustCompile(`(?i)\bwhat\s+(?:is|was|it|are|were|the|a|an|they|has|had|can|could|does|did|` +
	`must|may|no|this|that|each|every|you|we)\b`)

// person matches an indefinite person as a subject or object. The first alternative found 34 per 1000 comment
// lines before this lint existed. The others find "who" without a noun before it: at the start of a sentence, and after
// a preposition or a form of "be". A "who" after its noun, as in "the caller who asked", is not matched. The last one
// finds a noun that "is none", as in "if the run is none", but not "there is none" or "is none of them".
var person = regexp.MustCompile(`(?i:\b(?:nobody|somebody|anybody|whoever)\b)` +
	`|(?:^|[.:;]\s+)[Ww]ho\b` +
	`|\b(?:of|to|for|by|with|from|before|after|at|on|as|than|against|is|are|was|were|be)\s+who\b` +
	`|(?i:(?:[^e\s]|[^r]e|[^e]re)\s+(?:is|are|was|were)\s+none(?:[.,;:)]|$|\s+(?:that|which)\b))`)

// quoted matches text that the author quotes rather than says.
var quoted = regexp.MustCompile("`[^`\n]*`|\"[^\"\n]*\"")

// paragraph is consecutive lines of prose. It begins at line first of its file.
type paragraph struct {
	first int
	lines []string
}

// language returns the lines of p that offend pattern, each once. A line offends if a match begins on it.
func (p paragraph) language(pattern *regexp.Regexp) []int {
	text := quoted.ReplaceAllStringFunc(strings.Join(p.lines, "\n"), func(s string) string {
		return strings.Repeat("_", len(s))
	})
	var found []int
	for _, m := range pattern.FindAllStringIndex(text, -1) {
		// A match at the start of a sentence begins with the full stop before it.
		start := m[0] + strings.IndexFunc(text[m[0]:m[1]], isLetter)
		line := p.first + strings.Count(text[:start], "\n")
		if len(found) == 0 || found[len(found)-1] != line {
			found = append(found, line)
		}
	}
	return found
}

func isLetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }
