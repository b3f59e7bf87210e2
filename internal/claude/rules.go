package claude

import (
	"cmp"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/plan"
	"wavex/runner"
)

// This file knows the CLI's permission rules, as observed on claude 2.1.330 (see
// docs/claude-cli.md for the cases that were tried):
//
//   - Bash(TEXT) allows the command line TEXT, exactly, also when it is composed with
//     &&, ||, ; or line ends, and then not its parts alone.
//   - A pipeline is split at each |, and every part needs a rule of its own.
//   - * in TEXT is a wildcard for the arguments of one command; no escape makes it literal.
//     A final :* allows every longer command.
//   - Backslash and parentheses in TEXT are written with a backslash before them.
//   - Blanks around the command are not part of it.

// checkRules returns the rules that allow the commands of a task's own checks, and as little else
// as the CLI's rule syntax can express.
func checkRules(checks []plan.Check) []string {
	var rules []string
	add := func(command string) {
		command = strings.TrimSpace(command)
		if rule := bashRule(command); command != "" && ruleIsNarrow(command) && !slices.Contains(rules, rule) {
			rules = append(rules, rule)
		}
	}
	for _, c := range checks {
		add(c.Run)
		if parts := pipeline(c.Run); len(parts) > 1 {
			for _, p := range parts {
				add(p)
			}
		}
	}
	return rules
}

// ruleIsNarrow reports whether a rule for the command allows little more than the command. A wildcard
// among the arguments is the user's own pattern, but one in the program's name, or the prefix form,
// would allow other programs.
func ruleIsNarrow(command string) bool {
	program, _, _ := strings.Cut(command, " ")
	return !strings.Contains(program, "*") && !strings.HasSuffix(command, ":*")
}

// bashRule returns the rule that allows a command line, as --allowedTools takes it.
func bashRule(command string) string {
	return "Bash(" + ruleEscapes.Replace(strings.TrimSpace(command)) + ")"
}

var ruleEscapes = strings.NewReplacer(`\`, `\\`, `(`, `\(`, `)`, `\)`)

// isSingleRule reports whether a text is a single rule with a specifier, Tool(...), and not a list.
func isSingleRule(s string) bool {
	open := strings.IndexByte(s, '(')
	if open <= 0 || !strings.HasSuffix(s, ")") || strings.ContainsAny(s[:open], ", \t") {
		return false
	}
	depth := 0
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 && i < len(s)-1 {
				return false
			}
		}
	}
	return depth == 0
}

// pipeline splits a command line at its pipes like the CLI: not inside quotes, parentheses or
// substitutions, and not at ||.
func pipeline(command string) []string {
	var parts []string
	depth, begin := 0, 0
	for i := 0; i < len(command); i++ {
		switch command[i] {
		case '\\':
			i++
		case '\'', '"', '`':
			i = closingQuote(command, i)
		case '(', '{':
			depth++
		case ')', '}':
			depth--
		case '|':
			switch {
			case i+1 < len(command) && command[i+1] == '|':
				i++
			case i > 0 && command[i-1] == '>': // the >| of a redirection
			case depth == 0:
				parts = append(parts, command[begin:i])
				if i+1 < len(command) && command[i+1] == '&' {
					i++
				}
				begin = i + 1
			}
		}
	}
	return append(parts, command[begin:])
}

// closingQuote returns the index of the quote that closes the one at i, or of the end.
func closingQuote(s string, i int) int {
	for q := s[i]; i+1 < len(s); {
		i++
		if s[i] == '\\' && q != '\'' {
			i++
		} else if s[i] == q {
			break
		}
	}
	return i
}

// denials returns the rules that would allow the tool calls that the CLI denied, each once, and why they would not.
// granted are the rules that the agent already had, deny those that win over them; dir is the agent's directory.
func denials(refused []denial, granted []string, deny []denyRule, dir string) (out []runner.Denial) {
	for _, r := range refused {
		by, left := deniedBy(deny, r), leftFor(dir, r)
		for _, rule := range rulesFor(r) {
			d := runner.Denial{Tool: r.tool, Rule: rule, Kind: toolKind(r.tool), By: by, Left: left}
			if slices.Contains(granted, rule) {
				d.Rule = r.tool // denied in spite of its own rule: only a rule for the whole tool helps
			}
			if slices.Contains(granted, d.Rule) {
				d.Rule = "" // neither does that: a hook denied it, or the CLI itself
			}
			if !slices.Contains(out, d) {
				out = append(out, d)
			}
		}
	}
	return out
}

// toolKind returns how a tool changes files; "" for tools of MCP servers.
func toolKind(tool string) runner.ToolKind {
	switch tool {
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		return runner.EditTool
	case "Bash":
		return runner.CommandTool
	}
	return ""
}

// rulesFor returns the rules that together allow one tool call.
func rulesFor(r denial) []string {
	command := r.input.Get("command").Text()
	if r.tool != "Bash" || strings.TrimSpace(command) == "" {
		return []string{allowRule(r)}
	}
	if needsWholeTool(command) {
		return []string{r.tool}
	}
	var rules []string
	for _, part := range pipeline(command) {
		if strings.TrimSpace(part) != "" {
			rules = append(rules, bashRule(part))
		}
	}
	return rules
}

// allowRule returns the narrowest rule that allows a call of a tool other than Bash.
func allowRule(r denial) string {
	path := cmp.Or(r.input.Get("file_path").Text(), r.input.Get("notebook_path").Text())
	switch {
	case path != "" && toolKind(r.tool) == runner.EditTool: // Edit rules cover them all
		return "Edit(" + pathRule(path) + ")"
	case path != "" && r.tool == "Read":
		return "Read(" + pathRule(path) + ")"
	case r.tool == "WebFetch":
		if u, err := url.Parse(r.input.Get("url").Text()); err == nil && u.Hostname() != "" {
			return "WebFetch(domain:" + u.Hostname() + ")"
		}
	}
	return r.tool
}

// pathRule returns a path in the form of a rule: an absolute path begins with //.
func pathRule(path string) string {
	if p := filepath.ToSlash(path); filepath.IsAbs(path) {
		return "//" + strings.TrimPrefix(p, "/")
	}
	return filepath.ToSlash(path)
}

// needsWholeTool reports whether a command uses a form that the CLI allows only with a rule for the
// whole tool: subshells, groups, background jobs, process substitution.
func needsWholeTool(command string) bool {
	c := strings.TrimSpace(command)
	if strings.HasPrefix(c, "(") || strings.HasPrefix(c, "{") || strings.Contains(c, "<(") || strings.Contains(c, ">(") {
		return true
	}
	for i := 0; i < len(c); i++ {
		switch c[i] {
		case '\\':
			i++
		case '\'', '"', '`':
			i = closingQuote(c, i)
		case '&':
			if i+1 < len(c) && (c[i+1] == '&' || c[i+1] == '>') {
				i++
			} else if i == 0 || c[i-1] != '>' && c[i-1] != '<' && c[i-1] != '|' {
				return true
			}
		}
	}
	return false
}
