// This file words a verdict for the retry prompt (the texts of <analysis> and <suggested_fix>,
// which the prompt escapes), and for the next panel. It decides nothing.

package counsel

import (
	"fmt"
	"strings"

	"wavex/internal/textfmt"
)

// Bounds of the texts of a verdict, in bytes.
const (
	maxAnalysis = 4000
	maxFix      = 3000
)

// analysisText returns the text for <analysis>. It leaves out the dissent, which has a section of its
// own in the prompt. split means that the dissent is as strong as the lead.
func analysisText(lead Opinion, split bool) string {
	var b strings.Builder
	b.WriteString(lead.Diagnosis)
	if lead.Cause != "" && lead.Cause != lead.Diagnosis {
		b.WriteString("\nCause: " + lead.Cause)
	}
	if testable(lead.Falsifier) > 0 {
		b.WriteString("\nCheck this first; the diagnosis is wrong if: " + lead.Falsifier)
	}
	if split {
		b.WriteString(
			"\nThe experts are split, a genuine tradeoff: where the evidence speaks against this, follow the dissent.")
	}
	return textfmt.HeadTail(b.String(), maxAnalysis)
}

// fixText returns the text for <suggested_fix>.
func fixText(lead Opinion) string {
	var b strings.Builder
	switch lead.Action {
	case Amend:
		// The agent must not take this as permission to edit its own checks.
		b.WriteString("The experts hold that the task's own words or checks are at fault. Those are not yours to change: " +
			"do what can be done within them, and report plainly where they are wrong. Their proposal: ")
	case Split:
		b.WriteString(
			"The experts hold that this is too much for one attempt. Do the parts in order, each verified before the next: ")
	case Abandon:
		b.WriteString(
			"The experts doubt that this can be done as asked. Do not force it; report plainly what stands in the way. Their advice: ")
	}
	b.WriteString(lead.Approach)
	return textfmt.HeadTail(b.String(), maxFix)
}

// Advice returns the advice in one line of at most 400 bytes, for Case.PastAdvice of the next panel,
// or "" if there was none.
func (v Verdict) Advice() string {
	if v.Unavailable != "" {
		return ""
	}
	return oneLine(string(v.Action)+": "+v.Fix, 400)
}

// Experts returns the names of the experts that answered, for Case.Consulted of the next panel.
// An expert that was unavailable is left out and may be asked again.
func (v Verdict) Experts() []string {
	var names []string
	for _, o := range v.Opinions {
		if o.Unavailable == "" {
			names = append(names, o.Expert)
		}
	}
	return names
}

// maxDissent bounds the text of an answer beside the advice, in bytes.
const maxDissent = 600

func dissentLine(o Opinion) string {
	return oneLine(fmt.Sprintf("%s (%s, %.2f): %s", o.Expert, o.Action, o.Confidence, o.Approach), maxDissent)
}
