package intent

// This file tells how far work can be undone, by the words of the request (LEDGER
// S2-23). It errs on the side of care: the hardest class that any word speaks for.

import (
	"regexp"
	"strings"

	"wavex/internal/lazy"
)

// Class is how long it takes to go back: 2A below a minute, 2B below five, 1 hours or never.
type Class string

// The classes.
const (
	Quick    Class = "2A" // executed freely
	Stepwise Class = "2B" // a checkpoint after each step
	OneWay   Class = "1"  // an adversarial check before anything is done
)

// Care is what the class asks for.
func (c Class) Care() string {
	switch c {
	case OneWay:
		return "hours to undo: an adversarial check comes before the first wave"
	case Stepwise:
		return "minutes to undo: a checkpoint after each step"
	}
	return "undone in a minute: executed freely"
}

// Undo is a class with the words it was told by.
type Undo struct {
	Class Class  `json:"class"`
	By    string `json:"by"` // the words found, or "default"
}

var undoRules = [...]struct {
	class Class
	words func() *regexp.Regexp
}{
	{OneWay, lazy.Regexp(`(?i)\b(?:(?:database |db |table )?schemas?|migrat(?:e|es|ed|ing|ions?)\b[^.;\n]*\b(?:data|database|table|schema|users|production)|data migrations?|drop (?:the )?(?:table|column|database)|(?:delete|purge|erase) (?:all |the |user |old )*(?:data|records|rows|users|accounts)|public (?:api|interface|contract)s?|breaking changes?|wire format|file format|protocol|publish(?:es|ed|ing)?|releas(?:e|es|ed|ing)|deploy(?:s|ed|ing|ments?)?|production|rewrit(?:e|ing) (?:the )?history|force[- ]push)\b`)},
	{Stepwise, lazy.Regexp(`(?i)\b(?:dependenc(?:y|ies)|upgrad(?:e|es|ed|ing)|downgrad(?:e|es|ed|ing)|bump(?:s|ed|ing)?|refactor(?:s|ed|ing)?|reorgani[sz](?:e|es|ed|ing)|restructur(?:e|es|ed|ing)|migrat(?:e|es|ed|ing|ions?)|mov(?:e|es|ed|ing) (?:the )?(?:package|module|files?|code)|split(?:s|ting)?|rewrit(?:e|es|ing)|ci|pipelines?)\b`)},
}

// negated are words before a find that turn it round: "no new dependencies" is a limit,
// not a plan. They reach to the end of their clause.
var (
	negated   = lazy.Regexp(`(?i)\b(?:no|not|never|without|don't|keep|keeping|leave|unchanged|avoid|nor)\b`)
	clauseEnd = lazy.Regexp(`(?i)[.,;:\n]|\b(?:and|then|but)\b`)
)

// stays are words behind a find that leave it as it is.
var stays = lazy.Regexp(`(?i)^[^.,;:\n]{0,20}\b(?:stays?|unchanged|remains?|as it is|is kept|are kept)\b`)

// forbidden tells whether what stands between before and behind is only spoken of to
// rule it out.
func forbidden(before, behind string) bool {
	if stays().MatchString(behind) {
		return true
	}
	if ends := clauseEnd().FindAllStringIndex(before, -1); len(ends) > 0 {
		before = before[ends[len(ends)-1][1]:]
	}
	return negated().MatchString(before)
}

// Reversibility tells the class of a request. A word that is only forbidden ("no new
// dependencies", "without a breaking change") speaks for nothing.
func Reversibility(request string) Undo {
	text := unquoted(request)
	for _, r := range undoRules {
		for _, at := range r.words().FindAllStringIndex(text, -1) {
			if !forbidden(text[:at[0]], text[at[1]:]) {
				return Undo{r.class, clip(strings.ToLower(text[at[0]:at[1]]), 40)}
			}
		}
	}
	return Undo{Quick, "default"}
}
