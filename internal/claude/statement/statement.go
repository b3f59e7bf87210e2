// Package statement lists the behaviours of the claude CLI that wavex relies on, and the verdicts
// on them. They are about money and permission. Everything else wavex reads as it comes.
//
// The CLI has a release a day, so wavex checks for behaviours and not for versions. Each behaviour
// is a Statement with an ID, and Verdicts say whether it holds on the CLI of a run. Verdicts on the
// tested versions are built in; internal/claude/probe determines those on others. The package
// starts no process and reads no file.
package statement

import (
	"fmt"
	"strings"

	"wavex/internal/jsonobject"
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
	ID   ID
	Kind Kind
	Text string // one sentence
	// Fallback says how wavex behaves if the statement fails or is unknown.
	Fallback string
	// Required means that there is no safe fallback: a run is refused if the statement fails. If it
	// is unknown, the Fallback is used.
	Required bool
}

// IDs returns the ids of statements, separated by commas.
func IDs(list []Statement) string {
	var ids []string
	for _, s := range list {
		ids = append(ids, string(s.ID))
	}
	return strings.Join(ids, ", ")
}

// BareAdvice says why no CLI in bare mode is used, and how to leave it.
const BareAdvice = "the CLI is in bare mode, which keeps the policy on tool calls from working: leave out --bare and " +
	"CLAUDE_CODE_SIMPLE"

// IsBare reports whether an init line is that of a CLI in bare mode. Such a CLI accepts the callbacks for tool calls,
// and asks none. It has few tools, no socket and no memory (observed on claude 2.1.258 and 2.1.332).
func IsBare(init jsonobject.Value) bool {
	tools := string(init.Get("tools"))
	return strings.HasPrefix(tools, `["Bash","Edit","Read"`) && !strings.Contains(tools, "Write") &&
		init.Get("memory_paths") == nil && init.Get("messaging_socket_path") == nil
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
