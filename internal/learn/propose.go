package learn

// This file proposes learnings after a run, from the deviations in _context.md. A proposal is kept as a learning only
// when a person accepts it.

import (
	"cmp"
	"strings"
	"time"
)

// Deviations reads the section "Deviations" of a _context.md: entries of lines "- Before: ...",
// "- Found: ...", "- Adjustment: ...". It skips entries without a finding and entries with the
// template's words.
func Deviations(context, run string, at time.Time) []Learning {
	var out []Learning
	var l Learning
	flush := func() {
		template := strings.Trim(l.Failure, "XYZ.") == "" || strings.EqualFold(l.Failure, "no deviation")
		if !template {
			l.Kind, l.Run, l.Time = Discovery, run, at
			l.Context = cmp.Or(l.Context, "an assumption of the plan")
			out = append(out, l.Clean())
		}
		l = Learning{}
	}
	in := false
	for line := range strings.Lines(context) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "#"); ok {
			flush()
			in = strings.EqualFold(strings.TrimSpace(strings.TrimLeft(title, "#")), "deviations")
			continue
		}
		if !in {
			continue
		}
		key, value, ok := strings.Cut(strings.TrimLeft(line, "-* "), ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.ToLower(strings.Trim(key, "* ")) {
		case "before", "pre-assumption":
			flush()
			l.Context = value
		case "found", "actual finding":
			l.Failure = value
		case "adjustment":
			l.Prevention = value
		}
	}
	flush()
	return out
}
