package statement

import (
	"fmt"
	"strings"
)

// Install is the command that installs the CLI. Without a version npm installs 2.1.197 on Node 20, which is too old.
const Install = install + "latest"

const install = "npm install -g @anthropic-ai/claude-code@"

// Refusal returns why no run may use the CLI: a required statement fails, which has no safe
// fallback. It returns "" if there is none. advice tells the user how to fix it.
func (c CLI) Refusal() (why, advice string) {
	for _, s := range c.Support.Select(Fails) {
		if s.Required {
			return fmt.Sprintf("%s does not do what wavex relies on: %s (%s)", c.name(), s.Text, c.Why[s.ID]),
				"install a version that does: " + install + Newest()
		}
	}
	return "", ""
}

// Notice returns a line about the fallbacks in use, at the start that probed the program, or "" if every statement
// holds.
func (c CLI) Notice() string {
	if c.Source != Probed || c.Fallbacks() == "" {
		return ""
	}
	return c.name() + " " + c.VersionStatus() + c.Fallbacks() + "; wavex does without, see: wavex doctor --probe"
}

// Fallbacks names the statements that fail or are unknown, each group after a semicolon; "" if every one holds.
func (c CLI) Fallbacks() (text string) {
	if fail := c.Support.Select(Fails); len(fail) > 0 {
		text += "; does not hold: " + IDs(fail)
	}
	if unknown := c.Support.Select(Unknown); len(unknown) > 0 {
		text += "; not known to hold: " + IDs(unknown)
		if c.Err != nil {
			text += " (" + strings.ReplaceAll(c.Err.Error(), "\n", "; ") + ")"
		}
	}
	return text
}

// VersionStatus says how the version relates to the tested ones.
func (c CLI) VersionStatus() string {
	newest, _ := ParseVersion(Newest())
	switch _, tested := Tested(c.Version.String()); {
	case c.Version == (Version{}):
		return "tells no version"
	case tested && c.Source == BuiltIn:
		return "is a tested version"
	case tested:
		return "tells a tested version, and is not the file that was tested"
	case newest.Less(c.Version):
		return "is newer than any tested version (" + Newest() + ")"
	}
	return "was not tested (" + Oldest() + " and " + Newest() + " were)"
}

func (c CLI) name() string { return strings.TrimSpace("claude " + c.Version.String()) }
