package cmd

import (
	"context"
	"fmt"
	"io"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/review"
	"wavex/internal/textfmt"
)

// This file lets a person at a terminal judge the findings of the thorough review: approve, fix,
// discuss or skip each. It decides nothing itself, and it cleans the text of others before it shows
// it.

// interactiveJudge asks the person at the terminal about findings.
type interactiveJudge struct {
	prompter *prompter
	out      io.Writer
}

// findingJudge returns the judge of findings, or nil if no person is asked about them.
func (r *invocation) findingJudge() review.Judge {
	if !r.config.Attended || r.config.Mode != event.Interactive {
		return nil
	}
	return &interactiveJudge{prompter: r.terminalPrompter(), out: r.std.Err}
}

// Judge asks about each standing blocker and each warning. Findings without an answer stay as they
// would be without a person.
func (h *interactiveJudge) Judge(ctx context.Context, p *counsel.Panel, c counsel.ReviewCase, r *counsel.Review) {
	for i := range r.Findings {
		f := &r.Findings[i]
		blocks := f.Severity == counsel.Blocker && f.Confirmed
		if !blocks && f.Severity != counsel.Warning {
			continue
		}
		fmt.Fprintf(h.out, "\n%s: %s\n", f.Severity, textfmt.Line(f.Location()+f.Text))
		for _, l := range [][2]string{{"evidence", f.Evidence}, {"fix", f.Fix}} {
			if l[1] != "" {
				fmt.Fprintf(h.out, "  %s: %s\n", l[0], textfmt.Line(l[1]))
			}
		}
		if !h.resolveFinding(ctx, p, c, r, f, blocks) {
			return
		}
	}
}

// resolveFinding asks about one finding until it is resolved. It reports false if there is no answer.
func (h *interactiveJudge) resolveFinding(ctx context.Context, p *counsel.Panel, c counsel.ReviewCase,
	r *counsel.Review,
	f *counsel.Finding, blocks bool) bool {
	ask, byDefault := "[a]pprove it as it is, create a [t]ask, [d]iscuss, [S]kip? ", "skip"
	if blocks {
		ask, byDefault = "[a]pprove it as it is, create a [T]ask, [d]iscuss, [s]kip? ", "task"
	}
	for {
		answer, err := h.prompter.promptWord(ctx, ask, byDefault, "approve", "task", "discuss", "skip")
		if err != nil {
			return false
		}
		switch answer {
		case "approve":
			f.Resolution = "approved"
			return true
		case "task":
			f.Resolution = "task"
			return true
		case "skip":
			if blocks { // a skipped warning is only listed
				f.Resolution = "skipped"
			}
			return true
		}
		question, err := h.prompter.promptLine(ctx, "Your question: ")
		if err != nil {
			return false
		}
		answer, cost := p.Discuss(ctx, c, *f, question)
		r.Cost += cost
		fmt.Fprintf(h.out, "%s\n", textfmt.Multiline(answer, 4000))
	}
}
