package cmd

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/textfmt"
)

type graphOptions struct{ format string }

func newGraph(std Stdio) *cobra.Command {
	var o graphOptions
	c := &cobra.Command{
		Use:   "graph PLAN",
		Short: "Print a plan's graph as text, DOT, Mermaid or JSON",
		Long: `graph prints the tasks with their subjects and their blockedBy edges, laid out
in waves. A plan with mistakes (a cycle, an unknown blocker) is refused with its
diagnostics. Mermaid is what GitHub draws in a block of Markdown.

Exit status: 0 printed, 2 the plan has mistakes.`,
		Example: "  wavex graph plan.json\n  wavex graph plan.json --format dot | dot -Tsvg > plan.svg\n  wavex graph plan.json --format mermaid > plan.mmd",
		Args:    oneArg("a plan file"),
		RunE:    func(_ *cobra.Command, args []string) error { return runGraph(args[0], o, std) },
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
