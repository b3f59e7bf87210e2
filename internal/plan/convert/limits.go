package convert

// This file keeps the limits of foreign files: money, must-nots and checks. An importer that cannot carry
// one over refuses the file, because a run without it would do more than its author allowed.

import (
	"slices"
	"strings"
	"unicode"

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

// limitOf returns the kind of limit that the words of a name stand for: max_cost, "Max Cost" and maxCost are the same.
// A cost without a maximum is not a limit, because tools record the cost of a task this way.
func limitOf(name string) limit {
	words := nameWords(name)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(words, " "+p+" ") })
	}
	switch strings.TrimSpace(words) {
	case "limit", "limits":
		return limitsMoney
	case "never", "dont", "donts":
		return forbids
	case "check", "test", "tests", "verify", "verification", "verifications", "validation", "acceptance", "must have",
		"verification checklist", "must haves", "musthaves", "acceptancecriteria":
		return checks
	}
	switch {
	case has("estimate", "estimated", "token", "tokens", "context"):
	case has("budget", "budgets", "maxcost", "maxspend", "costlimit", "spendlimit", "maxbudget"),
		has("max", "maximum", "limit", "limits", "cap") &&
			has("cost", "costs", "usd", "dollar", "dollars", "spend", "spending"):
		return limitsMoney
	}
	switch {
	case has("must not", "must nots", "mustnot", "must never", "do not", "donot", "forbid", "forbids", "forbidden",
		"prohibit", "prohibits", "prohibited", "prohibition", "prohibitions"):
		return forbids
	case strings.HasSuffix(words, " checks "), strings.HasSuffix(words, " criteria "):
		return checks
	}
	return limitsNothing
}

// nameWords returns the words of a name in lower case, each between two blanks.
func nameWords(name string) string {
	var b strings.Builder
	letters := []rune(strings.NewReplacer("'", "", "’", "").Replace(name))
	for i, c := range letters {
		begins := i > 0 && unicode.IsLower(letters[i-1]) || // maxCost; USDLimit, but NOTs is one word
			i+2 < len(letters) && unicode.IsLower(letters[i+1]) && unicode.IsLower(letters[i+2])
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c):
			c = ' '
		case unicode.IsUpper(c) && begins:
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return " " + strings.Join(strings.Fields(b.String()), " ") + " "
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
	case kind == limitsNothing || !says(v) && (kind != checks || v.Kind == source.KindBool):
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
