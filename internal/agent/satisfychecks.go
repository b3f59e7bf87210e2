package agent

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"wavex/internal/plan"
	"wavex/internal/rehearse"
	"wavex/internal/textfmt"
)

// This file makes the instructions of the rehearsal agent for a plan without any block. The agent then makes the
// declared files and makes simple checks true. It cannot do the work, so the other checks decide as always.

// madeUp holds the made-up work of one task.
type madeUp struct {
	paths   []string            // in the order of their first mention
	lines   map[string][]string // of the paths
	unknown []string            // checks that it cannot make true
}

// makeUp returns the made-up work of a task.
func makeUp(t *plan.Task) madeUp {
	m := madeUp{lines: map[string][]string{}}
	for _, f := range t.Files {
		if f.Writes() && f.Action != "delete" {
			m.add(f.Path)
		}
	}
	for i := range t.Verify {
		if c := &t.Verify[i]; !m.satisfy(c) {
			name := c.Run
			if name == "" {
				name = c.File + " matches " + c.Matches
			}
			m.unknown = append(m.unknown, name)
		}
	}
	return m
}

// add adds a file with lines that it shall have. It reports false if the agent would not write the path.
func (m *madeUp) add(path string, lines ...string) bool {
	if !filepath.IsLocal(filepath.FromSlash(path)) || strings.ContainsAny(path, "*?[") || strings.HasSuffix(path, "/") ||
		filepath.Clean(path) == "." {
		return false
	}
	if !slices.Contains(m.paths, path) {
		m.paths = append(m.paths, path)
	}
	m.lines[path] = append(m.lines[path], lines...)
	return true
}

// satisfy adds the file and the line that make a check true. It reports false if it does not know how.
func (m *madeUp) satisfy(c *plan.Check) bool {
	switch {
	case c.Matches != "":
		line, ok := literal(c.Matches)
		return ok && m.add(c.File, line)
	case c.Contains != "":
		return m.add(c.File, c.Contains)
	case c.File != "":
		return m.add(c.File)
	}
	for part := range strings.SplitSeq(c.Run, "&&") {
		if !m.satisfyCommand(strings.TrimSpace(part)) {
			return false
		}
	}
	return true
}

// commandWord matches a word of a plain command: quoted text without expansions, or text without meaning to the
// shell.
var commandWord = textfmt.Pattern(`^(?:'([^']*)'|"([^"$\x60\\]*)"|([^\s'"$\x60\\|&;<>()*?!~{}#]+))(?:\s+|$)`)

// words returns the words of a command that the shell would take as they are, or nil.
func words(command string) (out []string) {
	for command != "" {
		m := commandWord().FindStringSubmatch(command)
		if m == nil {
			return nil
		}
		out = append(out, m[1]+m[2]+m[3])
		command = command[len(m[0]):]
	}
	return out
}

// satisfyCommand is satisfy for true, test -f, -e and -s, and grep for a plain text in one file.
func (m *madeUp) satisfyCommand(command string) bool {
	w := words(command)
	switch {
	case len(w) == 1 && (w[0] == "true" || w[0] == ":"):
		return true
	case len(w) == 4 && w[0] == "[" && w[3] == "]":
		w = []string{"test", w[1], w[2]}
	}
	switch {
	case len(w) == 3 && w[0] == "test" && slices.Contains([]string{"-f", "-e", "-s", "-r", "-w"}, w[1]):
		return m.add(w[2])
	case len(w) == 4 && w[0] == "grep" && strings.Trim(w[1], "-qsFEeix") == "" && strings.HasPrefix(w[1], "-"):
		w = slices.Delete(w, 1, 2)
	case len(w) != 3 || w[0] != "grep":
		return false
	}
	line, ok := literal(w[1])
	return ok && m.add(w[2], line)
}

// literal returns the text that a pattern matches if it is plain but for anchors.
func literal(pattern string) (string, bool) {
	text := strings.TrimSuffix(strings.TrimPrefix(pattern, "^"), "$")
	return text, text != "" && !strings.ContainsAny(text, `\+*?()|[]{}^$`)
}

// block returns the block of the agent, or nil if it makes nothing up.
func (m *madeUp) block() json.RawMessage {
	if len(m.paths) == 0 {
		return nil
	}
	var b rehearse.Block
	for _, path := range m.paths {
		fill := append([]string{}, m.lines[path]...) // never nil: an empty one makes the file, too
		b.Writes = append(b.Writes, rehearse.Write{Path: rehearse.LocalPath(path), Fill: fill})
	}
	if len(m.unknown) > 0 {
		text := "This was a rehearsal: no model was asked. I made up the files, and do not know how to make true: " +
			strings.Join(m.unknown, "; ") + ". A rehearse block of the task can say how."
		b.Report = &text
	}
	out, err := json.Marshal(b)
	if err != nil {
		return nil // plain data: it cannot fail
	}
	return out
}
