package doctor

import (
	"fmt"

	"wavex/internal/claude/statement"
	"wavex/internal/claude/support"
)

// Statements reports whether the CLI behaves as wavex requires. It fails if the CLI must not be
// used, and warns if wavex uses a fallback.
func Statements(c support.CLI) Check {
	const name = "statements"
	if why, advice := c.Refusal(); why != "" {
		return failCheck(name, why, advice)
	}
	fail, unknown := c.Missing()
	all := len(statement.All())
	if c.Source == support.BuiltIn {
		return okCheck(name, fmt.Sprintf("what wavex relies on was tested on this version (%d statements)", all))
	}
	text := fmt.Sprintf("the program %s; of %d statements %d hold, %d are unknown", c.VersionStatus(), all,
		len(c.Support.Select(statement.Holds)), len(c.Support.Select(statement.Unknown)))
	switch {
	case len(fail)+len(unknown) == 0:
		return okCheck(name, text)
	case len(fail) > 0:
		text += "; does not hold: " + statement.IDs(fail)
	}
	return warnCheck(name, text, "see wavex doctor --probe; wavex does without what does not hold")
}
