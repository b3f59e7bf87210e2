package rehearse

// This file parses the CLI's command line, with its messages for mistakes. It does not know the meaning of the flags.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"wavex/budget"
)

type arity int

const (
	noValue       arity = iota // --verbose
	oneValue                   // --model M, also if M starts with a dash
	optionalValue              // --resume [U]: a word that does not start with a dash
	manyValues                 // --allowedTools A B: all words up to one that starts with a dash
)

// flagsByArity lists the flags of the CLI, including hidden ones that wavex may use.
var flagsByArity = [...][]string{
	noValue: {
		"--print", "--verbose", "--no-session-persistence", "--strict-mcp-config",
		"--dangerously-skip-permissions", "--allow-dangerously-skip-permissions", "--fork-session", "--bare",
		"--include-partial-messages", "--include-hook-events", "--replay-user-messages", "--continue",
		"--disable-slash-commands", "--exclude-dynamic-system-prompt-sections", "--safe-mode", "--brief",
		"--ide", "--no-chrome", "--version", "--help",
	},
	oneValue: {
		"--input-format", "--output-format", "--session-id", "--permission-mode", "--model", "--fallback-model",
		"--max-budget-usd", "--max-turns", "--json-schema", "--system-prompt", "--append-system-prompt",
		"--system-prompt-file", "--append-system-prompt-file", "--agent", "--agents", "--settings",
		"--setting-sources", "--effort", "--name", "--debug-file", "--permission-prompt-tool", "--plugin-dir",
		"--system-prompt-snapshot",
	},
	optionalValue: {"--resume", "--debug"},
	manyValues:    {"--allowedTools", "--disallowedTools", "--tools", "--mcp-config", "--add-dir", "--betas"},
}

var flagAliases = map[string]string{"-p": "--print", "-v": "--version", "-h": "--help", "-r": "--resume",
	"-c": "--continue",
	"-d": "--debug", "-n": "--name", "--allowed-tools": "--allowedTools", "--disallowed-tools": "--disallowedTools"}

var flagChoices = map[string][]string{
	"--input-format":    {"text", "stream-json"},
	"--output-format":   {"text", "json", "stream-json"},
	"--permission-mode": {"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"},
}

// usageError is a refusal in the CLI's own words.
type usageError string

func (c usageError) Error() string { return string(c) }

func usageErrorf(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

// commandLine is a parsed command line.
type commandLine struct {
	given   map[string][]string // by long name; a flag without values has an empty slice
	prompt  string              // the words that belong to no flag
	streams bool                // --input-format stream-json
	cap     budget.USD          // 0: none
	turns   int64               // --max-turns; 0: none
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
	var words []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			words = append(words, args[i+1:]...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			words = append(words, arg)
			continue
		}
		name, inline, hasInline := strings.Cut(arg, "=")
		if long, ok := flagAliases[name]; ok {
			name = long
		}
		kind := arity(slices.IndexFunc(flagsByArity[:], func(list []string) bool { return slices.Contains(list, name) }))
		if kind < 0 {
			return nil, unknownFlag(name)
		}
		vals := []string{}
		switch {
		case hasInline && kind != noValue:
			vals = append(vals, inline)
		case kind == oneValue:
			if i++; i == len(args) {
				return nil, usageErrorf("error: option '%s <value>' argument missing", name)
			}
			vals = append(vals, args[i])
		case kind == optionalValue && i+1 < len(args) && !isFlag(args[i+1]):
			i++
			vals = append(vals, args[i])
		case kind == manyValues:
			for i+1 < len(args) && !isFlag(args[i+1]) {
				i++
				vals = append(vals, args[i])
			}
			if len(vals) == 0 {
				return nil, usageErrorf("error: option '%s <values...>' argument missing", name)
			}
		}
		if allowed := flagChoices[name]; allowed != nil && !slices.Contains(allowed, vals[0]) {
			return nil, usageErrorf("error: option '%s' argument '%s' is invalid. Allowed choices are %s.", name, vals[0],
				strings.Join(allowed, ", "))
		}
		c.given[name] = append(c.given[name], vals...)
	}
	c.prompt = strings.Join(words, " ")
	return c, c.check()
}

func isFlag(s string) bool { return len(s) > 1 && s[0] == '-' }

func unknownFlag(name string) error {
	near := ""
	for _, long := range slices.Sorted(slices.Values(slices.Concat(flagsByArity[:]...))) {
		if strings.HasPrefix(long, name) {
			near = "\n(Did you mean " + long + "?)"
			break
		}
	}
	return usageErrorf("error: unknown option '%s'%s", name, near)
}

// check refuses the values and combinations that the CLI refuses.
func (c *commandLine) check() error {
	out := c.value("--output-format")
	c.streams = c.value("--input-format") == "stream-json"
	if s := c.value("--max-budget-usd"); c.has("--max-budget-usd") {
		usd, err := budget.ParseUSD(s)
		if err != nil || usd <= 0 {
			return usageErrorf("error: --max-budget-usd must be a positive number greater than 0")
		}
		c.cap = usd
	}
	// The CLI ignores a number of turns that it cannot parse.
	if n, err := strconv.ParseInt(c.value("--max-turns"), 10, 64); err == nil && n > 0 {
		c.turns = n
	}
	if s := c.value("--json-schema"); c.has("--json-schema") && !json.Valid([]byte(s)) {
		return usageErrorf("Error: --json-schema is not valid JSON")
	}
	if s := c.value("--session-id"); c.has("--session-id") && uuid.Validate(s) != nil {
		return usageErrorf("Error: Invalid session ID. Must be a valid UUID.")
	}
	switch {
	case c.has("--version"):
		return nil
	case out == "stream-json" && !c.has("--verbose"):
		return usageErrorf("Error: When using --print, --output-format=stream-json requires --verbose")
	case c.streams && out != "stream-json":
		return usageErrorf("Error: --input-format=stream-json requires output-format=stream-json.")
	}
	return nil
}
