package textfmt

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Wrap breaks a text at its blanks into lines of at most columns. It breaks a word only if the word
// is wider than a line. It returns at least one line.
func Wrap(text string, columns int) []string {
	columns = max(columns, 2) // no character is wider
	var lines []string
	line, wide := "", 0
	for _, word := range strings.Fields(text) {
		w := Width(word)
		if line != "" && wide+1+w <= columns {
			line, wide = line+" "+word, wide+1+w
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for w > columns {
			head, rest := splitWord(word, columns)
			lines = append(lines, head)
			word, w = rest, Width(rest)
		}
		line, wide = word, w
	}
	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}
	return lines
}

// splitWord returns the part at the front of a word that fits, at least one character, and the rest.
func splitWord(word string, columns int) (head, rest string) {
	rest = word
	for wide, state := 0, -1; rest != ""; {
		cluster, after, w, next := uniseg.FirstGraphemeClusterInString(rest, state)
		if wide+w > columns && head != "" {
			break
		}
		head += cluster
		rest = after
		wide += w
		state = next
	}
	return head, rest
}
