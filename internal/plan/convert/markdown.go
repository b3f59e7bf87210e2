package convert

// This file splits markdown into lines, and marks lines in code or comments, which cannot be
// headings. It is not a markdown parser: plans need headings, lists and checkboxes.

import (
	"iter"
	"strings"

	"wavex/internal/plan/source"
)

// markdownLine is one line of markdown, without its end.
type markdownLine struct {
	text string
	at   source.Location
	end  source.Location // of the text after it
	code bool            // in a fenced block or a comment, or one of their marks
}

// markdownLines iterates over the lines. It recognises CommonMark fences at the left edge. In a <task> no fence and
// no comment begins: those of an action need not be closed.
func markdownLines(src string) iter.Seq[markdownLine] {
	return func(yield func(markdownLine) bool) {
		fence, comment := "", false
		task := -1 // indentation of the <task> that a line is in; -1: none
		for at := 0; at < len(src); {
			end := len(src)
			if n := strings.IndexByte(src[at:], '\n'); n >= 0 {
				end = at + n + 1
			}
			l := markdownLine{text: strings.TrimRight(src[at:end], "\r\n"), at: source.Location(at),
				end: source.Location(end), code: true}
			mark := fenceMark(l.text)
			switch {
			case comment:
				comment = !strings.Contains(l.text, "-->")
			case fence != "":
				if strings.HasPrefix(mark, fence) && strings.Trim(strings.TrimSpace(l.text), fence[:1]) == "" {
					fence = ""
				}
			case task >= 0 && !isTaskEnd(l.text, task) && !isTasks(l.text):
				l.code = false
				if taskTag(l.text) > 0 && indentation(l.text) <= task {
					task = taskIndentation(l.text)
				}
			case task >= 0 || taskTag(l.text) > 0:
				l.code, task = false, taskIndentation(l.text)
			case mark != "":
				fence = mark
			case strings.HasPrefix(strings.TrimLeft(l.text, " "), "<!--"):
				comment = !strings.Contains(l.text, "-->")
			default:
				l.code = false
			}
			if !yield(l) {
				return
			}
			at = end
		}
	}
}

// taskTag returns the length of a <task ...> at the start of a line, including up to three spaces
// before it; 0 if there is none.
func taskTag(s string) int {
	rest := strings.TrimLeft(s, " ")
	indent := len(s) - len(rest)
	if indent > 3 || !strings.HasPrefix(rest, "<task") || len(rest) < 6 || strings.IndexByte("> \t", rest[5]) < 0 {
		return 0
	}
	n := tagEnd(rest)
	if n < 0 {
		return 0
	}
	return indent + n
}

// tagEnd returns the length of the tag at the start of a text; a > in quotes does not end it.
func tagEnd(s string) int {
	var in byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case in != 0:
			if c == in {
				in = 0
			}
		case c == '"' || c == '\'':
			in = c
		case c == '>':
			return i + 1
		}
	}
	return -1
}

// taskIndentation returns the indentation of a line with a <task ...> that is not closed in it; -1 for others.
func taskIndentation(line string) int {
	if taskTag(line) == 0 || strings.HasSuffix(strings.TrimRight(line, " \t"), "</task>") {
		return -1
	}
	return indentation(line)
}

// isTaskEnd reports whether a line ends the task with an indentation.
func isTaskEnd(line string, indent int) bool {
	return indentation(line) <= indent && strings.TrimRight(strings.TrimLeft(line, " "), " \t") == "</task>"
}

// isTasks reports whether a line is the tag around all tasks.
func isTasks(line string) bool {
	return strings.HasPrefix(line, "<") && strings.Trim(line, "</> \t") == "tasks"
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// afterComment returns the text after the comments of a line in which a comment ends.
func afterComment(line string) string {
	for {
		_, rest, ended := strings.Cut(line, "-->")
		rest = strings.TrimSpace(rest)
		if !ended || !strings.HasPrefix(rest, "<!--") || !strings.Contains(rest, "-->") {
			return rest
		}
		line = rest
	}
}

// fenceMark returns the whole ``` or ~~~ at the start of a line; "" if there is none.
func fenceMark(text string) string {
	s := strings.TrimLeft(text, " ")
	if len(text)-len(s) > 3 || s == "" || s[0] != '`' && s[0] != '~' {
		return ""
	}
	n := len(s) - len(strings.TrimLeft(s, s[:1]))
	if n < 3 || s[0] == '`' && strings.Contains(s[n:], "`") {
		return ""
	}
	return s[:n]
}

// heading returns the level and the text of a heading; level 0 for other lines.
func (l markdownLine) heading() (level int, text string) {
	if l.code {
		return 0, ""
	}
	s := strings.TrimLeft(l.text, "#")
	level = len(l.text) - len(s)
	if level == 0 || level > 6 || s != "" && s[0] != ' ' && s[0] != '\t' {
		return 0, ""
	}
	return level, strings.TrimSpace(strings.TrimRight(strings.TrimSpace(s), "#"))
}

// dedent removes the common indentation and the empty lines at both ends.
func dedent(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	common := -1
	for i, l := range lines {
		if strings.TrimSpace(l) == "" {
			lines[i] = ""
			continue
		}
		n := len(l) - len(strings.TrimLeft(l, " \t"))
		if i == 0 && n == 0 && len(lines) > 1 {
			continue // starts after its tag
		}
		if common < 0 || n < common {
			common = n
		}
	}
	for i, l := range lines {
		lines[i] = l[min(max(common, 0), len(l)-len(strings.TrimLeft(l, " \t"))):]
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// listItem returns the text of a list item behind its checkbox, with its position.
func (l markdownLine) listItem() (p phrase, ok bool) {
	s := strings.TrimLeft(l.text, " \t")
	digits := strings.TrimLeft(s, "0123456789")
	switch {
	case l.code || s == "":
		return p, false
	case len(s) > 1 && strings.ContainsAny(s[:1], "-*+") && (s[1] == ' ' || s[1] == '\t'):
		s = s[1:]
	case len(digits) < len(s) && len(digits) > 1 && (digits[0] == '.' || digits[0] == ')') && digits[1] == ' ':
		s = digits[1:]
	default:
		return p, false
	}
	s = strings.TrimLeft(s, " \t")
	if len(s) >= 3 && s[0] == '[' && s[2] == ']' && strings.ContainsAny(s[1:2], " xX") {
		s = strings.TrimLeft(s[3:], " \t")
	}
	p.at = l.at + source.Location(len(l.text)-len(s))
	p.text = strings.TrimSpace(s)
	return p, p.text != ""
}

// continues reports whether a line belongs to the list item of a line above it.
func (l markdownLine) continues(item markdownLine) bool {
	_, other := l.listItem()
	return !l.code && !other && strings.TrimSpace(l.text) != "" && fenceMark(strings.TrimSpace(l.text)) == "" &&
		len(l.text)-len(strings.TrimLeft(l.text, " \t")) > len(item.text)-len(strings.TrimLeft(item.text, " \t"))
}
