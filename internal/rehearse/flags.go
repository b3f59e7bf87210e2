package rehearse

// This file parses the CLI's command line as claude 2.1.197 does: the flags, how many values each
// takes, and the messages for mistakes. It does not know the meaning of the flags.

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
	none     arity = iota // --verbose
	one                   // --model M, also if M starts with a dash
	optional              // --resume [U]: a word that does not start with a dash
	many                  // --allowedTools A B: all words up to one that starts with a dash
)

// known lists the flags of the CLI, including hidden ones that wavex may use.
var known = map[string]arity{
	"--print": none, "--verbose": none, "--no-session-persistence": none, "--strict-mcp-config": none,
	"--dangerously-skip-permissions": none, "--allow-dangerously-skip-permissions": none, "--fork-session": none,
	"--bare": none, "--include-partial-messages": none, "--include-hook-events": none, "--replay-user-messages": none,
	"--continue": none, "--disable-slash-commands": none, "--exclude-dynamic-system-prompt-sections": none,
	"--safe-mode": none, "--brief": none, "--ide": none, "--no-chrome": none, "--version": none, "--help": none,
	"--input-format": one, "--output-format": one, "--session-id": one, "--permission-mode": one, "--model": one,
	"--fallback-model": one, "--max-budget-usd": one, "--max-turns": one, "--json-schema": one, "--system-prompt": one,
	"--append-system-prompt": one, "--system-prompt-file": one, "--append-system-prompt-file": one, "--agent": one,
	"--agents": one, "--settings": one, "--setting-sources": one, "--effort": one, "--name": one, "--debug-file": one,
	"--permission-prompt-tool": one, "--plugin-dir": one,
	"--resume": optional, "--debug": optional,
	"--allowedTools": many, "--disallowedTools": many, "--tools": many, "--mcp-config": many, "--add-dir": many,
	"--betas": many,
}

var aliases = map[string]string{"-p": "--print", "-v": "--version", "-h": "--help", "-r": "--resume",
	"-c": "--continue",
	"-d": "--debug", "-n": "--name", "--allowed-tools": "--allowedTools", "--disallowed-tools": "--disallowedTools"}

var choices = map[string][]string{
	"--input-format":    {"text", "stream-json"},
	"--output-format":   {"text", "json", "stream-json"},
	"--permission-mode": {"acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"},
}

// complaint is a refusal in the CLI's own words.
type complaint string

func (c complaint) Error() string { return string(c) }

func complain(format string, args ...any) error { return complaint(fmt.Sprintf(format, args...)) }

// command is a parsed command line.
type command struct {
	given   map[string][]string // by long name; a flag without values has an empty slice
	prompt  string              // the words that belong to no flag
	streams bool                // --input-format stream-json
	cap     budget.USD          // 0: none
	turns   int64               // --max-turns; 0: none
}

func (c *command) has(name string) bool { _, ok := c.given[name]; return ok }

func (c *command) value(name string) string {
	if v := c.given[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// parse reads the arguments. The CLI prints the error's text on stderr.
func parse(args []string) (*command, error) {
	c := &command{given: map[string][]string{}}
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
		if long, ok := aliases[name]; ok {
			name = long
		}
		kind, ok := known[name]
		if !ok {
			return nil, unknownFlag(name)
		}
		vals := []string{}
		switch {
		case hasInline && kind != none:
			vals = append(vals, inline)
		case kind == one:
			if i++; i == len(args) {
				return nil, complain("error: option '%s <value>' argument missing", name)
			}
			vals = append(vals, args[i])
		case kind == optional && i+1 < len(args) && !dashed(args[i+1]):
			i++
			vals = append(vals, args[i])
		case kind == many:
			for i+1 < len(args) && !dashed(args[i+1]) {
				i++
				vals = append(vals, args[i])
			}
			if len(vals) == 0 {
				return nil, complain("error: option '%s <values...>' argument missing", name)
			}
		}
		if allowed := choices[name]; allowed != nil && !slices.Contains(allowed, vals[0]) {
			return nil, complain("error: option '%s' argument '%s' is invalid. Allowed choices are %s.", name, vals[0],
				strings.Join(allowed, ", "))
		}
		c.given[name] = append(c.given[name], vals...)
	}
	c.prompt = strings.Join(words, " ")
	return c, c.check()
}

func dashed(s string) bool { return len(s) > 1 && s[0] == '-' }

func unknownFlag(name string) error {
	near := ""
	for long := range known {
		if strings.HasPrefix(long, name) && (near == "" || long < near) {
			near = long
		}
	}
	if near != "" {
		near = "\n(Did you mean " + near + "?)"
	}
	return complain("error: unknown option '%s'%s", name, near)
}

// check refuses the values and combinations that the CLI refuses.
func (c *command) check() error {
	out := c.value("--output-format")
	c.streams = c.value("--input-format") == "stream-json"
	if s := c.value("--max-budget-usd"); c.has("--max-budget-usd") {
		usd, err := budget.ParseUSD(s)
		if err != nil || usd <= 0 {
			return complain("error: --max-budget-usd must be a positive number greater than 0")
		}
		c.cap = usd
	}
	// The CLI ignores a number of turns that it cannot parse.
	if n, err := strconv.ParseInt(c.value("--max-turns"), 10, 64); err == nil && n > 0 {
		c.turns = n
	}
	if s := c.value("--json-schema"); c.has("--json-schema") && !json.Valid([]byte(s)) {
		return complain("Error: --json-schema is not valid JSON")
	}
	if s := c.value("--session-id"); c.has("--session-id") && uuid.Validate(s) != nil {
		return complain("Error: Invalid session ID. Must be a valid UUID.")
	}
	switch {
	case c.has("--version"):
		return nil
	case out == "stream-json" && !c.has("--verbose"):
		return complain("Error: When using --print, --output-format=stream-json requires --verbose")
	case c.streams && out != "stream-json":
		return complain("Error: --input-format=stream-json requires output-format=stream-json.")
	}
	return nil
}
