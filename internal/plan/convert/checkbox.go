package convert

import (
	"strings"

	"wavex/internal/plan/source"
)

// listItem returns the text of a list item with its position, and whether it has a checkbox and a tick.
func (l markdownLine) listItem() (p phrase, box, ticked, ok bool) {
	s := strings.TrimLeft(l.text, " \t")
	digits := strings.TrimLeft(s, "0123456789")
	switch {
	case l.code || s == "":
		return p, false, false, false
	case len(s) > 1 && strings.ContainsAny(s[:1], "-*+") && (s[1] == ' ' || s[1] == '\t'):
		s = s[1:]
	case len(digits) < len(s) && len(digits) > 1 && (digits[0] == '.' || digits[0] == ')') && digits[1] == ' ':
		s = digits[1:]
	default:
		return p, false, false, false
	}
	s = strings.TrimLeft(s, " \t")
	if len(s) >= 3 && s[0] == '[' && s[2] == ']' && strings.ContainsAny(s[1:2], " xX") {
		box, ticked = true, s[1] != ' '
		s = strings.TrimLeft(s[3:], " \t")
	}
	p.at = l.at + source.Location(len(l.text)-len(s))
	p.text = strings.TrimSpace(s)
	return p, box, ticked, p.text != ""
}
