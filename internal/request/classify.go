package request

// This file determines the kind of work, its gate, and how easily the work can be undone, by the words of the request.

import (
	"regexp"
	"strings"

	"wavex/internal/textfmt"
)

// Workflow is A (build), B (debug) or C (refactor).
type Workflow string

// The workflows.
const (
	Build    Workflow = "A"
	Debug    Workflow = "B"
	Refactor Workflow = "C"
)

// Name returns the workflow in one word.
func (w Workflow) Name() string {
	return map[Workflow]string{Build: "build", Debug: "debug", Refactor: "refactor"}[w]
}

// Gate returns the condition that must be met before the work itself; it is part of the prompts.
func (w Workflow) Gate() string {
	return map[Workflow]string{
		Debug:    "Root cause before workaround: reproduce the failure and name its cause, with evidence, before anything is changed. A change that only hides the symptom is not a fix.",
		Refactor: "Deletion before redesign: look first for what can be deleted or joined without changing behaviour; only what is left is redesigned. The tests that are there pass before and after.",
		Build:    "Library search first: look in the standard library and in the project's own dependencies and code for what does this already, and say what was found, before anything is written.",
	}[w]
}

// WorkflowMatch is a workflow and the words that led to it.
type WorkflowMatch struct {
	Workflow Workflow `json:"workflow"`
	By       string   `json:"by"` // the word found, "given", or "default"
}

// The words of workflows: debug has precedence over refactor, and refactor over build: "fix X by adding Y" is a fix.
var (
	debugWords    = textfmt.Pattern(`(?i)\b(?:fix(?:es|ed|ing)?|debug(?:s|ged|ging)?|broken|breaks|errors?|fail(?:s|ed|ing|ures?)?|crash(?:es|ed|ing)?|bugs?|regressions?)\b`)
	refactorWords = textfmt.Pattern(`(?i)\b(?:refactor(?:s|ed|ing|ings)?|clean(?:s|ed|ing)?[ -]?up|clean up|reorgani[sz](?:e|es|ed|ing)|migrat(?:e|es|ed|ing|ion)|simplif(?:y|ies|ied|ying)|restructur(?:e|es|ed|ing))\b`)
	buildWords    = textfmt.Pattern(`(?i)\b(?:add(?:s|ed|ing)?|implement(?:s|ed|ing)?|creat(?:e|es|ed|ing)|new feature|builds?|writes?|introduces?|supports?)\b`)
)

// classifyWorkflow returns the workflow of a request; without any matching word it is Build.
func classifyWorkflow(request string) WorkflowMatch {
	text := withoutQuotes(request)
	for _, r := range []struct {
		workflow Workflow
		words    func() *regexp.Regexp
	}{{Debug, debugWords}, {Refactor, refactorWords}, {Build, buildWords}} {
		if word := r.words().FindString(text); word != "" {
			return WorkflowMatch{r.workflow, strings.ToLower(word)}
		}
	}
	return WorkflowMatch{Build, "default"}
}

var quotedText = textfmt.Pattern("`[^`\n]*`|\"[^\"\n]*\"")

// withoutQuotes returns the text without its quotations, which are names.
func withoutQuotes(s string) string { return quotedText().ReplaceAllString(s, " ") }

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

var (
	irreversibleWords = textfmt.Pattern(`(?i)\b(?:(?:database |db |table )?schemas?|migrat(?:e|es|ed|ing|ions?)\b[^.;\n]*\b(?:data|database|table|schema|users|production)|data migrations?|drop (?:the )?(?:table|column|database)|(?:delete|purge|erase) (?:all |the |user |old )*(?:data|records|rows|users|accounts)|public (?:api|interface|contract)s?|breaking changes?|wire format|file format|protocol|publish(?:es|ed|ing)?|releas(?:e|es|ed|ing)|deploy(?:s|ed|ing|ments?)?|production|rewrit(?:e|ing) (?:the )?history|force[- ]push)\b`)
	stepwiseWords     = textfmt.Pattern(`(?i)\b(?:dependenc(?:y|ies)|upgrad(?:e|es|ed|ing)|downgrad(?:e|es|ed|ing)|bump(?:s|ed|ing)?|refactor(?:s|ed|ing)?|reorgani[sz](?:e|es|ed|ing)|restructur(?:e|es|ed|ing)|migrat(?:e|es|ed|ing|ions?)|mov(?:e|es|ed|ing) (?:the )?(?:package|module|files?|code)|split(?:s|ting)?|rewrit(?:e|es|ing)|ci|pipelines?)\b`)
)

// These say that a word between them is mentioned only to exclude it. "No new dependencies" is a limit, not a plan; the
// negation applies to the rest of its clause.
var (
	negations       = textfmt.Pattern(`(?i)\b(?:no|not|never|without|don't|keep|keeping|leave|unchanged|avoid|nor)\b`)
	clauseEnd       = textfmt.Pattern(`(?i)[.,;:\n]|\b(?:and|then|but)\b`)
	unchangedSuffix = textfmt.Pattern(`(?i)^[^.,;:\n]{0,20}\b(?:stays?|unchanged|remains?|as it is|is kept|are kept)\b`)
)

// isRuledOut reports whether the text between before and behind is mentioned only to exclude it.
func isRuledOut(before, behind string) bool {
	if ends := clauseEnd().FindAllStringIndex(before, -1); len(ends) > 0 {
		before = before[ends[len(ends)-1][1]:]
	}
	return unchangedSuffix().MatchString(behind) || negations().MatchString(before)
}

// classifyReversibility returns the class of a request: of all classes that its words suggest, the hardest to undo. A
// word that is only excluded ("no new dependencies", "without a breaking change") does not count.
func classifyReversibility(request string) Reversibility {
	text := withoutQuotes(request)
	for _, r := range []struct {
		class ReversibilityClass
		words func() *regexp.Regexp
	}{{Irreversible, irreversibleWords}, {Stepwise, stepwiseWords}} {
		for _, at := range r.words().FindAllStringIndex(text, -1) {
			if !isRuledOut(text[:at[0]], text[at[1]:]) {
				return Reversibility{r.class, textfmt.Shorten(strings.ToLower(text[at[0]:at[1]]), 40)}
			}
		}
	}
	return Reversibility{Quick, "default"}
}
