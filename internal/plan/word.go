package plan

import "strings"

// Word returns a path as one word of a shell command, for commands that messages propose.
func Word(path string) string {
	if path != "" && !strings.ContainsAny(path, " \t\n'\"\\$`*?(){}[]<>|&;#~!") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
