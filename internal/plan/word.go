package plan

import "strings"

// Word is a path as one word of a shell's command line, for commands that messages propose.
func Word(path string) string {
	if path != "" && !strings.ContainsAny(path, " \t\n'\"\\$`*?(){}[]<>|&;#~!") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
