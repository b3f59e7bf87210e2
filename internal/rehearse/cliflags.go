package rehearse

// This file parses the flags that wavex gives the CLI, with the CLI's messages for mistakes. It does not know the
// meaning of the flags.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"wavex/budget"
)

type arity int

const (
	noValue    arity = iota // --verbose
	oneValue                // --model M, also if M starts with a dash
	manyValues              // --allowedTools A B: all words up to one that starts with a dash
)

var flagsByArity = [...][]string{
	noValue: {"-p", "--verbose", "--include-partial-messages", "--exclude-dynamic-system-prompt-sections",
		"--no-session-persistence", "--strict-mcp-config", "--version"},
	oneValue: {"--input-format", "--output-format", "--session-id", "--resume", "--permission-mode", "--model",
		"--fallback-model", "--max-budget-usd", "--max-turns", "--json-schema", "--system-prompt",
		"--append-system-prompt", "--system-prompt-file", "--append-system-prompt-file", "--system-prompt-snapshot",
		"--agent", "--settings", "--setting-sources", "--mcp-config"},
	manyValues: {"--allowedTools", "--disallowedTools", "--tools"},
}

// usageErrorf returns a refusal in the CLI's own words.
func usageErrorf(format string, args ...any) error { return fmt.Errorf(format, args...) }

// commandLine is a parsed command line.
type commandLine struct {
	given map[string][]string // a flag without values has an empty slice
	cap   budget.USD          // 0: none
	turns int64               // --max-turns; 0: none
}

func (c *commandLine) has(name string) bool { _, ok := c.given[name]; return ok }

func (c *commandLine) value(name string) string {
	if v := c.given[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// parseArgs reads the arguments. The CLI prints the error's text on stderr.
func parseArgs(args []string) (*commandLine, error) {
	c := &commandLine{given: map[string][]string{}}
	for len(args) > 0 {
		name, values := args[0], 0
		args = args[1:]
		switch arity(slices.IndexFunc(flagsByArity[:], func(list []string) bool { return slices.Contains(list, name) })) {
		case noValue:
		case oneValue:
			values = 1
		case manyValues:
			for values < len(args) && !isFlag(args[values]) {
				values++
			}
		default:
			return nil, usageErrorf("error: unknown option '%s'", name)
		}
		if values > len(args) {
			return nil, usageErrorf("error: option '%s <value>' argument missing", name)
		}
		c.given[name] = append(c.given[name], args[:values]...)
		args = args[values:]
	}
	if s := c.value("--max-budget-usd"); c.has("--max-budget-usd") {
		usd, err := budget.ParseUSD(s)
		if err != nil || usd <= 0 {
			return nil, usageErrorf("error: --max-budget-usd must be a positive number greater than 0")
		}
		c.cap = usd
	}
	// The CLI ignores a number of turns that it cannot parse.
	if n, err := strconv.ParseInt(c.value("--max-turns"), 10, 64); err == nil && n > 0 {
		c.turns = n
	}
	return c, nil
}

func isFlag(s string) bool { return len(s) > 1 && strings.HasPrefix(s, "-") }
