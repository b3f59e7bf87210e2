package cmd

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"wavex/internal/event"
	"wavex/internal/plan"
	"wavex/internal/planfile"
	"wavex/internal/report"
	"wavex/internal/runlog"
	"wavex/internal/textfmt"
)

type graphOptions struct {
	format string
	states bool // show the states of a run
	all    bool // show each item of a list
}

func newGraph(std Stdio) *cobra.Command {
	var o graphOptions
	c := &cobra.Command{
		Use:   "graph [PLAN|RUN]",
		Short: "Print the graph of a plan or a run as text, Mermaid or JSON",
		Long: `graph prints the tasks of a plan (without PLAN: plan.json, plan.yaml or
plan.yml, whichever is here) with their subjects and their blockedBy edges, laid
out in waves; an arrow leads from a task to one that waits for it. With
--states, or with the id of a run, each task has its state in the last run of
the plan, or in that run, and tasks that the run added are there as well. A list
(foreach) is one node with the number of its items; with --all, and in JSON,
each item is there.
A plan with mistakes (a cycle, an unknown blocker) is refused with its
diagnostics. Mermaid is what GitHub draws in a block of Markdown.

Exit status: 0 printed, 2 the plan has mistakes, or there is no such run.`,
		Example: `  wavex graph plan.json
  wavex graph --states
  wavex graph --all
  wavex graph plan.json --format mermaid > plan.mmd`,
		Args: optionalArg("a plan file or a run id"),
		RunE: func(_ *cobra.Command, args []string) error {
			if o.states || len(args) == 1 && runlog.ValidID(args[0]) {
				return runGraphOfRun(args, o, std)
			}
			path, err := planPath(args)
			if err != nil {
				return err
			}
			p, err := planfile.Read(path, "")
			if err != nil {
				return err
			}
			if dir, err := projectOf(p); err == nil {
				std.tellPlace(dir)
			}
			return printGraph(p, nil, o, std)
		},
	}
	c.Flags().BoolVar(&o.states, "states", false, "show the states of the tasks in the plan's last run")
	c.Flags().BoolVar(&o.all, "all", false, "show each item of a list")
	choiceFlag(c, &o.format, "format", "text", []string{"text", "mermaid", "json"}, "what to print")
	return c
}

// runGraphOfRun prints the graph of a run with the states of its tasks.
func runGraphOfRun(args []string, o graphOptions, std Stdio) error {
	past, err := findRunOrArchived(args, std)
	if err != nil {
		return err
	}
	sum := report.Of(past.State, past.Events).At(time.Now(), past.Alive)
	return printGraph(past.State.Plan, &sum, o, std)
}

// printGraph prints a plan, with the states of a run if there is one.
func printGraph(p *plan.Plan, run *report.Summary, o graphOptions, std Stdio) error {
	w := bufio.NewWriter(std.Out)
	g := graphOf(p, run, o.all)
	switch o.format {
	case "mermaid":
		g.mermaid(w)
	case "json":
		if err := writeGraphJSON(w, p, run); err != nil {
			return err
		}
	default:
		g.text(w)
	}
	return w.Flush()
}

// stateColours are the backgrounds of tasks; black text is legible on each.
var stateColours = map[event.Status]string{event.Completed: "#b7e4c7", event.Verified: "#d8f3dc",
	event.InProgress: "#a9d6f5", event.Advising: "#d7c6f5", event.Failed: "#f5b5b5", event.Blocked: "#dddddd",
	event.Pending: "#ffffff"}

func (g *graph) text(w io.Writer) {
	for n, nodes := range g.byWave() {
		fmt.Fprintf(w, "wave %d of %d\n", n+1, g.waves)
		for _, i := range nodes {
			one := &g.nodes[i]
			fmt.Fprintf(w, "  %s", one.id)
			if s := textfmt.Line(one.title); s != "" {
				fmt.Fprintf(w, "  %s", s)
			}
			if len(one.blockers) > 0 {
				ids := make([]string, len(one.blockers))
				for k, b := range one.blockers {
					ids[k] = g.nodes[b].id
				}
				fmt.Fprintf(w, "  (blocked by %s)", strings.Join(ids, ", "))
			}
			if one.state != "" {
				fmt.Fprintf(w, "  [%s]", one.state)
			}
			fmt.Fprintln(w)
		}
	}
}

// writeGraphJSON writes every task, and the lists that they come from.
func writeGraphJSON(w io.Writer, p *plan.Plan, run *report.Summary) error {
	type node struct {
		ID        string       `json:"id"`
		Group     string       `json:"group,omitempty"` // the list that it is an item of
		Subject   string       `json:"subject,omitempty"`
		Wave      int          `json:"wave"`
		BlockedBy []string     `json:"blockedBy"`
		Status    event.Status `json:"status,omitempty"` // in a run
	}
	wave, _ := p.Waves()
	out := struct {
		Tasks  []node         `json:"tasks"`
		Groups []checkedGroup `json:"groups,omitempty"`
	}{make([]node, len(p.Tasks)), checkedGroups(p)}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		out.Tasks[i] = node{t.ID, t.Group, t.Subject, wave[i], plan.IDs(p, p.Graph.Blockers(i)), ""}
		if run != nil {
			out.Tasks[i].Status = run.Tasks[i].Status
		}
	}
	return json.NewEncoder(w).Encode(out)
}

// Sizes of a task's box, in terminal columns. A task's subject may hold any text; it must not end a label or be read
// as markup.
const (
	maxSubjectColumns = 120
	labelColumns      = 36
)

// label returns the escaped lines in a node's box: its id, its title wrapped to the width of a box, and its state.
func (n *graphNode) label(escape func(line string) string, lineBreak string) string {
	out := []string{textfmt.Line(n.id)}
	line := ""
	for _, w := range strings.Fields(textfmt.Fit(n.title, maxSubjectColumns, false)) {
		if line != "" && textfmt.Width(line)+1+textfmt.Width(w) > labelColumns {
			out, line = append(out, line), ""
		}
		line = strings.TrimSpace(line + " " + w)
	}
	if line != "" && line != out[0] {
		out = append(out, line)
	}
	if n.state != "" {
		out = append(out, n.state)
	}
	for k, l := range out {
		out[k] = escape(l)
	}
	return strings.Join(out, lineBreak)
}

func (g *graph) mermaid(w io.Writer) {
	fmt.Fprintln(w, "flowchart LR")
	for n, nodes := range g.byWave() {
		if len(nodes) == 0 {
			continue
		}
		fmt.Fprintf(w, "  subgraph wave%d[wave %d]\n", n+1, n+1)
		for _, i := range nodes {
			one, box := &g.nodes[i], [2]string{"[", "]"}
			if one.isGroup {
				box = [2]string{"[[", "]]"}
			}
			fmt.Fprintf(w, "    n%d%s\"%s\"%s\n", i, box[0], one.label(mermaidText, "<br/>"), box[1])
			if one.status != "" {
				fmt.Fprintf(w, "    style n%d fill:%s,color:#000000\n", i, stateColours[one.status])
			}
		}
		fmt.Fprintln(w, "  end")
	}
	for i := range g.nodes {
		for _, b := range g.nodes[i].blockers {
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
