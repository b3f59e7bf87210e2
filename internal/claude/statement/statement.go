// Package statement lists the behaviours of the claude CLI that wavex relies on, and determines which of them hold on
// the CLI of this machine. They are about money and permission. Everything else wavex reads as it comes.
//
// The CLI has a release a day, so wavex checks for behaviours and not for versions. Each behaviour
// is a Statement with an ID, and a SupportSet says whether it holds on a CLI. The sets of the tested versions, as
// published, are built in. Any other program is probed before its first run, and the result is stored in the user's
// cache by the digest of the file and the version that it prints.
//
// A probe runs the CLI itself, in a scratch folder with a scratch configuration, against a scripted
// Messages API on loopback. It needs no network, no login and no money. A verdict needs evidence:
// the requests to the API, the files left behind, the lines printed. If a probe is interrupted by
// its time limit or the end of the CLI, its statements stay unknown.
package statement

import (
	"fmt"
	"strings"
)

// ID names a statement in verdicts, in messages and in files. It is stable across releases.
type ID string

// Kind is the subject of a statement.
type Kind string

// These are the kinds.
const (
	Money      Kind = "money"
	Permission Kind = "permission"
)

// Statement is one behaviour that wavex relies on.
type Statement struct {
	ID       ID     `json:"id"`
	Kind     Kind   `json:"kind"`
	Text     string `json:"text"`     // one sentence
	Fallback string `json:"fallback"` // how wavex behaves if the statement fails or is unknown
	// Required means that there is no safe fallback: a run is refused if the statement fails. If it
	// is unknown, the Fallback is used.
	Required bool `json:"-"`
}

// IDs returns the ids of statements, separated by commas.
func IDs(list []Statement) string {
	var ids []string
	for _, s := range list {
		ids = append(ids, string(s.ID))
	}
	return strings.Join(ids, ", ")
}

// Support says whether a statement holds on a CLI.
type Support int

// These are the verdicts. The zero value is Unknown: no probe has decided.
const (
	Unknown Support = iota
	Holds
	Fails
)

func (v Support) String() string {
	switch v {
	case Holds:
		return "holds"
	case Fails:
		return "fails"
	}
	return "unknown"
}

// MarshalText returns the word for the verdict.
func (v Support) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText parses the word for a verdict.
func (v *Support) UnmarshalText(text []byte) error {
	for _, w := range []Support{Unknown, Holds, Fails} {
		if string(text) == w.String() {
			*v = w
			return nil
		}
	}
	return fmt.Errorf("no verdict: %q", text)
}

// SupportSet holds the verdicts on one CLI. A missing ID is Unknown, as is every ID of the nil map.
// It must not be changed while it is shared.
type SupportSet map[ID]Support
