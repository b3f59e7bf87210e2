package support

import (
	"fmt"
	"strings"

	"wavex/internal/claude/statement"
)

// Install is the command that installs the CLI. Without a version npm installs 2.1.197 on Node 20, which is too old.
const Install = install + "latest"

const install = "npm install -g @anthropic-ai/claude-code@"

// Refusal returns why no run may use the CLI: a required statement fails, which has no safe
// fallback. It returns "" if there is none. advice tells the user how to fix it.
func (c CLI) Refusal() (why, advice string) {
	for _, s := range c.Support.Select(statement.Fails) {
		if s.Required {
			return fmt.Sprintf("%s does not do what wavex relies on: %s %s", c.name(), s.Text, c.evidence(s.ID)),
				"install a version that does: " + install + statement.Newest()
		}
	}
	return "", ""
}

// Missing returns the statements that fail or are unknown here and hold on the newest tested
// version or on the version that the program reports.
func (c CLI) Missing() (fail, unknown []statement.Statement) {
	newest, _ := statement.Tested(statement.Newest())
	told, _ := statement.Tested(c.Version.String())
	for _, s := range statement.All() {
		if !newest.Holds(s.ID) && !told.Holds(s.ID) {
			continue
		}
		switch c.Support[s.ID] {
		case statement.Fails:
			fail = append(fail, s)
		case statement.Unknown:
			unknown = append(unknown, s)
		}
	}
	return fail, unknown
}

// Notice returns a line about the fallbacks in use, or "" on a tested version or if every statement
// holds.
func (c CLI) Notice() string {
	fail, unknown := c.Missing()
	if c.Source == BuiltIn || len(fail)+len(unknown) == 0 {
		return ""
	}
	text := c.name() + " " + c.VersionStatus()
	if len(fail) > 0 {
		text += "; does not hold: " + statement.IDs(fail)
	}
	if len(unknown) > 0 {
		text += "; not known to hold: " + statement.IDs(unknown)
		if c.Err != nil {
			text += " (" + oneLine(c.Err) + ")"
		}
	}
	return text + "; wavex does without, see: wavex doctor --probe"
}

// VersionStatus says how the version relates to the tested ones.
func (c CLI) VersionStatus() string {
	oldest, _ := statement.ParseVersion(statement.Oldest())
	newest, _ := statement.ParseVersion(statement.Newest())
	switch _, tested := statement.Tested(c.Version.String()); {
	case c.Version == (statement.Version{}):
		return "tells no version"
	case tested && c.Source == BuiltIn:
		return "is a tested version"
	case tested:
		return "tells a tested version, and is not the file that was tested"
	case newest.Less(c.Version):
		return "is newer than any tested version (" + statement.Newest() + ")"
	case c.Version.Less(oldest):
		return "is older than any tested version (" + statement.Oldest() + ")"
	}
	return "was not tested (" + statement.Oldest() + " and " + statement.Newest() + " were)"
}

func (c CLI) name() string { return strings.TrimSpace("claude " + c.Version.String()) }

func (c CLI) evidence(id statement.ID) string {
	if c.Why[id] == "" {
		return ""
	}
	return "(" + c.Why[id] + ")"
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
