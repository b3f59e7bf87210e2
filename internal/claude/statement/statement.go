// Package statement lists what wavex relies on of the claude CLI, and holds verdicts on it.
//
// The CLI has a release a day, so wavex asks for a behaviour and not for a version: each
// behaviour is a Statement with an ID, and Verdicts tell whether it holds on the CLI of a run.
// Verdicts on the tested versions are built in; internal/claude/probe finds out about others.
// The package starts nothing and reads no file.
package statement

import "fmt"

// ID names a statement in verdicts, in messages and in files. It does not change once released.
type ID string

// Kind is what a statement is about. It decides when a statement is probed, and whether a
// failing one may refuse a run.
type Kind string

// The kinds. Statements about money and permission are probed before the first run of a CLI.
const (
	Money      Kind = "money"
	Permission Kind = "permission"
	Other      Kind = "other"
)

// Urgent reports whether statements of the kind are probed before a CLI's first run.
func (k Kind) Urgent() bool { return k == Money || k == Permission }

// Statement is one behaviour that wavex relies on.
type Statement struct {
	ID   ID
	Kind Kind
	Text string // one sentence
	// Fallback says what wavex does where the statement fails or is unknown.
	Fallback string
	// Required says that there is no safe way around: a run is refused where the statement
	// fails. Where it is unknown, the Fallback is taken.
	Required bool

	tested [len(versions)]Verdict // on versions, in their order
}

// Find returns the statement of an ID.
func Find(id ID) (Statement, bool) {
	for _, s := range All() {
		if s.ID == id {
			return s, true
		}
	}
	return Statement{}, false
}

// Verdict tells whether a statement holds on a CLI.
type Verdict int

// The verdicts. The zero value is Unknown: no probe has decided.
const (
	Unknown Verdict = iota
	Holds
	Fails
)

func (v Verdict) String() string {
	switch v {
	case Holds:
		return "holds"
	case Fails:
		return "fails"
	}
	return "unknown"
}

// MarshalText returns the verdict's word.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a verdict's word.
func (v *Verdict) UnmarshalText(text []byte) error {
	for _, w := range []Verdict{Unknown, Holds, Fails} {
		if string(text) == w.String() {
			*v = w
			return nil
		}
	}
	return fmt.Errorf("no verdict: %q", text)
}

// Verdicts holds what is known of one CLI. A missing ID is Unknown, and so is everything in the
// nil map. It must not be changed while it is shared.
type Verdicts map[ID]Verdict

// Holds reports whether the statement is known to hold. A feature that needs it asks this.
func (v Verdicts) Holds(id ID) bool { return v[id] == Holds }

// Fails reports whether the statement is known to fail.
func (v Verdicts) Fails(id ID) bool { return v[id] == Fails }

// Select returns the statements with the given verdict, in the order of the list.
func (v Verdicts) Select(want Verdict) []Statement {
	var out []Statement
	for _, s := range All() {
		if v[s.ID] == want {
			out = append(out, s)
		}
	}
	return out
}
