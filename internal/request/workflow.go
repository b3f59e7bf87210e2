package request

// This file determines the kind of work by the words of the request, and the gate of each kind. If
// a request has words of several kinds, debug has precedence over refactor, and refactor over
// build: "fix X by adding Y" is a fix.

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
	switch w {
	case Debug:
		return "debug"
	case Refactor:
		return "refactor"
	}
	return "build"
}

// Gate returns the condition that must be met before the work itself; it is part of the prompts.
func (w Workflow) Gate() string {
	switch w {
	case Debug:
		return "Root cause before workaround: reproduce the failure and name its cause, with evidence, before anything is changed. A change that only hides the symptom is not a fix."
	case Refactor:
		return "Deletion before redesign: look first for what can be deleted or joined without changing behaviour; only what is left is redesigned. The tests that are there pass before and after."
	}
	return "Library search first: look in the standard library and in the project's own dependencies and code for what does this already, and say what was found, before anything is written."
}

// WorkflowMatch is a workflow and the words that led to it.
type WorkflowMatch struct {
	Workflow Workflow `json:"workflow"`
	By       string   `json:"by"` // the word found, "given", or "default"
}

type workflowRule struct {
	workflow Workflow
	words    func() *regexp.Regexp
}

// workflowRules returns the rules in order of precedence.
func workflowRules() []workflowRule {
	rule := func(w Workflow, words string) workflowRule {
		return workflowRule{w, textfmt.Pattern(`(?i)\b(?:` + words + `)\b`)}
	}
	return []workflowRule{
		rule(Debug, `fix(?:es|ed|ing)?|debug(?:s|ged|ging)?|broken|breaks|errors?|fail(?:s|ed|ing|ures?)?|crash(?:es|ed|ing)?|bugs?|regressions?`),
		rule(Refactor, `refactor(?:s|ed|ing|ings)?|clean(?:s|ed|ing)?[ -]?up|clean up|reorgani[sz](?:e|es|ed|ing)|migrat(?:e|es|ed|ing|ion)|simplif(?:y|ies|ied|ying)|restructur(?:e|es|ed|ing)`),
		rule(Build, `add(?:s|ed|ing)?|implement(?:s|ed|ing)?|creat(?:e|es|ed|ing)|new feature|builds?|writes?|introduces?|supports?`),
	}
}

// classifyWorkflow returns the workflow of a request; without any matching word it is Build. Text in
// backticks or quotes is a name and is ignored.
func classifyWorkflow(request string) WorkflowMatch {
	text := withoutQuotes(request)
	for _, r := range workflowRules() {
		if word := r.words().FindString(text); word != "" {
			return WorkflowMatch{r.workflow, strings.ToLower(word)}
		}
	}
	return WorkflowMatch{Build, "default"}
}

var quotedText = textfmt.Pattern("`[^`\n]*`|\"[^\"\n]*\"")

// withoutQuotes returns the text without its quotations.
func withoutQuotes(s string) string { return quotedText().ReplaceAllString(s, " ") }
