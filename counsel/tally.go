// This file makes one verdict of several opinions: a pure function that does not depend on their
// order. It makes no calls and knows no case.

package counsel

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// rivalShare: dissent is as strong as the advice if as many experts support it and its best
// weight is at least this share of the leader's.
const rivalShare = 0.75

// Tally returns the verdict of the opinions. It takes the action that most experts want and, of
// its opinions, the largest camp of similar approaches. A tie goes to the most confident and most
// testable opinion (one whose falsifier is concrete). That opinion leads: its words are the
// advice, and its confidence is the verdict's. Agreement is the camp's share of the experts that
// answered. Every other answer is kept as dissent. Opinions keeps the given order; nothing else depends on it.
func Tally(opinions []Opinion) Verdict {
	v := Verdict{Opinions: opinions}
	var answered []Opinion
	for _, o := range opinions {
		v.Cost += o.Cost
		if o.Unavailable == "" {
			answered = append(answered, o)
		}
	}
	if len(answered) == 0 {
		v.Unavailable = whyUnavailable(v.Opinions)
		return v
	}
	slices.SortFunc(answered, compareOpinions)

	camps := groupOpinions(answered)
	camp := camps[0]
	lead := camp[0]
	v.Action, v.Confidence = lead.Action, lead.Confidence
	v.Agreement = float64(len(camp)) / float64(len(answered))

	for _, other := range camps[1:] {
		votes := len(other)
		if other[0].Action != lead.Action {
			votes = count(answered, other[0].Action)
		}
		if votes >= len(camp) && weight(other[0]) >= rivalShare*weight(lead) {
			v.Tradeoff = true
		}
		for _, o := range other {
			v.Dissent = append(v.Dissent, dissentLine(o))
		}
	}
	v.Analysis, v.Fix = analysisText(lead, v.Tradeoff), fixText(lead)
	return v
}

// groupOpinions groups opinions of the same action and similar approaches, the camp to follow first.
// ops and each camp are sorted by better. Likeness counts as transitive, so that the grouping
// does not depend on the order of comparison.
func groupOpinions(ops []Opinion) [][]Opinion {
	label := make([]int, len(ops))
	for i := range ops {
		label[i] = i
	}
	for i := range ops {
		for j := range i {
			if label[i] != label[j] && ops[i].Action == ops[j].Action && similar(ops[i].Approach, ops[j].Approach) {
				from, to := max(label[i], label[j]), min(label[i], label[j])
				for k := range label {
					if label[k] == from {
						label[k] = to
					}
				}
			}
		}
	}
	var camps [][]Opinion
	for l := range ops {
		var camp []Opinion
		for i, o := range ops {
			if label[i] == l {
				camp = append(camp, o)
			}
		}
		if camp != nil {
			camps = append(camps, camp)
		}
	}
	slices.SortStableFunc(camps, func(a, b []Opinion) int {
		if a[0].Action != b[0].Action {
			return cmp.Or(
				cmp.Compare(count(ops, b[0].Action), count(ops, a[0].Action)),
				compareOpinions(firstFor(ops, a[0].Action), firstFor(ops, b[0].Action)))
		}
		return cmp.Or(cmp.Compare(len(b), len(a)), compareOpinions(a[0], b[0]))
	})
	return camps
}

func count(ops []Opinion, a Action) int {
	n := 0
	for _, o := range ops {
		if o.Action == a {
			n++
		}
	}
	return n
}

// firstFor returns the first of sorted opinions that wants the action.
func firstFor(ops []Opinion, a Action) Opinion {
	return ops[slices.IndexFunc(ops, func(o Opinion) bool { return o.Action == a })]
}

// compareOpinions sorts the most confident and most testable opinion first. It is a total order up to
// equal opinions: the milder action, then the texts break ties.
func compareOpinions(a, b Opinion) int {
	return cmp.Or(
		cmp.Compare(weight(b), weight(a)),
		cmp.Compare(b.Confidence, a.Confidence),
		cmp.Compare(a.Action.rank(), b.Action.rank()),
		strings.Compare(a.Expert, b.Expert),
		strings.Compare(a.Approach, b.Approach),
		strings.Compare(a.Diagnosis, b.Diagnosis),
		strings.Compare(a.Cause, b.Cause),
		strings.Compare(a.Falsifier, b.Falsifier))
}

// weight returns the confidence, reduced if nothing could show the opinion to be wrong.
func weight(o Opinion) float64 {
	return o.Confidence * [...]float64{0.5, 0.8, 1}[testable(o.Falsifier)]
}

// testable grades a falsifier: 0 for none, 1 for a vague one, 2 for one that names a thing to
// look at (a command, a file, a value).
func testable(s string) int {
	f := strings.Fields(s)
	if len(f) < 3 {
		return 0
	}
	switch strings.Trim(strings.ToLower(f[0]), ".,:;") {
	case "none", "nothing", "n/a", "unknown", "unsure":
		return 0
	}
	for _, w := range f {
		inner := strings.Trim(w, ".,:;!?()\"'")
		if strings.ContainsFunc(w, unicode.IsDigit) || strings.ContainsAny(w, "`=<>") || strings.Contains(w, "()") ||
			strings.ContainsAny(inner, "/_.") {
			return 2
		}
	}
	return 1
}

func whyUnavailable(ops []Opinion) string {
	if len(ops) == 0 {
		return "nobody was asked"
	}
	var why []string
	for _, o := range ops {
		why = append(why, o.Expert+": "+o.Unavailable)
	}
	slices.Sort(why)
	return oneLine("no expert answered: "+strings.Join(why, "; "), 800)
}
