package request

// This file determines how easily work can be undone, by the words of the request. It is cautious:
// of all classes that the words suggest, the hardest to undo counts.

import (
	"regexp"
	"strings"

	"wavex/internal/textfmt"
)

// ReversibilityClass is the time needed to undo the work: 2A under a minute, 2B under five minutes, 1 hours or
// never.
type ReversibilityClass string

// The classes.
const (
	Quick        ReversibilityClass = "2A" // executed freely
	Stepwise     ReversibilityClass = "2B" // a checkpoint after each step
	Irreversible ReversibilityClass = "1"  // an adversarial check before anything is done
)

// Handling returns the precaution that the class requires.
func (c ReversibilityClass) Handling() string {
	switch c {
	case Irreversible:
		return "hours to undo: an adversarial check comes before the first wave"
	case Stepwise:
		return "minutes to undo: a checkpoint after each step"
	}
	return "undone in a minute: executed freely"
}

// Reversibility is a class and the words that led to it.
type Reversibility struct {
	Class ReversibilityClass `json:"class"`
	By    string             `json:"by"` // the words found, or "default"
}

var reversibilityRules = [...]struct {
	class ReversibilityClass
	words func() *regexp.Regexp
}{
	{Irreversible, textfmt.Pattern(`(?i)\b(?:(?:database |db |table )?schemas?|migrat(?:e|es|ed|ing|ions?)\b[^.;\n]*\b(?:data|database|table|schema|users|production)|data migrations?|drop (?:the )?(?:table|column|database)|(?:delete|purge|erase) (?:all |the |user |old )*(?:data|records|rows|users|accounts)|public (?:api|interface|contract)s?|breaking changes?|wire format|file format|protocol|publish(?:es|ed|ing)?|releas(?:e|es|ed|ing)|deploy(?:s|ed|ing|ments?)?|production|rewrit(?:e|ing) (?:the )?history|force[- ]push)\b`)},
	{Stepwise, textfmt.Pattern(`(?i)\b(?:dependenc(?:y|ies)|upgrad(?:e|es|ed|ing)|downgrad(?:e|es|ed|ing)|bump(?:s|ed|ing)?|refactor(?:s|ed|ing)?|reorgani[sz](?:e|es|ed|ing)|restructur(?:e|es|ed|ing)|migrat(?:e|es|ed|ing|ions?)|mov(?:e|es|ed|ing) (?:the )?(?:package|module|files?|code)|split(?:s|ting)?|rewrit(?:e|es|ing)|ci|pipelines?)\b`)},
}

// negations matches words before a match that reverse it: "no new dependencies" is a limit, not a
// plan. They apply to the rest of their clause.
var (
	negations = textfmt.Pattern(`(?i)\b(?:no|not|never|without|don't|keep|keeping|leave|unchanged|avoid|nor)\b`)
	clauseEnd = textfmt.Pattern(`(?i)[.,;:\n]|\b(?:and|then|but)\b`)
)

// unchangedSuffix matches words after a match that say that it does not change.
var unchangedSuffix = textfmt.Pattern(`(?i)^[^.,;:\n]{0,20}\b(?:stays?|unchanged|remains?|as it is|is kept|are kept)\b`)

// isRuledOut reports whether the text between before and behind is mentioned only to exclude it.
func isRuledOut(before, behind string) bool {
	if unchangedSuffix().MatchString(behind) {
		return true
	}
	if ends := clauseEnd().FindAllStringIndex(before, -1); len(ends) > 0 {
		before = before[ends[len(ends)-1][1]:]
	}
	return negations().MatchString(before)
}

// classifyReversibility returns the class of a request. A word that is only excluded ("no new
// dependencies", "without a breaking change") does not count.
func classifyReversibility(request string) Reversibility {
	text := withoutQuotes(request)
	for _, r := range reversibilityRules {
		for _, at := range r.words().FindAllStringIndex(text, -1) {
			if !isRuledOut(text[:at[0]], text[at[1]:]) {
				return Reversibility{r.class, textfmt.Shorten(strings.ToLower(text[at[0]:at[1]]), 40)}
			}
		}
	}
	return Reversibility{Quick, "default"}
}
