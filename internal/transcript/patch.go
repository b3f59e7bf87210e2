package transcript

import (
	"cmp"
	"fmt"
	"strings"

	"wavex/internal/jsonobject"
)

// This file finds an agent's edits in the calls and answers of its editing tools. A stream does not
// hold the changes that commands made.

// Change is one edit of one file.
type Change struct {
	Path    string
	Created bool
	Lines   []string // as in a unified diff, with hunk headers
}

// inputChanges reads an edit from a tool call's own input. It is used if the answer has no more
// details.
func inputChanges(block jsonobject.Value) []Change {
	in := block.Get("input")
	path := cmp.Or(in.Get("file_path").Text(), in.Get("notebook_path").Text())
	if path == "" {
		return nil
	}
	c := Change{Path: path}
	switch block.Get("name").Text() {
	case "Write":
		c.Lines = newFileLines(in.Get("content").String())
	case "Edit":
		c.Lines = replacedLines(in)
	case "MultiEdit":
		for _, e := range in.Get("edits").Members() {
			c.Lines = append(c.Lines, replacedLines(e)...)
		}
	case "NotebookEdit":
		c.Lines = append([]string{"@@ cell @@"}, prefixLines("+", in.Get("new_source").String())...)
	default:
		return nil
	}
	return []Change{c}
}

func replacedLines(edit jsonobject.Value) []string {
	out := append([]string{"@@"}, prefixLines("-", edit.Get("old_string").String())...)
	return append(out, prefixLines("+", edit.Get("new_string").String())...)
}

func newFileLines(content string) []string {
	body := prefixLines("+", content)
	return append([]string{fmt.Sprintf("@@ -0,0 +1,%d @@", len(body))}, body...)
}

// answerChanges returns the edits in an answer. claude 2.1.330 puts them into tool_use_result:
// structuredPatch for an existing file, content for a new one.
func answerChanges(told jsonobject.Value, otherwise []Change) []Change {
	path := told.Get("filePath").Text()
	if path == "" {
		return otherwise
	}
	c := Change{Path: path, Created: told.Get("type").Text() == "create"}
	for _, h := range told.Get("structuredPatch").Members() {
		c.Lines = append(c.Lines, fmt.Sprintf("@@ -%d,%d +%d,%d @@", h.Get("oldStart").Int(), h.Get("oldLines").Int(),
			h.Get("newStart").Int(), h.Get("newLines").Int()))
		for _, l := range h.Get("lines").Members() {
			c.Lines = append(c.Lines, l.String())
		}
	}
	if c.Created && len(c.Lines) == 0 {
		c.Lines = newFileLines(told.Get("content").String())
	}
	if len(c.Lines) == 0 {
		return otherwise
	}
	return []Change{c}
}

func prefixLines(sign, text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, l := range lines {
		lines[i] = sign + l
	}
	return lines
}
