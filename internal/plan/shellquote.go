package plan

import "strings"

// ShellQuote returns a path as one word of a shell command, for commands that messages propose.
func ShellQuote(path string) string {
	if path != "" && !strings.ContainsAny(path, " \t\n'\"\\$`*?(){}[]<>|&;#~!") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
