package request

// This file reads the key "verification" of SHAPE.md, which assigns evidence to criteria: by their texts, or in
// their order. It knows nothing of the rest of the file.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// assignment is the evidence of one criterion, which is named by its text or by its number.
type assignment struct {
	criterion string // "": the criterion with the index
	index     int
	Item      // without a text
}

// assignments is the value of the key: a mapping from criteria, or a list.
type assignments []assignment

// UnmarshalYAML reads either form. An entry of a list is a kind of evidence, a mapping with type and run for the
// criterion at its place or for the one that it names, or a pair of a criterion and its evidence in either order.
func (a *assignments) UnmarshalYAML(read func(any) error) error {
	var named map[string]entry
	if read(&named) == nil {
		for name, e := range named {
			a.assign(name, e)
		}
		return nil
	}
	var list []listedEvidence
	if err := read(&list); err != nil {
		return verificationError(oneLine(err.Error()))
	}
	for i, l := range list {
		if l.problem != "" {
			return verificationError(fmt.Sprintf("entry %d %s", i+1, l.problem))
		}
		if l.pair == "" {
			*a = append(*a, assignment{l.Text, i, Item{Verification: l.Verification, Run: l.Run}})
		} else {
			a.assign(l.pair, l.entry)
		}
	}
	return nil
}

// assign adds the evidence of a criterion. The key may also be the kind, and the value the criterion.
func (a *assignments) assign(key string, e entry) {
	criterion := key
	kind := cmp.Or(e.Verification, e.Text)
	if isKind(key) && !isKind(kind) {
		criterion, kind = kind, key
	}
	*a = append(*a, assignment{criterion: criterion, Item: Item{Verification: kind, Run: e.Run}})
}

// listedEvidence is an entry of a list. pair is the key of an entry that has only one and that is no field.
type listedEvidence struct {
	entry
	pair    string
	problem string
}

// UnmarshalYAML reads a text, a mapping with fields, or a pair.
func (l *listedEvidence) UnmarshalYAML(read func(any) error) error {
	var text string
	if read(&text) == nil {
		l.Verification = text
		return nil
	}
	var pair map[string]entry
	if read(&pair) == nil && len(pair) == 1 {
		for key, e := range pair {
			if !slices.Contains([]string{"text", "criterion", "verification", "type", "tier", "run", "command"}, key) {
				l.pair, l.entry = key, e
				return nil
			}
		}
	}
	if read(&l.entry) != nil {
		l.problem = "is neither a text nor a mapping"
	}
	return nil
}

// apply gives the evidence to criteria. all lists the criteria of the file; own counts those before the block of the
// key, whose list is in the order of the criteria that follow.
func (a assignments) apply(all []Item, own int) error {
	for _, as := range a {
		i := own + as.index
		if as.criterion != "" {
			i = slices.IndexFunc(all, func(c Item) bool { return oneLine(c.Text) == oneLine(as.criterion) })
		}
		kind := oneLine(as.Verification)
		switch {
		case i < 0:
			return verificationError(fmt.Sprintf("%q is no criterion", oneLine(as.criterion)))
		case kind != "" && !isKind(kind):
			return verificationError(fmt.Sprintf("%q is no kind of evidence", kind))
		case i >= len(all):
			return verificationError(fmt.Sprintf("entry %d has no criterion at its place", as.index+1))
		}
		c := &all[i]
		c.Verification = cmp.Or(c.Verification, as.Verification)
		c.Run = cmp.Or(c.Run, as.Run)
	}
	return nil
}

func isKind(s string) bool { return slices.Contains(evidenceKinds, strings.ToLower(oneLine(s))) }

func verificationError(problem string) error {
	return shapeProblem("verification: " + problem + "; write criteria with their evidence, which is one of: " +
		strings.Join(evidenceKinds, ", "))
}
