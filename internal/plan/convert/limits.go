package convert

// This file keeps the limits of foreign files: money, must-nots and checks. An importer that cannot carry
// one over refuses the file, because a run without it would do more than its author allowed.

import (
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
)

// limit is a kind of limit that a field, a heading or an attribute can be.
type limit int

const (
	limitsNothing limit = iota
	limitsMoney
	forbids
	checks
)

// limitOf returns the kind of limit that a name stands for, in any spelling: max_cost, "Max Cost" and maxCost are the same.
func limitOf(name string) limit {
	low := strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(name))
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(low, p) {
				return true
			}
		}
		return false
	}
	switch low {
	case "limit", "limits":
		return limitsMoney
	case "never", "dont", "donts":
		return forbids
	case "check", "test", "tests", "verify", "verification", "verifications", "validation", "acceptance", "criteria":
		return checks
	}
	switch {
	case has("budget", "usd", "dollar", "maxspend", "spendlimit", "spending"), has("cost") && has("max", "limit"):
		if has("estimate", "token", "context") {
			return limitsNothing
		}
		return limitsMoney
	case has("mustnot", "mustnever", "donot", "forbid", "prohibit"):
		return forbids
	case strings.HasSuffix(low, "checks"), strings.HasSuffix(low, "criteria"):
		return checks
	}
	return limitsNothing
}

// says reports whether a value can be a limit: not null, false, or an empty one.
func says(v *source.Node) bool {
	switch v.Kind {
	case source.KindString:
		return strings.TrimSpace(v.Text) != ""
	case source.KindArray, source.KindObject:
		return len(v.Items) > 0
	}
	return v.Kind == source.KindNumber
}

// carryLimit carries a field of the whole file, or of a part other than a task, over if it is a limit. It reports
// whether it is one.
func (f *importedPlan) carryLimit(name, v *source.Node) bool {
	switch kind := limitOf(name.Text); {
	case kind == limitsNothing || !says(v):
		return false
	case kind == limitsMoney:
		f.limitLost(name.At, name.Text)
	case kind == forbids:
		for _, e := range v.Elements() {
			f.mustNot = append(f.mustNot, f.words(e))
		}
	default:
		f.mustHaves(v)
	}
	return true
}

// carryTaskLimit is like carryLimit, for a field of a task.
func (f *importedPlan) carryTaskLimit(t *importedTask, name string, v *source.Node) bool {
	switch kind := limitOf(name); {
	case kind == limitsNothing || !says(v):
		return false
	case kind == checks:
		for _, c := range v.Elements() {
			f.docCheck(t, c)
		}
	default:
		f.limitLost(v.At, name)
	}
	return true
}

// limitLost reports a limit that no import can carry over.
func (f *importedPlan) limitLost(at source.Location, name string) {
	f.Error(at, plan.CodeNotCarried, "%s is a limit that %s cannot bring into a plan; remove it, import the file, and "+
		"write budget, budgetUSD or mustNot into the result", source.Quote(name), f.form)
}

// words returns any value as a phrase of one line.
func (f *importedPlan) words(v *source.Node) phrase { return phrase{f.inlineText(v), v.At} }
