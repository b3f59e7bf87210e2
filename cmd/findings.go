package cmd

import (
	"context"
	"fmt"
	"io"

	"wavex/counsel"
	"wavex/internal/event"
	"wavex/internal/textfmt"
)

// This file lets a person at a terminal judge the findings of the thorough review: approve, fix or
// skip each. It decides nothing itself, and it cleans the text of others before it shows it.

// findingJudge returns the judge of findings, or nil if no person is asked about them.
func (r *invocation) findingJudge() func(context.Context, *counsel.Review) {
	if !r.config.Attended || r.config.Mode != event.Interactive {
		return nil
	}
	p, out := r.terminalPrompter(), r.std.Err
	return func(ctx context.Context, found *counsel.Review) { judgeFindings(ctx, p, out, found) }
}

// judgeFindings asks the person at the terminal about each standing blocker and each warning. Findings without an
// answer stay as they would be without a person.
func judgeFindings(ctx context.Context, p *prompter, out io.Writer, r *counsel.Review) {
	for i := range r.Findings {
		f := &r.Findings[i]
		blocks := f.Severity == counsel.Blocker && f.Confirmed
		if !blocks && f.Severity != counsel.Warning {
			continue
		}
		fmt.Fprintf(out, "\n%s: %s\n", f.Severity, textfmt.Line(f.Location()+f.Text))
		for _, l := range [][2]string{{"evidence", f.Evidence}, {"fix", f.Fix}} {
			if l[1] != "" {
				fmt.Fprintf(out, "  %s: %s\n", l[0], textfmt.Line(l[1]))
			}
		}
		ask, byDefault := "[a]pprove it as it is, create a [t]ask, [S]kip? ", "skip"
		if blocks {
			ask, byDefault = "[a]pprove it as it is, create a [T]ask, [s]kip? ", "task"
		}
		answer, err := p.promptWord(ctx, ask, byDefault, "approve", "task", "skip")
		switch {
		case err != nil:
			return
		case answer == "approve":
			f.Resolution = "approved"
		case answer == "task":
			f.Resolution = "task"
		case blocks: // a skipped warning is only listed
			f.Resolution = "skipped"
		}
	}
}
