package convert

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/plan/source"
)

// This file reads key links: rows of a table, lines with arrows, objects. They also stay in the
// words of the request, for the agents; `wavex verify` checks those between two files.

// link is one key link between files.
type link struct {
	at            source.Location
	from, to, why string
}

// parseLinks returns the links of one line: a row of a table, or names with arrows between them. ok is
// false if the line has another form.
func parseLinks(at source.Location, line string) (out []link, ok bool) {
	line = strings.TrimLeft(strings.TrimSpace(line), "-* ")
	why := ""
	var names []string
	if strings.HasPrefix(line, "|") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) < 2 {
			return nil, false
		}
		names = cells[:2]
		why = strings.TrimSpace(strings.Join(cells[2:], "|"))
	} else {
		if k := strings.LastIndex(line, " ("); k > 0 && strings.HasSuffix(line, ")") {
			line, why = line[:k], line[k+2:len(line)-1]
		}
		names = strings.Split(strings.ReplaceAll(strings.ReplaceAll(line, "=>", "->"), "→", "->"), "->")
	}
	if len(names) < 2 {
		return nil, false
	}
	for i := range names {
		if names[i] = projectPath(names[i]); names[i] == "" {
			return nil, false
		}
		if i > 0 && names[i-1] != names[i] {
			out = append(out, link{at, names[i-1], names[i], why})
		}
	}
	return out, len(out) > 0
}

// projectPath returns a text as the path of a file in the project; "" if it is not one.
func projectPath(s string) string {
	s = path.Clean(strings.Trim(strings.TrimSpace(s), "`\"'"))
	if strings.ContainsAny(s, " \t<>:*?|\\") || !strings.Contains(path.Base(s), ".") ||
		!filepath.IsLocal(filepath.FromSlash(s)) || s == "." {
		return ""
	}
	return s
}

// linkRows reads the lines of a section. It reports the lines that are not links once.
func (f *importedPlan) linkRows(at source.Location, body string) {
	rest := 0
	for i, line := range strings.Split(body, "\n") {
		text := strings.TrimSpace(line)
		rule := strings.Trim(text, "|-: \t") == ""
		if text == "" || rule || i == 0 && strings.HasPrefix(text, "|") && strings.Contains(strings.ToLower(text), "from") {
			continue
		}
		if links, ok := parseLinks(at, text); ok {
			f.links = append(f.links, links...)
		} else {
			rest++
		}
	}
	f.warnLooseLinks(at, rest)
}

// warnLooseLinks reports key links that are not between files.
func (f *importedPlan) warnLooseLinks(at source.Location, n int) {
	if n > 0 {
		f.Warn(at, plan.CodeNotCarried, "%s not between two files and became words of the request; nothing checks them",
			map[bool]string{true: "a key link is", false: fmt.Sprintf("%d key links are", n)}[n == 1])
	}
}

// node returns the link in the form of a plan.
func (l link) node() *source.Node {
	why := phrase{clipText(strings.Join(strings.Fields(l.why), " "), 300), l.at}
	return source.Object(l.at).Set("from", source.Text(l.from, l.at)).Set("to", source.Text(l.to, l.at)).
		Set("why", why.node())
}
