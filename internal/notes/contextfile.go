package notes

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2/maybe"

	"wavex/internal/safefile"
	"wavex/internal/textfmt"
)

// This file reads _context.md and adds entries to its Post-Context. It knows only headings and fences
// of Markdown. It may move existing lines, and never changes them.

// maxContext is the number of bytes that are read of a context file for a prompt.
const maxContext = 1 << 20

// maxContextWrite is the maximum size of a context file to which entries are added, in bytes, because the
// whole file is rewritten.
const maxContextWrite = 64 << 20

// Section is a part of the Post-Context for entries.
type Section string

// The sections.
const (
	Deviations    Section = "Deviations"
	Interventions Section = "Interventions"
)

// Entry is one addition. Key identifies it: an existing entry is not added again.
type Entry struct {
	Section Section
	Lines   []string // of a list
	Key     string
}

// ReadContext returns the text of a tracking directory's context file, or "" if there is none.
func ReadContext(dir string) (string, error) {
	b, err := safefile.ReadHead(filepath.Join(dir, ContextFile), maxContext)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text := strings.TrimPrefix(string(b), "\ufeff")
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\r\n", "\n"), "\ufffd"), nil
}

// AppendEntries adds entries to the context file of a tracking directory, and makes the file if necessary.
// It replaces the file atomically, and does not touch it if no entry is new.
func AppendEntries(dir string, entries []Entry) error {
	path := filepath.Join(dir, ContextFile)
	old, err := safefile.Read(path, maxContextWrite)
	mode := fs.FileMode(0o644)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = []byte("# Conversation Context\n")
	case err != nil:
		return err
	default:
		if st, err := os.Stat(path); err == nil {
			mode = st.Mode().Perm()
		}
	}
	text := insertEntries(string(old), entries)
	if text == string(old) {
		return nil
	}
	if err := safefile.CheckPath(filepath.Dir(path)); err != nil {
		return err
	}
	return maybe.WriteFile(path, []byte(text), mode)
}

// insertEntries returns the text with the entries added.
func insertEntries(text string, entries []Entry) string {
	end := "\n"
	if strings.Contains(text, "\r\n") {
		end = "\r\n"
	}
	lines := strings.SplitAfter(text, "\n")
	if n := len(lines); lines[n-1] == "" {
		lines = lines[:n-1]
	} else {
		lines[n-1] += end
	}
	changed := false
	for _, e := range entries {
		if e.Key != "" && strings.Contains(text, e.marker()) {
			continue
		}
		changed = true
		var own []string
		for i, l := range e.Lines {
			if i == len(e.Lines)-1 && e.Key != "" {
				l += " " + e.marker()
			}
			own = append(own, "- "+l+end)
		}
		lines = insert(lines, string(e.Section), own, end)
	}
	if !changed {
		return text
	}
	return strings.Join(lines, "")
}

// Mark begins the comment at the end of each entry that wavex wrote.
const Mark = "<!-- wavex "

func (e Entry) marker() string { return Mark + e.Key + " -->" }

// insert adds own at the end of a section of the Post-Context. It adds a missing heading of either
// at the end of the document.
func insert(lines []string, section string, own []string, end string) []string {
	post, postEnd := findSection(lines, 0, len(lines), "Post-Context")
	if post < 0 {
		if n := len(lines); n > 0 && strings.TrimSpace(lines[n-1]) != "" {
			lines = append(lines, end)
		}
		lines = append(lines, "## Post-Context"+end)
		post, postEnd = len(lines)-1, len(lines)
	}
	at, atEnd := findSection(lines, post+1, postEnd, section)
	if at < 0 {
		at = trimBlankLines(lines, postEnd)
		head := []string{end, "### " + section + end, end}
		return slices.Insert(lines, at, append(head, own...)...)
	}
	last := trimBlankLines(lines, atEnd)
	if last == at+1 || !strings.HasPrefix(strings.TrimSpace(lines[last-1]), "- ") {
		own = append([]string{end}, own...)
	}
	if last == atEnd && atEnd < len(lines) {
		own = append(own, end)
	}
	return slices.Insert(lines, last, own...)
}

// trimBlankLines returns the end of the text before end, without trailing empty lines.
func trimBlankLines(lines []string, end int) int {
	for end > 0 && strings.TrimSpace(lines[end-1]) == "" {
		end--
	}
	return end
}

// findSection returns the line of a heading between from and to, and the end of its section: the next
// heading of the same or a higher level, or a rule. at is -1 if there is none.
func findSection(lines []string, from, to int, name string) (at, end int) {
	at, level, fence := -1, 0, ""
	for i := from; i < to; i++ {
		l := strings.TrimSpace(lines[i])
		if fence != "" {
			if strings.HasPrefix(l, fence) {
				fence = ""
			}
			continue
		}
		for _, f := range []string{"```", "~~~"} {
			if strings.HasPrefix(l, f) {
				fence = f
			}
		}
		rest := strings.TrimLeft(l, "#")
		n := len(l) - len(rest)
		isHead := n > 0 && n <= 6 && strings.HasPrefix(rest, " ")
		switch {
		case at < 0 && isHead && strings.EqualFold(strings.TrimSpace(rest), name):
			at, level = i, n
		case at >= 0 && (isHead && n <= level || l == "---" || l == "***"):
			return at, i
		}
	}
	return at, to
}

// Excerpt shortens a context for a prompt to at most n bytes: its head and its tail, which has the
// Post-Context.
func Excerpt(text string, n int) string {
	var b bytes.Buffer
	for line := range strings.Lines(text) {
		if i := strings.Index(line, Mark); i >= 0 {
			line = strings.TrimRight(line[:i], " ") + "\n"
		}
		b.WriteString(line)
	}
	return textfmt.HeadTail(strings.TrimSpace(b.String()), n)
}
