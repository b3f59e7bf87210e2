package cmd

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"wavex/internal/plan"
	"wavex/internal/textfmt"
)

// This file writes a plan's graph for programs that draw. A task's subject may hold any text; it
// must not end a label or be read as markup.

// Sizes of a task's box, in terminal columns.
const (
	maxSubjectColumns = 120
	labelColumns      = 36
)

// label returns the escaped lines in a task's box: its id, and its subject wrapped to the width of a box.
func label(t *plan.Task, escape func(line string) string, lineBreak string) string {
	out := []string{textfmt.Line(t.ID)}
	line := ""
	for _, w := range strings.Fields(textfmt.Fit(t.Title(), maxSubjectColumns, false)) {
		if line != "" && textfmt.Width(line)+1+textfmt.Width(w) > labelColumns {
			out, line = append(out, line), ""
		}
		line = strings.TrimSpace(line + " " + w)
	}
	if line != "" && line != out[0] {
		out = append(out, line)
	}
	for i, l := range out {
		out[i] = escape(l)
	}
	return strings.Join(out, lineBreak)
}

func graphDot(w io.Writer, p *plan.Plan) {
	fmt.Fprintln(w, "digraph plan {\n  rankdir=LR;\n  node [shape=box];")
	for n, tasks := range p.TasksByWave() {
		fmt.Fprintf(w, "  { rank=same; // wave %d\n", n+1)
		for _, i := range tasks {
			text := label(&p.Tasks[i], func(l string) string { return dotText(strings.ReplaceAll(l, "&", "&amp;")) }, `\n`)
			fmt.Fprintf(w, "    \"%s\" [label=\"%s\"];\n", dotText(p.Tasks[i].ID), text)
		}
		fmt.Fprintln(w, "  }")
	}
	for i := range p.Tasks {
		for _, b := range plan.IDs(p, p.Graph.Blockers(i)) {
			fmt.Fprintf(w, "  \"%s\" -> \"%s\";\n", dotText(b), dotText(p.Tasks[i].ID))
		}
	}
	fmt.Fprintln(w, "}")
}

// dotText escapes s for a quoted string in DOT. Only a quote ends the string; labels have escapes
// of their own (\n, \l, \N), so a backslash is doubled. Everything else is literal, except that
// labels know the entities of HTML.
func dotText(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
}

func graphMermaid(w io.Writer, p *plan.Plan) {
	fmt.Fprintln(w, "flowchart LR")
	for n, tasks := range p.TasksByWave() {
		if len(tasks) == 0 {
			continue
		}
		fmt.Fprintf(w, "  subgraph wave%d[wave %d]\n", n+1, n+1)
		for _, i := range tasks {
			fmt.Fprintf(w, "    n%d[\"%s\"]\n", i, label(&p.Tasks[i], mermaidText, "<br/>"))
		}
		fmt.Fprintln(w, "  end")
	}
	for i := range p.Tasks {
		for _, b := range p.Graph.Blockers(i) {
			fmt.Fprintf(w, "  n%d --> n%d\n", b, i)
		}
	}
}

// mermaidText escapes a line for a quoted label in Mermaid. Mermaid reads more into labels than its
// grammar says: entities (#quot;), HTML, directives (%%{...}%%), formulas ($$), styles (a line with
// "style", a colon and an entity loses its last semicolon), and markdown, so that "1. Do it" is an
// unsupported list. So mermaidText writes everything but letters, digits and plain punctuation as
// an entity, and also the characters that make a list at the start of a line.
func mermaidText(line string) string {
	var b strings.Builder
	// Entities do not prevent formulas or the line break \n; a zero-width space does.
	line = strings.NewReplacer("$$", "$\u200b$", `\n`, "\\\u200bn").Replace(line)
	list := true // so far the line has only characters of a list number
	for i, r := range line {
		plain := unicode.IsLetter(r) || unicode.IsDigit(r) || r == ' ' || r > unicode.MaxASCII ||
			strings.ContainsRune("-.,/='()!?@", r)
		if i == 0 && r == '-' || list && i > 0 && (r == '.' || r == ')') {
			plain = false
		}
		list = list && unicode.IsDigit(r)
		if plain {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}
