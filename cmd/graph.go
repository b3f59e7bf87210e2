package cmd

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/textfmt"
)

type graphOptions struct{ format string }

func newGraph(std Stdio) *cobra.Command {
	var o graphOptions
	c := &cobra.Command{
		Use:   "graph [PLAN]",
		Short: "Print a plan's graph as text, DOT, Mermaid or JSON",
		Long: `graph prints the tasks of a plan (without PLAN: plan.json, plan.yaml or
plan.yml, whichever is here) with their subjects and their blockedBy edges, laid
out in waves. A plan with mistakes (a cycle, an unknown blocker) is refused with
its diagnostics. Mermaid is what GitHub draws in a block of Markdown.

Exit status: 0 printed, 2 the plan has mistakes.`,
		Example: "  wavex graph plan.json\n  wavex graph plan.json --format dot | dot -Tsvg > plan.svg\n  wavex graph plan.json --format mermaid > plan.mmd",
		Args:    optionalArg("a plan file"),
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := planPath(args)
			if err != nil {
				return err
			}
			return runGraph(path, o, std)
		},
	}
	choiceFlag(c, &o.format, "format", "text", []string{"text", "dot", "mermaid", "json"}, "what to print")
	return c
}

func runGraph(path string, o graphOptions, std Stdio) error {
	p, err := planfile.Read(path, "")
	if err != nil {
		return err
	}
	w := bufio.NewWriter(std.Out)
	switch o.format {
	case "dot":
		graphDot(w, p)
	case "mermaid":
		graphMermaid(w, p)
	case "json":
		err = graphJSON(w, p)
	default:
		graphText(w, p)
	}
	if err != nil {
		return err
	}
	return w.Flush()
}

func graphText(w io.Writer, p *plan.Plan) {
	waves := p.TasksByWave()
	for n, tasks := range waves {
		fmt.Fprintf(w, "wave %d of %d\n", n+1, len(waves))
		for _, i := range tasks {
			fmt.Fprintf(w, "  %s", p.Tasks[i].ID)
			if s := textfmt.Line(p.Tasks[i].Title()); s != "" {
				fmt.Fprintf(w, "  %s", s)
			}
			if b := plan.IDs(p, p.Graph.Blockers(i)); len(b) > 0 {
				fmt.Fprintf(w, "  (blocked by %s)", strings.Join(b, ", "))
			}
			fmt.Fprintln(w)
		}
	}
}

func graphJSON(w io.Writer, p *plan.Plan) error {
	type node struct {
		ID        string   `json:"id"`
		Subject   string   `json:"subject,omitempty"`
		Wave      int      `json:"wave"`
		BlockedBy []string `json:"blockedBy"`
	}
	wave, _ := p.Waves()
	out := struct {
		Tasks []node `json:"tasks"`
	}{make([]node, len(p.Tasks))}
	for i := range p.Tasks {
		out.Tasks[i] = node{p.Tasks[i].ID, p.Tasks[i].Subject, wave[i], plan.IDs(p, p.Graph.Blockers(i))}
	}
	return json.NewEncoder(w).Encode(out)
}

// Sizes of a task's box, in terminal columns. A task's subject may hold any text; it must not end a label or be read
// as markup.
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
