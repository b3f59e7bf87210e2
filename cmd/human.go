package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"wavex/counsel"
	"wavex/internal/hearing"
	"wavex/internal/ui/safe"
	"wavex/scheduler"
)

// This file lets a person at a terminal judge what the thorough review finds: approve it,
// have it mended, discuss it, or skip it (LEDGER S0-31). It decides nothing itself, and what it
// shows of others is cleaned.

// human is the person.
type human struct {
	who *person
	out io.Writer
}

// refuseLonely refuses to ask where nobody sits, before anything is written.
func (r *launch) refuseLonely() error {
	if !r.opts.interactive {
		return nil
	}
	if r.opts.output != "text" {
		return usage("--interactive asks a person, and --output json is for programs: take one of them")
	}
	sits := isTerminal(r.std.In) && isTerminal(r.std.Err)
	if r.std.Terminal != nil {
		sits = r.std.Terminal()
	}
	if !sits {
		return usage("--interactive needs a terminal; without it, confirmed blockers become tasks by themselves")
	}
	return nil
}

// judge is who judges findings, nil without --interactive.
func (r *launch) judge() hearing.Judge {
	if !r.opts.interactive {
		return nil
	}
	return &human{who: r.sitting(), out: r.std.Err}
}

// read gives the next line; false when there is none, or ctx ended.
func (h *human) read(ctx context.Context) (string, bool) {
	line, err := h.who.next(ctx)
	return line, err == nil
}

// Judge asks about each blocker that stands and each warning. Where no answer comes, the
// rest is as if nobody had been asked.
func (h *human) Judge(ctx context.Context, p *counsel.Panel, c counsel.ReviewCase, r *counsel.Review) {
	for i := range r.Findings {
		f := &r.Findings[i]
		blocks := f.Severity == counsel.Blocker && f.Confirmed
		if !blocks && f.Severity != counsel.Warning {
			continue
		}
		fmt.Fprintf(h.out, "\n%s: %s\n", f.Severity, safe.Line(scheduler.Where(*f)+f.Text))
		for _, l := range [][2]string{{"evidence", f.Evidence}, {"fix", f.Fix}} {
			if l[1] != "" {
				fmt.Fprintf(h.out, "  %s: %s\n", l[0], safe.Line(l[1]))
			}
		}
		if !h.resolve(ctx, p, c, r, f, blocks) {
			return
		}
	}
}

// resolve asks about one finding until it is resolved; false when nobody answers.
func (h *human) resolve(ctx context.Context, p *counsel.Panel, c counsel.ReviewCase, r *counsel.Review, f *counsel.Finding, blocks bool) bool {
	ask := "[a]pprove it as it is, create a [t]ask, [d]iscuss, [S]kip? "
	if blocks {
		ask = "[a]pprove it as it is, create a [T]ask, [d]iscuss, [s]kip? "
	}
	for {
		fmt.Fprint(h.out, ask)
		line, ok := h.read(ctx)
		if !ok {
			fmt.Fprintln(h.out)
			return false
		}
		if line == "" && blocks {
			line = "t"
		} else if line == "" {
			line = "s"
		}
		switch strings.ToLower(line) {
		case "a", "approve":
			f.Resolution = "approved"
			return true
		case "t", "task":
			f.Resolution = "task"
			return true
		case "s", "skip":
			if blocks { // a warning that is skipped is only listed
				f.Resolution = "skipped"
			}
			return true
		case "d", "discuss":
			fmt.Fprint(h.out, "Your question: ")
			question, ok := h.read(ctx)
			if !ok {
				return false
			}
			answer, cost := p.Discuss(ctx, c, *f, question)
			r.Cost += cost
			fmt.Fprintf(h.out, "%s\n", safe.Text(answer, 4000))
		default:
			fmt.Fprintln(h.out, "Please answer approve, task, discuss or skip.")
		}
	}
}
