package lint

import (
	"regexp"
	"strings"
)

const maxDocLine = 100 // columns

var (
	// blockStart matches a line that begins a paragraph of its own: a heading, a list item or a quotation.
	blockStart = regexp.MustCompile(`^\s*(?:#+\s|[-*+]\s|\d+[.)]\s|>)`)
	marker     = regexp.MustCompile(`^\s*(?:#+|[-*+]|\d+[.)]|>)\s*`)
	// reference matches a link definition, which cannot be wrapped.
	reference = regexp.MustCompile(`^\s*\[[^\]]+\]:\s`)
)

// isDoc reports whether path is documentation that people read on its own. Markdown elsewhere, such as prompts
// and profiles, is program text.
func isDoc(path string) bool {
	if !strings.HasSuffix(path, ".md") {
		return false
	}
	path = strings.TrimPrefix(path, "fleet/")
	return !strings.Contains(path, "/") || strings.HasPrefix(path, "docs/") || strings.HasPrefix(path, "changes/")
}

// readDoc counts one Markdown file into d. Code, fenced or indented, is not prose.
func (d *directory) readDoc(path string, src []byte) {
	lines := strings.Split(string(src), "\n")
	var p paragraph
	end := func() {
		d.readParagraph(path, p, lines)
		p = paragraph{}
	}
	fence, blank, inList := "", true, false
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		if mark := fenceOf(trimmed); mark != "" && (fence == "" || fence == mark) {
			end()
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
			continue
		}
		if fence != "" {
			continue
		}
		indented := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
		switch {
		case trimmed == "":
			end()
			blank = true
			continue
		case indented && !inList && (blank || len(p.lines) == 0):
			continue
		}
		table := strings.HasPrefix(trimmed, "|")
		if blockStart.MatchString(line) {
			end()
			inList = !strings.HasPrefix(trimmed, "#") && !strings.HasPrefix(trimmed, ">")
		} else if blank && !indented && !strings.HasPrefix(line, "  ") {
			inList = false
		}
		if table {
			end()
		}
		blank = false
		if len(p.lines) == 0 {
			p.first = i + 1
		}
		p.lines = append(p.lines, marker.ReplaceAllString(line, ""))
		if width(line) > maxDocLine && !table && !reference.MatchString(line) {
			d.add(fault{path, i + 1, long, line})
		}
	}
	end()
}

// fenceOf returns the characters that open or close a fenced block on this line, empty for any other line.
func fenceOf(line string) string {
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(line, mark) {
			return mark
		}
	}
	return ""
}
